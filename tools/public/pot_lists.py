"""Instances of the paper's own kind from public lists: citations, awards, people; boards of models'
results (3.3, A).

The lists of papers end with 2024, so their cutoff is T0, a year before the paper's. Citations were
counted once, on a day after it: question and evidence both come from that snapshot, a split of its
own (`counts_as_of_t1`). A paper is dated by the last day of its year. People are told apart by name
alone; their fields are named by a program.

Of a board what is asked of is a system that no board before the cutoff shows; its value stands
neither in a prompt nor in the evidence. SWE-bench and aider have the paper's cutoff; LMArena's
boards end two months after that and take T0; FutureX's and ForecastBench's begin in 2025 and take
the year after.
"""

import ast
import tomllib

import numpy as np
import pandas as pd

from helpers.files import ROOT, hash_text
from helpers.papers import get_constant
from studies.proof_of_time.build_instances import (
    Pool,
    build_articles,
    build_buckets,
    build_fields,
    build_sets,
    build_tiers,
    drop_tellers,
    find_field,
    has_top,
)
from studies.proof_of_time.evidence import write_evidence
from studies.proof_of_time.rule_solvers import T0

MIN_PAPERS = 10
"""A person has at least so many papers before the cutoff."""
N_ABSTRACT = 300
"""Characters of a candidate's abstract that are shown."""


def clean_abstract(text):
    """Return an abstract as text: some stand in the list as the markup they came in.

    >>> clean_abstract("{'url': 'https://x', '#text': 'We study rain.'}"), clean_abstract(float("nan"))
    ('We study rain.', '')
    """
    if not isinstance(text, str):
        return ""
    if text.startswith("{'"):
        try:
            text = str(ast.literal_eval(text).get("#text", ""))
        except (ValueError, SyntaxError):
            pass
    return " ".join(text.split())


def load_accepted(accepted, awards, fields):
    """Return EMNLP's papers: item (title), year, published_at, authors (a list), abstract, tier,
    field, text.

    The years are those of the paper's evidence (3.3); the last of them is asked about. `accepted`
    and `awards` are the public lists. An award makes a main paper Outstanding or Best, by the same
    title in the same year; a paper with an award of no tier has tier None, and a title that occurs
    twice is left out.
    """
    years = get_constant("proof_of_time", "evidence_years")
    papers = (
        accepted[accepted["year"].between(*years)]
        .drop_duplicates("title", keep=False)
        .reset_index(drop=True)
    )
    won = awards[awards["conference"].str.startswith("EMNLP")]
    key = won["conference"].str[-4:] + " " + won["title"].str.casefold()
    prize = dict(zip(key, won["award_tier"].str.capitalize().fillna("untiered"), strict=True))
    keys = papers["year"].astype(str) + " " + papers["title"].str.casefold()
    tiers = keys.map(prize).fillna(papers["tier"].str.capitalize())
    abstracts = papers["abstract"].map(clean_abstract)
    out = pd.DataFrame(
        {
            "item": papers["title"],
            "year": papers["year"],
            "published_at": papers["year"].astype(str) + "-12-31",
            "authors": papers["authors"].fillna("").str.split(", "),
            "abstract": abstracts,
            "tier": tiers.where(tiers != "untiered", None),
            "text": papers["title"] + "\n" + abstracts,
        }
    )
    return out.assign(field=[name_field(text, fields) for text in out["text"]])


def load_fields(path=ROOT / "data/nlp_fields.toml"):
    """Return the taxonomy: field -> the word beginnings by which it is told."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def name_field(text, fields):
    """Return the field whose words a text has most of, None for a tie or none.

    >>> name_field("Translating parsed text", {"mt": ["translat"], "syntax": ["pars", "syntac"], "speech": ["speech"]})
    >>> name_field("Translating translated text", {"mt": ["translat"], "syntax": ["pars", "syntac"]})
    'mt'
    """
    text = text.casefold()
    counts = [sum(text.count(word) for word in words) for words in fields.values()]
    return list(fields)[int(np.argmax(counts))] if max(counts) and has_top(counts) else None


def write_papers(papers, name, folder, **late):
    """Write papers as an evidence file; returns its entry of a manifest."""
    columns = {"item": "title", "published_at": "published_date"}
    shown = papers.assign(authors=papers["authors"].map("; ".join)).rename(columns=columns)
    kept = [
        "published_date",
        "title",
        "authors",
        *(c for c in ("tier", "citations", "abstract") if c in shown),
    ]
    as_of = papers["published_at"].max()
    return write_evidence(folder, name, shown[kept], as_of=as_of, dates="published_date", **late)


def tidy_counts(counts):
    """Return the public list of citation counts as items: item (title), published_at, authors,
    value, group (track).

    Titles that occur twice are left out.
    """
    table = counts.drop_duplicates("title", keep=False)
    table = table.assign(
        item=table["title"],
        published_at=table["year"].astype(str) + "-12-31",
        authors=table["authors"].fillna("").str.split("; "),
        value=table["citations"].astype(float),
        group=table["track"],
    )
    shown = table["authors"].map(lambda names: ", ".join(names[:6]))
    return table.assign(text=table["title"] + " (" + shown + ")").reset_index(drop=True)


def build_citations(table, rng, folder, n):
    """Return instances: which of four NAACL 2024 papers is cited most, their order, the range.

    `table` is that of `tidy_counts`. Candidates share venue, year and track. Evidence: the list's
    papers before T0, with their counts of the same later day.
    """
    (day,) = table["counted_by"].unique()
    is_before = table["published_at"] < T0
    file = write_papers(table[is_before], "papers_cited.csv", folder, late={"citations": day})
    words = {
        "name": "Papers of NAACL 2024",
        "one": "paper",
        "measure": "number of citations",
        "span": f"by {day}",
    }
    words["criteria"] = f"A public list of citation counts of {day}."
    pool = Pool("naacl_2024", T0, [file], words, "counts_as_of_t1")
    later = drop_tellers(table[~is_before])
    most = build_sets(pool, later, rng, n, "most_of_four")
    orders = build_sets(pool, later, rng, n, "full_order")
    return most + orders + build_buckets(pool, later, rng, n)


def build_awards(papers, rng, folder, n_each):
    """Return instances of a paper's tier: EMNLP 2024 after the cutoff, and for contrast 2021 to
    2023 before it.

    Evidence: the papers before T0 with their tiers; those that are asked about are taken out of it
    (3.3).
    """
    known = papers[papers["tier"].notna()]
    words = {
        "name": "EMNLP",
        "one": "paper",
        "criteria": "The conference's proceedings and list of awards.",
    }
    out = []
    for task, part in known.groupby(
        np.where(known["published_at"] < T0, "tier_pre", "tier_post"), sort=False
    ):
        source = "emnlp_2024" if task == "tier_post" else "emnlp_2021_2023"
        made = build_tiers(Pool(source, T0, [], words), part, rng, n_each, task)
        asked = {one.metadata["items"][""] for one in made}
        kept = known[(known["published_at"] < T0) & ~known["item"].isin(asked)]
        file = write_papers(kept, f"papers_{task}.csv", folder)
        out += [one._replace(manifest=[file]) for one in made]
    return out


def list_later(papers):
    """Return the papers since T0 of the people with MIN_PAPERS before it, a row a person (person)
    and paper.

    >>> table = pd.DataFrame({"published_at": ["2023-12-31"] * 10 + ["2024-12-31"], "authors": [["a", ""]] * 11})
    >>> list_later(table)["person"].tolist()  # who has no name is left out
    ['a']
    """
    by_person = papers.explode("authors").rename(columns={"authors": "person"})
    is_before = by_person["published_at"] < T0
    n_before = by_person[is_before & (by_person["person"] != "")].groupby("person").size()
    return by_person[~is_before & by_person["person"].isin(n_before.index[n_before >= MIN_PAPERS])]


def build_people(papers, fields, rng, folder, n):
    """Return instances about people: their article, their field, the field of their papers.

    People have MIN_PAPERS papers before T0 and publish in 2024. Instances are clustered by person.
    """
    later = list_later(papers)
    names = sorted(later["person"].unique())
    file = write_papers(papers[papers["published_at"] < T0], "papers_people.csv", folder)
    words = {
        "name": "Papers at EMNLP",
        "one": "author",
        "span": "2024",
        "criteria": "The papers of EMNLP 2024.",
    }
    new = papers[papers["published_at"] >= T0].reset_index(drop=True)
    records = pd.DataFrame(
        {"record": new["item"], "owners": new["authors"].map(set), "group": new["field"].fillna("")}
    )
    records["text"] = new["item"] + ": " + new["abstract"].str[:N_ABSTRACT]
    persons = pd.DataFrame({"item": names, "text": names})
    persons["field"] = [find_field(later.loc[later["person"] == name, "field"]) for name in names]
    persons["asked"] = [list(later.loc[later["person"] == name, "item"]) for name in names]
    pool = Pool("people", T0, [file], words)
    made = build_articles(pool, persons, records, rng, n)
    made += build_fields(
        pool._replace(words=words | {"span": "in 2024"}), persons, list(fields), rng, n
    )
    sets = persons.assign(text=persons["asked"].str.join("\n")).drop(columns="asked")
    sets = sets[sets["text"].str.count("\n") >= 2]
    made += build_fields(pool, sets, list(fields), rng, n, "field_focus")
    return [name_source(one) for one in made]


def name_source(instance):
    """Return an instance about a person whose source is that person, by a digest of the name."""
    source = f"person_{hash_text(instance.metadata['items'][''], 8)}"
    return instance._replace(metadata=instance.metadata | {"source": source})


# --- boards -----------------------------------------------------------------------------------------

PAPERS, LATE = get_constant("proof_of_time", "evidence_until"), "2026-01-01"
"""The paper's own cutoff, and that of boards which begin after it."""
N_WEEK = 5
"""Systems of one weekly board that are asked about."""


def list_arena(table):
    """Return LMArena's boards as results: date, board, system, score.

    `table` has dates (20230508) as index and models as columns, 0 where a model is not on the
    board.
    """
    long = (
        table.copy()
        .rename_axis("date")
        .reset_index()
        .melt("date", var_name="system", value_name="score")
    )
    long = long[long["score"] > 0]
    day = pd.to_datetime(long["date"].astype(str), format="%Y%m%d").dt.strftime("%Y-%m-%d")
    return long.assign(date=day, board="LMArena", score=long["score"].round(1)).sort_values(
        ["date", "system"]
    )


def win_games(scores, before):
    """Return scores as percentages of games won, by Elo's formula, against the best model of the
    last board before the cutoff.

    >>> board = pd.DataFrame({"date": ["2024-01-01"], "score": [1200.0]})
    >>> [round(float(win_games(score, board)), 1) for score in (1200.0, 1600.0)]
    [50.0, 90.9]
    """
    best = before.loc[before["date"] == before["date"].max(), "score"].max()
    return 100 / (1 + 10 ** ((best - scores) / 400))


def list_swe_bench(table):
    """Return SWE-bench's results: date, board, system, score (percent resolved), the first of a
    name on a board."""
    out = table.rename(columns={"resolved": "score"}).assign(board="SWE-bench " + table["board"])
    return out.sort_values("date").drop_duplicates(["board", "system"])[
        ["date", "board", "system", "score"]
    ]


def list_aider(entries):
    """Return aider's results: date, board, system, score (percent right at the second try), the
    first of a model."""
    rows = [
        (str(e["date"]), "aider polyglot", e["model"], float(e["pass_rate_2"])) for e in entries
    ]
    table = pd.DataFrame(rows, columns=["date", "board", "system", "score"])
    return table.sort_values("date", kind="stable").drop_duplicates("system")


def list_futurex(board):
    """Return FutureX's weekly boards as results; a week ("2025-07-W4") is dated by its last day, at
    most the 28th.

    `board` has week, agent_id, overall. An agent and week is a system of its own.
    """
    weekly = board[board["week"] != "overall"].drop_duplicates(["week", "agent_id"])
    day = [f"{week[:7]}-{min(28, 7 * int(week[-1])):02d}" for week in weekly["week"]]
    out = pd.DataFrame(
        {"date": day, "board": "FutureX " + weekly["week"], "score": weekly["overall"].round(2)}
    )
    return out.assign(system=weekly["agent_id"] + ", " + weekly["week"])[
        ["date", "board", "system", "score"]
    ]


def list_forecastbench(history):
    """Return ForecastBench's snapshots as results (overall Brier index, 0 to 100)."""
    out = history.rename(columns={"snapshot_date": "date", "overall": "score"})
    out = out.assign(
        board="ForecastBench", system=out["team"] + ": " + out["model"], score=out["score"].round(1)
    )
    return out.drop_duplicates(["date", "system"])[["date", "board", "system", "score"]]


def build_board(name, results, cutoff, rng, folder, *, measure, n, n_pairs, convert=None):
    """Return instances from a board's results: ranges and pairs.

    Asked are systems that first appear at or after the cutoff, by their last result there;
    candidates of a pair share their board. `convert(later, before)` gives the values asked for, by
    default the scores.
    """
    before = results[results["date"] < cutoff]
    later = results[(results["date"] >= cutoff) & ~results["system"].isin(before["system"])]
    if not name.startswith("futurex"):  # each of its weeks is a board
        later = later[later["board"].isin(before["board"])]
    later = (
        later.sort_values("date")
        .drop_duplicates(["board", "system"], keep="last")
        .reset_index(drop=True)
    )
    file = write_evidence(folder, f"{name}.csv", before, as_of=before["date"].max(), dates="date")
    words = {
        "name": name.replace("_", " "),
        "one": "system",
        "measure": measure,
        "criteria": "The board's own result.",
    }
    pool = Pool(name, cutoff, [file], words | {"span": f"on the boards after {cutoff}"})
    values = later["score"] if convert is None else convert(later["score"], before)
    items = pd.DataFrame(
        {"item": later["system"], "group": later["board"], "value": values, "raw": later["score"]}
    )
    items["text"] = later["board"] + ": " + later["system"] + ", " + later["date"]
    made = build_buckets(pool, drop_tellers(items), rng, n, "frontier_bucket")
    return made + build_sets(pool, drop_tellers(items), rng, n_pairs, "pairwise")


def build_frontier(arena, swe_bench, aider, futurex, forecastbench, rng, folder):
    """Return instances from the five boards; arguments are results (`list_arena` ...).

    A FutureX week is a source of its own: its events are its own.
    """
    games = f"percentage of games won against the best model of {arena.loc[arena['date'] < T0, 'date'].max()}"
    plans = [
        ("lmarena", arena, T0, {"measure": games, "n": 60, "n_pairs": 20, "convert": win_games}),
        (
            "swe_bench",
            swe_bench,
            PAPERS,
            {"measure": "percentage of issues resolved", "n": 80, "n_pairs": 20},
        ),
        (
            "aider_polyglot",
            aider,
            PAPERS,
            {"measure": "percentage right at the second try", "n": 60, "n_pairs": 20},
        ),
        (
            "forecastbench",
            forecastbench,
            LATE,
            {"measure": "overall Brier index", "n": 40, "n_pairs": 20},
        ),
    ]
    past = futurex[futurex["date"] < LATE]
    for week, part in futurex[futurex["date"] >= LATE].groupby("board"):
        settings = {"measure": "overall score, of a hundred,", "n": N_WEEK, "n_pairs": 2}
        name = week.casefold().replace(" ", "_").replace("-", "_")
        plans.append((name, pd.concat([past, part]), LATE, settings))
    out = []
    for name, results, cutoff, settings in plans:
        out += build_board(name, results, cutoff, rng, folder, **settings)
    return out
