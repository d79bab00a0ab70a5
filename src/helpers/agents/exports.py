"""Runs as they are committed: the store's tables, under names of runs that stay when settings or events change.

In the store a run_id ends in a digest of all that its answers depend on. In data/tables a run is named by its agent,
window and condition, and its row in the table runs has the store's id, `ledger_run_id`.
"""

import re

from helpers.agents.evidence import list_evidence
from helpers.store import KEPT, dump_json, hash_text, read_runs
from helpers.tables import DIGEST, HELD, TABLES

TEXTS = {
    "replies": ("reply", "reason"),
    "predictions": ("rationale", "reason"),
    "traces": ("content", "arguments", "error"),
}
"""Table -> the columns that hold what a model was shown or wrote, or a sentence that may quote it."""


def name_runs(runs):
    """Return {run_id: name}: agent, window and condition; two runs of the same keep their digests.

    >>> import pandas as pd
    >>> ids = ["arima-A-0123abcd", "arima-C1-4567abcd", "arima-C1-89abcdef"]
    >>> list(name_runs(pd.DataFrame({"run_id": ids, "condition": ["sites misbehave", None, None]})).values())
    ['arima-A-sites_misbehave', 'arima-C1-4567abcd', 'arima-C1-89abcdef']
    """
    names = {}
    for run_id, condition in zip(runs["run_id"], runs["condition"].fillna(""), strict=True):
        words = re.findall(r"\w+", condition)
        names[run_id] = "-".join([run_id.rpartition("-")[0], *["_".join(words)] * bool(words)])
    taken = list(names.values())
    return {run_id: name if taken.count(name) == 1 else run_id for run_id, name in names.items()}


def export_runs(path, run_ids, timed=(), pages=None, *, withholds=False):
    """Return {table: rows} of some runs in a ledger, by their names, each table sorted by its key: with their evidence.

    Of the tables in `timed` the times are kept: a recorded model's seconds are facts of its recording, the same in
    every replay. By the table `pages` a page is known that a reply names by its address. With `withholds`, and always
    for a run that saw news, texts are withheld (`withhold_texts`). Raises what `store.read_runs` does.
    """
    tables = {table: read_runs(path, table, run_ids, timings=table in timed) for table in KEPT}
    names = name_runs(tables["runs"])
    tables["runs"] = tables["runs"].assign(ledger_run_id=tables["runs"]["run_id"])
    tables["runs"]["seed"] = tables["runs"]["seed"].astype("Int64")  # whole also beside runs that have none
    tables = {table: rows.assign(run_id=rows["run_id"].map(names)) for table, rows in tables.items()}
    tables = {table: rows.sort_values(TABLES[table][0], ignore_index=True) for table, rows in tables.items()}
    evidence = list_evidence(tables["traces"], tables["replies"], tables["predictions"], pages)
    saw_news = tables["traces"]["page_ids"].astype("string").str.contains(f'"{HELD}', na=False)
    held = tables["runs"]["run_id"] if withholds else tables["traces"].loc[saw_news, "run_id"]
    return withhold_texts(tables, set(held)) | {"evidence": evidence}


def withhold_texts(tables, run_ids):
    """Return exported tables with digests in the place of all that a model was shown or wrote in some runs.

    What is left are values, statuses, counts, page_ids and evidence: nothing that quotes a page or a question.
    """
    withheld = dict(tables)
    for name, columns in TEXTS.items():
        is_held = tables[name]["run_id"].isin(run_ids)
        digests = {column: hash_cells(tables[name][column]) for column in columns}
        if name == "traces":  # there JSON
            digests["arguments"] = digests["arguments"].map(
                lambda cell: dump_json({"digest": cell}), na_action="ignore"
            )
        masked = {column: tables[name][column].mask(is_held, cells) for column, cells in digests.items()}
        withheld[name] = tables[name].assign(**masked)
    return withheld


def hash_cells(cells):
    """Return the digests of a column's texts; blank cells stay blank."""
    return cells.map(lambda cell: DIGEST + hash_text(str(cell), 12), na_action="ignore")
