"""`daybefore report RUN` (make report RUN=...): what each of the four protocols says of one agent's
run, on one page.

Every number is another room's: this module chooses what a run allows and says in a sentence what it
does not.
"""

import pandas as pd

from daybefore.commands import leaderboard, print_tables
from daybefore.commands.compare import add_baselines
from daybefore.commands.result_files import average_kept, count_missing, describe_mean, find_leaks
from daybefore.commands.terminal import show
from daybefore.commands.worldreasoner_scores import (
    KINDS,
    TABLES,
    describe_facts,
    refer_to_cards,
    tell_graphs,
    tell_prices,
)
from daybefore.formats.public_sets import PRICED
from daybefore.models.costs import write_usd
from daybefore.questions.open_sets import read_window
from daybefore.scoring.calibration import bin_chances, list_chances
from daybefore.scoring.run_scores import (
    find_run,
    list_runs,
    list_windows,
    name_window,
    read_predictions,
    read_rows,
)
from helpers.input_faults import write_count
from helpers.means import MIN_CLUSTERS, find_clusters, measure_share, tabulate_groups
from helpers.scores import score_predictions, select_headline
from helpers.set_names import find_set
from studies.worldreasoner.own_runs import judge_runs

INCONCLUSIVE = f"without an interval: inconclusive, of fewer than {MIN_CLUSTERS} clusters or where nothing varies"
MANY_STEPS = 10
"""Questions with so many steps or more stand in one row."""
AXES = {
    "brier": "No Brier or log score: the replies state no probability.",
    "srcp": "No source precision: the agent has no gateway to search through, or no reference could be found.",
    "recall": "No key-event recall: the agent is asked for no graph.",
}
"""An axis of WorldReasoner -> what is said where a run has none of it."""


def main(run, window=None, out=None, semantic=False):
    """Write one run's page as markdown and HTML, print the first, and return what is on it.

    `run` is a run_id or an agent's name; with `semantic` WorldReasoner's key events are matched by
    meaning too. Raises ValueError for a name that is none, with the nearest.
    """
    every = list_runs()
    own, *others = find_run(every, run, window)
    try:
        set_name = find_set(own.window).name
    except ValueError:
        told = "questions of no set (moments, pages that lie, or asked from Python)"
        raise ValueError(
            f"{run} was asked {told}: the command that asked them says where its answers are"
        ) from None
    sections, events = report_run(own, every, semantic)
    what = (
        f"{write_count(len(events), 'question')} of {set_name}, {own.condition or 'asked as usual'}"
    )
    about = [f"{own.run_id}: {what}", print_tables.describe_intervals(events), INCONCLUSIVE]
    about += [f"of {1 + len(others)} runs the newest: a run_id names another"] if others else []
    if window is None and (
        elsewhere := [one for one in list_windows(every, run) if one != own.window]
    ):
        about += [f"its runs on other sets, by SET=: {', '.join(map(name_window, elsewhere))}"]
    folder, title = (
        print_tables.open_folder(out, "results/report", [own.run_id]),
        f"{own.agent_id} by four protocols",
    )
    _, page, text = print_tables.write_page(
        folder, title, sections, about=about, markdown="report.md"
    )
    show(f"{text}\nopen in a browser: {page}")
    rows = [
        {
            "title": title,
            "notes": notes,
            "table": None if table is None else table.to_dict("records"),
        }
        for title, (notes, table) in sections.items()
    ]
    return {"run_id": own.run_id, "window": own.window, "about": about, "sections": rows}


def report_run(run, every, semantic=False):
    """Return ({title: (sentences, table or None)}, events) of a run by four protocols, its leaks,
    its costs."""
    tables = {name: read_rows(name, run, True) for name in TABLES}
    asked = set(tables["predictions"]["event_id"])
    events, answers = (read_window(name, run.window) for name in ("events", "answers"))
    events, answers = (table[table["event_id"].isin(asked)] for table in (events, answers))
    others = add_baselines(every, [run], run.condition)
    beside = [read_predictions(others).query("event_id in @asked")] if others else []
    scores = score_predictions(pd.concat([tables["predictions"], *beside]), answers, events)
    means = leaderboard.tabulate_scores(scores, events)
    leads = leaderboard.tabulate_leads(scores, events, [one.label for one in others])
    clusters, rows = find_clusters(events)[0], select_headline(scores, events)
    rows = rows[rows["agent_id"] == run.label]
    return {
        "FutureX": tell_futurex(run, means, leads),
        "WorldReasoner": tell_worldreasoner(run, events, answers, tables),
        **tell_graphs(run, events, answers, tables, semantic),
        "Proof of Time": tell_steps(rows, clusters, tables),
        "LiveAgentBench": tell_success(rows, clusters),
        "Probabilities": tell_chances(run, means, events, answers, tables["predictions"], clusters),
        "Leaks and agreement": (
            tell_leaks(events, answers, tables) + tell_samples(tables["predictions"]),
            None,
        ),
        "Costs, seconds, and what is missing": tell_spent(tables),
    }, events


def list_means(table, label, *, is_imputed=False):
    """Return rows of `means.tabulate_groups` as texts: mean with 95% interval, n, clusters;
    coverage but of imputed."""
    rows = table.to_dict("records")
    shown = pd.DataFrame({label: [f"{row['group']} {row['name']}".strip() for row in rows]})
    shown["mean (95%)"] = [print_tables.write_mean(row) for row in rows]
    shown["n"] = [f"{row['n']} of {row['n_asked']}" for row in rows]
    shown["clusters"] = [str(row["n_clusters"]) for row in rows]
    return (
        shown if is_imputed else shown.assign(coverage=[f"{row['coverage']:.0%}" for row in rows])
    )


def write_pair(pair):
    """Return a paired difference with its interval and n, or that there is none."""
    if not pair["n"]:
        return "none: no question that both answered"
    return f"{print_tables.write_difference(pair, 3)}, n = {pair['n']}"


def tell_futurex(run, means, leads):
    """Return (sentences, table) of FutureX's levels and overall, and the lead over the best
    baseline in pairs."""
    own = means.query(
        "agent_id == @run.label and metric == 'score' and group in ['overall', 'all', 'level']"
    )
    notes = [f"Overall: {note}." for note in own["note"].unique() if note]
    lead = "No lead: no run of a baseline on these questions under the same condition is kept."
    if run.label in leads.index:
        pair = leads.loc[run.label]
        mean = leaderboard.take_whole(means).loc[pair["baseline"], "mean"]
        beside = f"{pair['baseline']}, the best baseline here ({mean:.3f})"
        lead = f"Lead over {beside}, over what both answered: {write_pair(pair)}."
    return [*notes, lead], list_means(own, "score")


def tell_worldreasoner(run, events, answers, tables):
    """Return (sentences, table) of WorldReasoner's axes, of a run on the long questions or on the
    authors' own."""
    if run.window not in KINDS:
        lacks = f"{find_set(run.window).name} has no questions with moments, reference sources and reference events"
        return [f"Not computed: {lacks}; long and worldreasoner have."], None
    cutoff = tables["runs"]["knowledge_cutoff_date"].iloc[0]
    cutoffs = {run.label: cutoff if isinstance(cutoff, str) else None}
    references = refer_to_cards(tables["traces"]) if run.window == "W" else {}
    rows, facts = judge_runs(
        events, answers, *(tables[name] for name in TABLES), cutoffs, **references
    )
    names = rows["metric"].str.removeprefix("worldreasoner_")
    notes = describe_facts(run.label, facts[run.label], rows, KINDS[run.window])
    notes += [lacks for axis, lacks in AXES.items() if not names.str.startswith(axis).any()]
    axes = names.where(rows["group"] == "all", names + " " + rows["group"])
    return notes, list_means(rows.assign(group=axes), "axis")


def tell_steps(rows, clusters, tables):
    """Return (sentences, table) of Proof of Time's accuracy (single choices), by steps, and the
    cost of an answer."""
    limit, costs = (
        tables["runs"].iloc[0]["message_limit"],
        pd.to_numeric(tables["replies"]["cost_usd"]),
    )
    told = (
        "the run sets none, so no accuracy by limit"
        if pd.isna(limit)
        else f"{limit:.0f}, the only one of this run"
    )
    n = tables["predictions"]["status"].eq("ok").sum()
    price = (
        "not known, as no question is answered" if not n else "not known, as replies have no price"
    )
    if n and costs.notna().all():
        price = f"{write_usd(costs.sum() / n)} USD (n = {n})"
    notes = [f"Limit of messages: {told}.", f"Cost of an answered question: {price}."]
    choices = rows[rows["kind"] == "single"]
    if choices.empty:
        return [*notes, "No accuracy: the run was asked no single choice that has an answer."], None
    steps = (
        tables["traces"]
        .query("step_type == 'model'")
        .groupby(["event_id", "sample"])
        .size()
        .clip(upper=MANY_STEPS)
    )
    choices = choices.join(steps.rename("steps"), on=["event_id", "sample"]).assign(
        score=choices["score_imputed"]
    )
    groups = ("steps",) if choices["steps"].nunique() > 1 else ()
    if not groups:
        n_steps = choices["steps"].max()
        one = (
            "the traces keep no request to a model"
            if pd.isna(n_steps)
            else f"each took {n_steps:.0f}"
        )
        notes += [f"No accuracy by number of steps (requests to a model): {one}."]
    notes += ["A missing prediction is wrong, so n is all that were asked."]
    return notes, list_means(
        tabulate_groups(choices, clusters, groups), "accuracy", is_imputed=True
    )


def tell_success(rows, clusters):
    """Return (sentences, table) of LiveAgentBench's success rate: exact answers, by kind; a missing
    one is none."""
    exact = rows.assign(score=rows["score_imputed"].eq(1).astype(float))
    note = "An answer counts where it is exactly right (headline score 1), none in part. A missing one is wrong."
    return [note], list_means(
        tabulate_groups(exact, clusters, ("kind",)), "success rate", is_imputed=True
    )


def tell_chances(run, means, events, answers, predictions, clusters):
    """Return (sentences, table) of probabilities: reliability by bin, the Brier error, skill
    against the price."""
    notes = [
        f"Brier error, {row['name'] or 'single choices'}: {print_tables.write_mean(row)}, "
        f"n = {row['n']} of {row['n_asked']}. {leaderboard.BRIER}."
        for row in means.query("agent_id == @run.label and metric == 'brier'").to_dict("records")
    ] or ["No Brier error: the replies state no probability of a choice."]
    if run.window in PRICED:
        moment = run.asked.horizon
        _, facts, text, _ = tell_prices(events, answers, predictions, run.window, moment)
        skills = [fact["market"] for fact in facts.values()]
        told = ", ".join(
            f"{write_pair(one)} questions; skill {one['skill']:z.3f}" for one in skills
        )
        notes += [f"{text}: {told}." if told else f"No skill against the market's price: {text}."]
    else:
        lacks = f"{find_set(run.window).name} has no prices; markets and worldreasoner have"
        notes += [f"No skill against a market: {lacks}."]
    bins = bin_chances(list_chances(events, answers, predictions), clusters)
    if bins.empty:
        return [*notes, "No calibration: the replies give no probabilities by option."], None
    shown = pd.DataFrame({"probability from": bins["bin"].map("{:.1f}".format)})
    shown["said (mean)"], shown["n"] = bins["said"].map("{:.3f}".format), bins["n"].astype(str)
    shown["came true (95%)"] = [
        print_tables.write_mean(row)
        for row in bins.rename(columns={"share": "mean"}).to_dict("records")
    ]
    return [
        *notes,
        "No single number of calibration: the kit reports the bins, with their intervals.",
    ], shown


def tell_leaks(events, answers, tables):
    """Return sentences on the leak audit: rows that show a sign, the mean score with and without
    them."""
    kept, facts, said = find_leaks(events, answers, tables)
    notes = [f"Leaks: {said}; a sign is no proof, and a row without one is not proved clean."]
    if facts["n_flagged"]:
        whole, clean = (
            describe_mean(average_kept(events, rows, answers, ""))
            for rows in (tables["predictions"], kept)
        )
        notes += [
            f"Mean of what was answered: {whole} with the flagged rows, {clean} without them."
        ]
    return notes


def tell_samples(predictions):
    """Return sentences on agreement over samples."""
    if predictions["sample"].nunique() < 2:
        return [
            "Agreement over samples: not computed, each question was asked once (SAMPLES=3 asks three times)."
        ]
    values = predictions.fillna({"value": "none"}).groupby("event_id")["value"]
    share = measure_share(values.nunique()[values.size() > 1].eq(1))
    told = print_tables.write_mean({"mean": share["share"], **share})
    return [
        f"Questions with one answer in all samples: {told}, n = {share['n']} (Wilson); no alpha in the kit."
    ]


def tell_spent(tables):
    """Return (sentences, table) of costs, seconds and tokens, and of what is missing and why."""
    replies, notes = tables["replies"], []
    for name, unit in (
        ("cost_usd", "US dollars"),
        ("duration_s", "Seconds"),
        ("model_s", "Seconds of the model"),
    ):
        known = pd.to_numeric(replies[name]).dropna()
        told = (
            f"{known.sum():.4f} in all, {known.mean():.4f} each"
            if len(known)
            else "not known, the run keeps none"
        )
        notes += [f"{unit}: {told} (n = {len(known)} of {len(replies)} replies)."]
    for kind in ("input", "output"):
        notes += [f"Tokens, {kind}: {pd.to_numeric(replies[f'n_{kind}_tokens']).sum():.0f}."]
    missing = pd.DataFrame(count_missing(tables["predictions"], replies))
    if missing.empty:
        return [*notes, "Nothing is missing: each question has an answer that could be read."], None
    return notes, missing.fillna({"reason": "no reason given"})[
        ["status", "reason", "n", "event_id"]
    ]
