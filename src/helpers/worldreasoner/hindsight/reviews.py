"""People's review of event cards: approve, or reject with one of the paper's eight labels (WorldReasoner Appendix C).

A card is approved when it passes five checks; several may fail, and the first that does gives the label. Reviews are
judgements of the kit's tables, kept in SQLite as they are given: a second thought stands beside the first, and counts.
What a card explains is not judged, only the event.
"""

import html
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd

from helpers.stats.agreement import compute_kappa, measure_kappa
from helpers.stats.means import summarize_clustered
from helpers.store import insert_row, open_store
from helpers.tables import TABLES
from helpers.worldreasoner.hindsight.graphs import read_graphs

CHECKS = {
    "real": ("Fabricated", "Unverifiable", "PredictionNotEvent", "TooBroad"),
    "dated": ("WrongDate",),
    "supported": ("SourceMismatch",),
    "relevant": ("Noise",),
    "unique": ("Duplicate",),
}
"""Check -> the labels of a card that fails it, in the order in which the checks are made."""
LABELS = {label: check for check, labels in CHECKS.items() for label in labels}
APPROVED = "Approved"
TARGET, RUBRIC = "event card", "worldreasoner C"
COLUMNS = ("reviewer", "question_id", "node_id", "label", "reason")


def open_reviews(path):
    """Open a file of reviews, a ledger with the table judgements; several people on one machine may write at once."""
    ledger, (keys, others) = open_store(path), TABLES["judgements"]
    with ledger:
        columns = ", ".join([*keys, *others.split()])
        ledger.execute(f"CREATE TABLE IF NOT EXISTS judgements ({columns}, PRIMARY KEY ({', '.join(keys)}))")
    return ledger


def keep_review(path, reviewer, question_id, node_id, label, reason=""):
    """Store one review in a file of SQLite: "Approved" or a label; an earlier one of the same card is not lost.

    Raises ValueError for another label, a rejection without a reason, a blank reviewer, or a card whose id holds "|".
    """
    if "|" in node_id:  # it parts the question's id from the card's
        raise ValueError(f"the card {node_id!r} cannot be kept: its id holds a bar (|)")
    if label != APPROVED and label not in LABELS:
        raise ValueError(f"a card is {APPROVED} or gets a label, {', '.join(LABELS)}; not {label!r}")
    if reviewer is None or not str(reviewer).strip():
        raise ValueError("Say who reviews.")
    if label != APPROVED and not reason.strip():
        raise ValueError("Say in a few words why the card is rejected.")
    target = {"target_type": TARGET, "target_id": f"{question_id}|{node_id}", "judge": str(reviewer), "rubric": RUBRIC}
    with closing(open_reviews(path)) as ledger, ledger:
        ledger.execute("BEGIN IMMEDIATE")
        where = " AND ".join(f"{name} = ?" for name in target)
        sql = f"SELECT coalesce(max(repeat), -1) + 1 FROM judgements WHERE {where}"
        (repeat,) = ledger.execute(sql, list(target.values())).fetchone()
        insert_row(ledger, "judgements", target | {"repeat": repeat, "label": label, "reason": reason.strip()})


def read_reviews(path):
    """Return the reviews of a file, each reviewer's last of a card: reviewer, question_id, node_id, label, reason."""
    with closing(open_reviews(path)) as ledger:
        sql = "SELECT * FROM judgements WHERE target_type = ? AND rubric = ? ORDER BY judge, target_id, repeat"
        table = pd.read_sql_query(sql, ledger, params=[TARGET, RUBRIC])
    table = table.drop_duplicates(["judge", "target_id"], keep="last").rename(columns={"judge": "reviewer"})
    ids = table["target_id"].str.rsplit("|", n=1, expand=True).reindex(columns=[0, 1])
    return table.assign(question_id=ids[0], node_id=ids[1])[[*COLUMNS]].reset_index(drop=True)


def decide_cards(reviews):
    """Return one verdict a card: question_id, node_id, label, n_reviews; approved only where every reviewer approves.

    Of several labels that of the first check stands; of one check the first label.
    """
    order = [APPROVED, *LABELS]
    table = reviews.assign(rank=reviews["label"].map(order.index))
    table["rank"] = table["rank"].where(table["rank"] > 0, len(order))  # an approval gives way to any label
    found = table.groupby(["question_id", "node_id"])["rank"].agg(["min", "size"]).reset_index()
    label = [APPROVED if at == len(order) else order[at] for at in found.pop("min")]
    return found.rename(columns={"size": "n_reviews"}).assign(label=label)


def summarize_reviews(reviews):
    """Return the annotation summary (Table 6): of all cards approved, of each check passed, of each label given.

    A row each: what, hits, n, share, low, high (within 0 and 1); intervals by question, whose cards are of one making.
    """
    cards = decide_cards(reviews)
    failed = cards["label"].map(LABELS)
    flags = {"approved": failed.isna()} | {f"passes: {check}": failed != check for check in CHECKS}
    flags |= {f"label: {label}": cards["label"] == label for label in LABELS}
    wide = pd.DataFrame(flags).astype(float)
    table = summarize_clustered(wide, cards["question_id"])[["n", "mean", "low", "high", "n_clusters"]]
    table[["low", "high"]] = table[["low", "high"]].clip(0, 1)
    table = table.rename(columns={"mean": "share"}).rename_axis("what").reset_index()
    table.insert(1, "hits", wide.sum().astype(int).to_numpy())
    return table


def compare_reviewers(reviews, rng):
    """Return how pairs of reviewers agree on the cards both saw: first, second, n, same (share), kappa, low, high.

    Kappa is of approved against rejected, 0 where one of the two never differs, blank where neither does. Its interval
    draws whole questions, whose cards are of one making; none of fewer than ten, nor of a kappa that must be 0.
    """
    wide = reviews.assign(ok=reviews["label"] == APPROVED).pivot(
        index=["question_id", "node_id"], columns="reviewer", values="ok"
    )
    rows = []
    for at, first in enumerate(wide):
        for second in wide.columns[at + 1 :]:
            both = wide[[first, second]].dropna().astype(bool)
            if len(both):
                questions = both.index.get_level_values("question_id")
                kappa, *ends = measure_kappa(both[first], both[second], 2, rng, clusters=questions)
                ends = ends if both.nunique().min() > 1 else (np.nan, np.nan)
                rows.append((first, second, len(both), float((both[first] == both[second]).mean()), kappa, *ends))
    return pd.DataFrame(rows, columns="first second n same kappa low high".split())


# --- the form --------------------------------------------------------------------------------------------------------


def read_reviewed(path):
    """Return the graphs of a file that is to be reviewed (`graphs.read_graphs`). Raises ValueError that names the file.

    That is where it is not there, cannot be read, holds another form, or no card.
    """
    try:
        graphs = read_graphs(path)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    if not list_cards(graphs):
        raise ValueError(f"{path} holds no card to review")
    return graphs


def name_questions(graphs):
    """Return {question_id: the words of its outcome}; the id itself where a graph has no outcome."""
    titles = [{node["node_id"]: node["title"] for node in graph["nodes"]} for graph in graphs]
    named = zip(graphs, titles, strict=True)
    return {graph["question_id"]: title.get(graph["outcome_id"], graph["question_id"]) for graph, title in named}


def list_cards(graphs):
    """Return the cards of graphs as they are reviewed: by question, then date; the outcome is none."""
    cards = []
    for graph in graphs:
        nodes = [node for node in graph["nodes"] if node["node_id"] != graph["outcome_id"]]
        nodes.sort(key=lambda node: (node["occurred_at"] is None, node["occurred_at"] or "", node["node_id"]))
        cards += [node | {"question_id": graph["question_id"]} for node in nodes]
    return cards


def write_card(card, question=""):
    """Return a card as HTML, all its words escaped."""
    rows = {"question": question, "event": card["title"], "what": card.get("description", "")}
    rows |= {"day": card["occurred_at"] or "undated", "sources": "; ".join(card["source_ids"]) or "none"}
    return "".join(f"<p><b>{name}</b>: {html.escape(str(text))}</p>" for name, text in rows.items() if text)


def open_review(graphs, questions, reviewer, path):
    """Return the form of one reviewer as a widget: a card after the other, its verdict and the reason.

    `questions` maps question_id to the words of the resolved question. Every verdict is stored when it is given, and
    the form goes on with the first card that the reviewer has not seen.
    """
    import ipywidgets as widgets

    reviewer = str(reviewer)
    cards, wide = list_cards(graphs), {"layout": widgets.Layout(width="95%")}
    keys = [(card["question_id"], card["node_id"]) for card in cards]

    def recall():
        kept = read_reviews(path)
        own = kept[kept["reviewer"] == reviewer].itertuples()
        return {(row.question_id, row.node_id): (row.label, row.reason or "") for row in own}

    seen = recall()
    first = next((at for at, key in enumerate(keys) if key not in seen), 0)
    names = [(f"{at + 1}. {card['title'][:80]}", at) for at, card in enumerate(cards)]
    choice, shown = widgets.Dropdown(options=names, value=first, **wide), widgets.HTML()
    verdict = widgets.Dropdown(options=[APPROVED, *LABELS], description="verdict")
    reason, save = widgets.Textarea(description="reason", **wide), widgets.Button(description="store and go on")
    said = widgets.HTML()

    def show(change=None):
        card = cards[choice.value]
        shown.value = write_card(card, questions.get(card["question_id"], ""))
        verdict.value, reason.value = recall().get(keys[choice.value], (APPROVED, ""))

    def store(button):
        try:
            keep_review(path, reviewer, *keys[choice.value], verdict.value, reason.value)
        except (ValueError, sqlite3.Error, OSError) as error:
            said.value = html.escape(f"Not stored: {error}")
            return
        said.value = f"{len(recall())} of {len(cards)} cards reviewed"
        choice.value = min(choice.value + 1, len(cards) - 1)

    choice.observe(show, "value")
    save.on_click(store)
    show()
    return widgets.VBox([choice, shown, verdict, reason, save, said])


def draw_reviews(graphs, reviewer, rng, caught=0.8, refused=0.03, wrong=None):
    """Return a made-up reviewer's reviews of all cards, and what was planted: (reviews, {card: label}).

    `wrong` maps planted wrong cards (question_id, node_id) to their label; a share `caught` of them is
    rejected with it, and a share `refused` of the right ones as Noise. Without `wrong`
    one card of twelve is made wrong.
    """
    names, rows = [(card["question_id"], card["node_id"]) for card in list_cards(graphs)], []
    if wrong is None:
        drawn = rng.random(len(names)) < 1 / 12
        wrong = {name: str(rng.choice(list(LABELS))) for name, bad in zip(names, drawn, strict=True) if bad}
    for name, chance in zip(names, rng.random(len(names)), strict=True):
        limit, label = (caught, wrong[name]) if wrong.get(name) else (refused, "Noise")
        rows.append((str(reviewer), *name, label if chance < limit else APPROVED, "made up"))
    return pd.DataFrame(rows, columns=list(COLUMNS)), wrong


def repeat_reviews(graphs, sizes, rng, n_draws=500):
    """Return the kappa of two careful reviewers over many made-up reviews of so many cards: a row a size.

    Each time wrong cards and reviewers are made anew (`draw_reviews`), and `n` cards are drawn of all. Columns: n,
    kappa (the median), low, high (between which 95% of the kappas lie), n_draws (of which kappa is defined).
    """
    kappas = {n: [] for n in sizes}
    for _ in range(n_draws):
        first, wrong = draw_reviews(graphs, "1", rng)
        second, _ = draw_reviews(graphs, "2", rng, wrong=wrong)
        cells = 2 * (first["label"] == APPROVED) + (second["label"] == APPROVED)
        shuffled = np.eye(4)[rng.permutation(cells)]
        for n in sizes:
            kappas[n].append(compute_kappa(shuffled[:n].sum(axis=0).reshape(2, 2)))
    rows = [(n, *np.nanquantile(known, (0.5, 0.025, 0.975)), np.isfinite(known).sum()) for n, known in kappas.items()]
    return pd.DataFrame(rows, columns=["n", "kappa", "low", "high", "n_draws"])
