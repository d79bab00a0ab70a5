"""Question sets as folders: their events, answers and the runs of any agent on them, as tables.

A set is a folder with `set.toml` (what it is, from where, under which terms, what it has) and
tables as `<name>.csv.gz`, with the keys of `helpers.tables`. It lies in data/sets/<name>, in
.cache/sets/<name> where its terms ask for that, or anywhere (`load_set` takes a path). Runs asked
here, recorded with the kit and read from other people's files have the same columns, so that one
figure takes them all. Yes/no questions: `outcome` of an answer is 1 for yes, `p_yes` of a
prediction the probability of yes. A row that a harness filled in is no forecast: its status is
not "ok", its `p_yes` is blank, and what stood there is in `p_filled`.
"""

import gzip
import importlib
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers import files
from helpers.folders import ABOUT, EVENTS, SETS, list_folders
from helpers.input_faults import check_object, list_nearest
from helpers.tables import Count, Date, Setting, Text, Truth, check_table, list_columns, one_of

HAS = ("series", "prices", "levels", "domains", "words", "trials", "replies", "kinds")
"""What a set may have. `words`: texts of its questions that may be shown."""

NEEDED = ("events",)
ARM = ("harness", "search", "sees_price", "keeps_beliefs", "effort")
"""Columns of the table runs that, with the model, say what a run was given."""

FACTS = (
    "model",
    "model_family",
    "variant",
    "uses_tools",
    "source_id",
    "family",
    "round",
    "domain",
)
NUMBERS = ("level", "guess", "price")
"""Further columns that every row has, words and numbers, blank where a set says nothing."""


class About(Setting):
    """The settings of a set.toml. `unit` is the column of events by which questions depend on each
    other.

    `about` is a line on it; `place` where it stands among those of the kit. `window` is the short
    name that ids of its events and runs carry (default: its name), `first` and `last` its start
    days, `replay` whether the replay's web publishes its sources. `tables` names its folder in
    data/tables; `builder`, "module:function", what builds its events, answers (and prices) from
    public files.
    """

    title: Text
    source: Text
    address: Text = None
    licence: Text = None
    attribution: Text = None
    may_commit: Truth = False
    retrieved: Date = None
    unit: Text = "cluster_id"
    has: list[one_of(*HAS)] = []
    clock: Text = "UTC"
    notes: list[Text] = []
    about: Text = None
    window: Text = None
    first: Date = None
    last: Date = None
    place: Count = None
    tables: Text = None
    builder: Text = None
    replay: Truth = False


class QuestionTables:
    """A question set: its tables as DataFrames, read when first asked for, and `about` (its
    set.toml).

    `name`, `folder`; `events`, `answers`, `runs`, `predictions`; `prices`, `replies`, `traces` and
    `trials` are empty tables where the set has none.
    """

    def __init__(self, name: str, folder: Path, about: dict[str, Any]) -> None:
        self.name = name
        self.folder = folder
        self.about = about

    @cached_property
    def events(self) -> pd.DataFrame:
        """The questions, a row each; `about["unit"]` names the column that they depend by."""
        return self.read("events")

    @cached_property
    def answers(self) -> pd.DataFrame:
        """Their answers: `value` as JSON; `outcome` 1 or 0 where the question is of yes and no."""
        return self.read("answers")

    @cached_property
    def runs(self) -> pd.DataFrame:
        """The runs: agent_id, model, model_family and what each was given (`ARM`), origin."""
        return self.read("runs")

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """A row a run, question and sample; `value`, `probability`, `distribution` follow from
        p_yes."""
        return fill_values(self.read("predictions"), self.runs)

    @cached_property
    def prices(self) -> pd.DataFrame:
        """Prices of markets: event_id, at, price."""
        return self.read("prices")

    @cached_property
    def replies(self) -> pd.DataFrame:
        """Tokens, seconds, searches, tool calls and steps of each reply, as far as the set has
        them."""
        return self.read("replies")

    @cached_property
    def traces(self) -> pd.DataFrame:
        """Steps of the agents."""
        return self.read("traces")

    @cached_property
    def trials(self) -> pd.DataFrame:
        """The repeats that a prediction is made of: run_id, event_id, sample, p_yes."""
        return self.read("trials")

    def read(self, name: str) -> pd.DataFrame:
        """Return a table of the set, checked, without columns that hold nothing.

        Empty where the set has none and needs none.
        """
        if self.about.get("builder"):
            return self.build(name)
        if self.about.get("tables"):
            return self.join_parts(name)
        path = self.folder / f"{name}.csv.gz"
        if not path.exists():
            if name in NEEDED:
                raise FileNotFoundError(f"{self.name}: {path.name} is not in {self.folder}")
            return pd.DataFrame(columns=list_columns(name))
        try:
            table = pd.read_csv(path, low_memory=False, dtype=TEXTS)
        except (EOFError, OSError, ValueError) as error:
            raise ValueError(f"{path} cannot be read ({error}); build it again") from None
        return drop_blank(check_table(name, table))

    def build(self, name: str) -> pd.DataFrame:
        """Return a table that the set's builder makes from public files; empty for one that it does
        not."""
        module, function = self.about["builder"].split(":")
        made = getattr(importlib.import_module(module), function)()
        third = ("prices",) if "prices" in self.about.get("has", ()) else ()
        found = dict(zip(("events", "answers", *third), made, strict=False))
        if name not in found:
            return pd.DataFrame(columns=list_columns(name))
        return drop_blank(found[name].copy())

    def join_parts(self, name: str) -> pd.DataFrame:
        """Return a table that is kept in data/tables: of the baselines, then of recorded models."""
        parts = []
        for place in (self.about["tables"], f"{self.about['tables']}/models"):
            try:
                parts.append(files.read_table(name, place))
            except FileNotFoundError:
                continue
        made = [drop_blank(part) for part in parts]
        empty = pd.DataFrame(columns=list_columns(name))
        return pd.concat(made, ignore_index=True) if made else empty

    @cached_property
    def revisions(self) -> pd.DataFrame:
        """What an agent forecast over time: run_id, event_id, revision, at, value, probability."""
        return self.read("revisions")

    @cached_property
    def days(self) -> pd.DataFrame:
        """What a run did each day: run_id, day, n_tool_calls, n_searches, n_forecasts."""
        return self.read("days")

    def rows(self) -> pd.DataFrame:
        """Return a row a prediction, joined with its run, question, outcome, price and usage.

        Of questions with an answer `correct` is whether the value is the answer; where only the
        source's own mark is known (`score_source`) it is that.

        Of yes/no questions `brier` is (outcome - p_yes) squared, lower is better, and p_yes of 0.5
        counts as yes. `brier_filled` has what a harness filled in, where there is no forecast,
        `brier_price` is the price's. Rows that are no forecast have blanks elsewhere. What was
        given (`ARM`), `FACTS` and `NUMBERS` are always columns.
        """
        made = self.predictions.drop(columns=["agent_id"], errors="ignore")
        made = made.merge(drop_blank(self.runs), on="run_id", suffixes=("", "_run"))
        made = made.merge(drop_blank(self.events), on="event_id", suffixes=("", "_event"))
        answers = self.answers.rename(columns={"value": "answer"})
        known = [name for name in ("event_id", "answer", "outcome") if name in answers]
        made = made.merge(answers[known], on="event_id", how="left")
        if len(self.prices):
            last = self.prices.sort_values("at").groupby("event_id")["price"].last()
            made = made.merge(last.rename("price"), on="event_id", how="left")
        if len(self.replies):
            usage = drop_blank(self.replies).drop(columns=["status", "reason"], errors="ignore")
            made = made.merge(
                usage, on=["run_id", "event_id", "sample"], how="left", suffixes=("", "_reply")
            )
        absent = [name for name in (*ARM, *FACTS, *NUMBERS) if name not in made]
        made = made.reindex(columns=[*made, *absent])
        words = {name: object for name in absent if name not in NUMBERS}
        return score_rows(made.astype(words))

    def need(self, what: str, *columns: str) -> pd.DataFrame:
        """Return `rows()`, after a look whether they have what something rests on.

        Raises ValueError in a sentence that names `what`, the set and the first of `columns` that
        it lacks or leaves blank.
        """
        rows = self.rows()
        for column in columns:
            if column not in rows or rows[column].isna().all():
                raise ValueError(f"{what} needs {column}; the set {self.name} has none")
        return rows

    def describe(self, rows: pd.DataFrame) -> dict[str, Any]:
        """Return what `save_figure` says on a figure of some of the set's rows: source, days,
        number of clusters.

        A set without an address is its user's own: "as given", under its name.
        """
        days = rows["as_of"].dropna() if "as_of" in rows else pd.Series(dtype=object)
        dates = f"{days.min()[:10]} to {days.max()[:10]}" if len(days) else ""
        whose = {"window": "", "status": "public"}
        if not self.about.get("address"):
            whose = {"window": self.name, "status": "as given"}
        facts = {"source": self.about["source"], "unit": "questions", "dates": dates}
        return whose | facts | {"n": rows[self.about["unit"]].nunique()}

    def coverage(self) -> pd.DataFrame:
        """Return how much of what it was asked each run answered, in the order of `runs`.

        n_asked, n_forecasts, coverage (their share), and a column a status.
        """
        rows = self.predictions
        is_ok = rows["status"].eq("ok").groupby(rows["run_id"])
        made = is_ok.agg(n_asked="size", n_forecasts="sum", coverage="mean")
        made = made.join(pd.crosstab(rows["run_id"], rows["status"]))
        return self.runs[["run_id", "agent_id"]].join(made, on="run_id")


TEXTS = dict.fromkeys(
    ("event_id", "run_id", "cluster_id", "source_id", "value", "agent_id", "domain"), str
)
"""Columns that are texts, whatever they look like."""


def drop_blank(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table without the columns that hold nothing, so that joins stay narrow."""
    return table.dropna(axis=1, how="all")


def fill_values(predictions: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return predictions with agent_id and, where they state `p_yes` alone, the contract's columns;
    others stay.

    `value` is the likelier option (A is yes; 0.5 counts as yes), `probability` that option's,
    `distribution` both.
    """
    made = predictions.copy()
    names = runs.set_index("run_id")["agent_id"]
    made["agent_id"] = made["run_id"].map(names)
    if "p_yes" not in made:
        return made
    p_yes = pd.to_numeric(made["p_yes"])
    is_stated = p_yes.notna()
    is_yes = p_yes >= 0.5
    value = pd.Series(np.where(is_yes, '"A"', '"B"'), made.index)
    probability = p_yes.where(is_yes, 1 - p_yes)
    options = [f'{{"A":{p:.6g},"B":{1 - p:.6g}}}' for p in p_yes[is_stated]]
    distribution = pd.Series(options, made.index[is_stated], dtype=object)
    columns = {"value": value, "probability": probability, "distribution": distribution}
    for column, cells in columns.items():
        stood = made[column] if column in made else pd.Series(None, made.index, dtype=object)
        made[column] = stood.where(stood.notna() | ~is_stated, cells)
    return made


def score_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with `is_forecast`, `brier`, `brier_filled`, `brier_price` and `correct`.

    These Brier errors are of "yes" alone, 0 to 1; `scores.score_brier` sums over options, 0 to 2.
    """
    made = rows.copy()
    made["is_forecast"] = made["status"].eq("ok")
    blank = pd.Series(None, made.index, dtype=object)
    value = made.get("value", blank)
    answer = made.get("answer", blank)
    is_known = made["is_forecast"] & answer.notna() & value.notna()
    made["correct"] = value.eq(answer).astype(float).where(is_known)
    if "score_source" in made:
        made["correct"] = made["correct"].fillna(made["score_source"].where(made["is_forecast"]))
    if "outcome" not in made or "p_yes" not in made:
        return made
    outcome = made["outcome"]
    made["brier"] = (outcome - made["p_yes"]) ** 2
    filled = made["p_yes"].fillna(made["p_filled"]) if "p_filled" in made else made["p_yes"]
    made["brier_filled"] = (outcome - filled) ** 2
    if "price" in made:
        made["brier_price"] = (outcome - made["price"]) ** 2
    return made


def take_usual(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of runs that differ by model and search alone, with a name for each,
    `forecaster`.

    Left out are variants and runs that keep no beliefs between turns. Where a set has the others
    too, left out are runs of less than high effort, those whose search sees pages of any date, and
    those with search or other tools (data of the question's source) alone. What a set says nothing
    about is taken as usual. A run whose search is not known, or that shares model, search and price
    with another, goes by its agent_id.
    """
    search = rows["search"]
    effort = rows["effort"]
    is_usual = rows["variant"].isna() & rows["keeps_beliefs"].ne(False)
    if effort.eq("high").any():
        is_usual &= effort.eq("high")
    if search.eq("dated").any():
        is_usual &= search.ne("undated")
    has_both = rows["uses_tools"].eq(search.ne("none")) & search.notna()
    if has_both.any():
        is_usual &= has_both | rows["uses_tools"].isna() | search.isna()
    made = rows[is_usual].copy()
    with_search = made["model"] + made["search"].isin(["dated", "undated", "provider"]).map(
        {True: " + search", False: ""}
    )
    if "sees_base_rate" in made and made["sees_base_rate"].eq(True).any():
        alone = made["sees_price"].eq(True) & made["sees_base_rate"].eq(False)
        with_search += alone.map({True: ", no base rate", False: ""})
    shown = made["sees_price"].eq(True)
    is_one = made.groupby([with_search, shown])["run_id"].transform("nunique").eq(1)
    made["forecaster"] = with_search.where(made["search"].notna() & is_one, made["agent_id"])
    return made


# --- finding, loading, writing ----------------------------------------------------------------------


def load_set(name_or_path: str | Path) -> QuestionTables:
    """Return a question set by its name or the path of its folder.

    Raises ValueError for a name that is none, with the nearest, and for a set.toml with a fault;
    FileNotFoundError, with the command that builds it, for a set whose tables are not here.

    >>> blf = load_set("blf")
    >>> len(blf.events), blf.about["unit"]
    (791, 'cluster_id')
    """
    folders = list_folders()
    folder = folders.get(str(name_or_path))
    if folder is None and (Path(name_or_path) / ABOUT).exists():
        folder = Path(name_or_path)
    if folder is None:
        listed = list_nearest(str(name_or_path), sorted(folders), "data/sets/README.md")
        raise ValueError(f"there is no question set {str(name_or_path)!r}{listed}")
    about = read_settings(folder / ABOUT)
    is_elsewhere = about.get("tables") or about.get("builder")
    if not is_elsewhere and not (folder / EVENTS).exists():
        advice = (
            f"`make public ARGS={folder.name}` builds it from {about.get('address', 'its files')}"
        )
        raise FileNotFoundError(f"{folder.name} has no {EVENTS}; {advice}")
    return QuestionTables(folder.name, folder, about)


def read_settings(path: Path) -> dict[str, Any]:
    """Return a set.toml's settings, with the defaults. Raises ValueError that names file and
    field."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}") from None
    return About(**check_object(str(path), given, About)).model_dump(exclude_none=True)


def write_set(folder: Path, tables: dict[str, pd.DataFrame]) -> list[Path]:
    """Write a set's tables below its folder, which holds its set.toml; the same rows, the same
    bytes.

    Columns that hold nothing are left out. Returns the paths. Raises ValueError for a set whose
    set.toml does not say that it may be passed on, where the folder is one of the repository's, and
    for a prediction of no event or no run.
    """
    about = read_settings(folder / ABOUT)
    if folder.parent.name == "sets" and folder.parent.parent.name == "data":
        check_licence(folder / ABOUT, about)
    checked = {name: check_table(name, table) for name, table in tables.items()}
    check_keys(folder.name, checked)
    paths = []
    for name, table in checked.items():
        path = folder / f"{name}.csv.gz"
        text = drop_blank(table).to_csv(index=False, lineterminator="\n")
        files.write_whole(path, gzip.compress(text.encode(), 9, mtime=0))
        paths.append(path)
    return paths


def keep_questions(
    name: str, title: str, events: pd.DataFrame, answers: pd.DataFrame | None = None
) -> Path:
    """Write questions that were asked here as a set below .cache/sets, so that every command knows
    it.

    Returns its folder. Questions and answers that stand there and are not given stay. A question
    without a cluster is one by itself.
    """
    path = files.locate_output(f"{SETS[1]}/{name}/{ABOUT}")
    files.write_whole(
        path,
        f'title = {files.dump_json(title)}\nsource = "asked here"\nhas = ["words", "levels"]\n',
    )
    events = events.assign(
        cluster_id=events["cluster_id"].astype(object).fillna(events["event_id"])
    )
    given = {"events": events} | ({} if answers is None else {"answers": answers})
    kept = QuestionTables(name, path.parent, read_settings(path))
    if (path.parent / EVENTS).exists():
        for table, rows in given.items():
            old = check_table(table, getattr(kept, table))
            old = old[~old["event_id"].isin(rows["event_id"])].astype(object)
            given[table] = pd.concat([old, rows], ignore_index=True) if len(old) else rows
    write_set(path.parent, given)
    return path.parent


def check_licence(path: Path, about: dict[str, Any]) -> None:
    """Raise ValueError where a set.toml has no licence, or does not allow its tables to be
    committed."""
    if not about.get("licence"):
        raise ValueError(f"{path}: no licence; without one a set may be used here, not committed")
    if not about.get("may_commit"):
        raise ValueError(f"{path}: may_commit is not true; keep the set below .cache/sets")
    if not about.get("retrieved"):
        raise ValueError(f"{path}: retrieved, the day its files were taken, is missing")


def check_keys(name: str, tables: dict[str, pd.DataFrame]) -> None:
    """Raise ValueError where a table names an event or a run that the set does not have."""
    for key, home in (("event_id", "events"), ("run_id", "runs")):
        known = set(tables[home][key]) if home in tables else set()
        for table, rows in tables.items():
            stray = sorted(set(rows[key]) - known) if key in rows and table != home else []
            if stray:
                raise ValueError(f"{name}, {table}: {stray[0]} is in no row of {home}")
