"""The ledger: what the papers claim, recomputed from what they print, and what this kit measures beside it.

A claim is a line of data/papers/ledger_<paper>.csv: id, section, kind (the check), claim, published, operands,
tolerance, note. `published` and `operands` (separated by `;`) are references:

- `table[where].column`: cells of a printed table <paper>_<table>.csv; `where` is a value of its first column, or
  conditions `column=value&column!=value`, or empty for all rows; the column `*` takes every number of the rows;
- `name`: the value of that row of <paper>_statements.csv, the numbers and words printed in running text;
- `@name`: a constant of <paper>.toml;  a number: itself (days in a week, say).

To add a claim, add a line. To add a kind of check, add a function to `VALUES` or `JUDGEMENTS`.
"""

import math
import re

import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from helpers import papers

COLUMNS = "id paper section kind claim published recomputed tolerance verdict ours interval note".split()
VERDICTS = ("consistent", "inconsistent", "not recomputable")
REFERENCE = re.compile(r"(?P<table>\w+)\[(?P<where>[^\]]*)\]\.(?P<column>\w+|\*)")


def read_value(text):
    """Return a cell as a number where it is one, else as text; commas in thousands are dropped.

    >>> read_value("1,272"), read_value("July 24"), read_value("")
    (1272.0, 'July 24', '')
    """
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return text


def select_rows(table, where):
    """Return the rows of a text table that meet `where` (see the module's head); raises LookupError for none.

    >>> select_rows(pd.DataFrame({"a": ["x", "y"], "b": ["1", "1"]}), "b=1&a!=x")["a"].tolist()
    ['y']
    """
    conditions = re.split("&", where) if re.search("!?=", where) else [f"{table.columns[0]}={where}"] if where else []
    for condition in conditions:
        column, different, value = re.fullmatch(r"(\w+)(!?)=(.*)", condition).groups()
        table = table[(table[column] == value) != bool(different)]
    if table.empty:
        raise LookupError(f"no row has {where}")
    return table


def resolve_reference(reference, paper, folder=papers.FOLDER):
    """Return the values a reference names, as a list; blank cells are left out.

    >>> resolve_reference("table5_planning_scores[GPT-4.1].*", "futurex")
    [9.0, 8.0, 9.0]
    >>> resolve_reference("@crawl_hours", "futurex"), resolve_reference("61", "futurex")
    ([14, 16, 18, 20], [61.0])
    """
    if isinstance(read_value(reference), float):
        return [read_value(reference)]
    if reference.startswith("@"):
        value = papers.get_constant(paper, reference[1:], folder)
        return value if isinstance(value, list) else [value]
    named = f"statements[{reference}].value" if reference.isidentifier() else reference
    found = REFERENCE.fullmatch(named)
    if not found:
        raise ValueError(f"cannot read the reference {reference!r}; write table[row].column, name, @name or a number")
    rows = select_rows(_read_text(paper, found["table"], folder), found["where"])
    cells = rows.drop(columns="section") if found["column"] == "*" else rows[[found["column"]]]
    values = [read_value(cell) for cell in cells.to_numpy().ravel() if cell != ""]
    return [v for v in values if isinstance(v, float)] if found["column"] == "*" else values


def _read_text(paper, table, folder):
    return papers.load_published(paper, table, folder, dtype=str, keep_default_na=False)


def _flatten(groups):
    return [value for group in groups for value in group]


def _mean(values):
    return math.fsum(values) / len(values)


def _multiply_and_add(groups):
    """a * b + c, for a count of daily and weekly things."""
    a, b, c = _flatten(groups)
    return a * b + c


def _take_share(groups):
    """First group's sum as a percentage of the last group's sum."""
    return 100 * sum(groups[0]) / sum(groups[-1])


def _subtract(groups):
    first, *rest = _flatten(groups)
    return first - sum(rest)


def _divide(groups):
    a, b = _flatten(groups)
    return a / b


def _change(groups):
    """Relative change from the first to the second, in percent."""
    before, after = _flatten(groups)
    return 100 * (after / before - 1)


def _mix(groups):
    """Percentage w of a and the rest of b: w a + (1 - w) b."""
    share, a, b = _flatten(groups)
    return share / 100 * a + (1 - share / 100) * b


def _compute_f1(groups):
    """F1 of a set of options from the numbers of hits, named and right options."""
    hits, named, right = _flatten(groups)
    return 2 * hits / (named + right)


def _find_feasible(groups):
    """Percentage nearest the first value that whole events out of the second can give."""
    percent, total = _flatten(groups)
    return 100 * round(percent / 100 * total) / total


def _grow_std_with(groups):
    """Percent a mean's standard deviation grows when a share is missing, events drawn with replacement."""
    return 100 * (1 / math.sqrt(1 - _flatten(groups)[0] / 100) - 1)


def _grow_std_without(groups):
    """The same without replacement: percent missing, events drawn, events in the pool."""
    percent, drawn, pool = _flatten(groups)
    kept = drawn * (1 - percent / 100)
    return 100 * (math.sqrt((1 / kept - 1 / pool) / (1 / drawn - 1 / pool)) - 1)


def _count_days(groups):
    """Days from the first date to the second, both given as YYYY-MM-DD, the last day left out."""
    first, last = (pd.Timestamp(day) for day in _flatten(groups))
    return (last - first).days


def _compute_rate(groups):
    """Events in a number of days, from how many there are from the first date up to the second, that one left out."""
    total, first, last, days = _flatten(groups)
    return total / _count_days([[first, last]]) * days


VALUES = {
    "sum": lambda groups: math.fsum(_flatten(groups)),
    "mean": lambda groups: _mean(_flatten(groups)),
    "mean_difference": lambda groups: _mean(groups[0]) - _mean(groups[1]),
    "mean_change": lambda groups: _change([[_mean(groups[0]), _mean(groups[1])]]),
    "count": lambda groups: len(_flatten(groups)),
    "distinct": lambda groups: len(set(_flatten(groups))),
    "words": lambda groups: len(_flatten(groups)[0].split("|")),
    "difference": _subtract,
    "multiply_and_add": _multiply_and_add,
    "product": lambda groups: math.prod(_flatten(groups)),
    "ratio": _divide,
    "share": _take_share,
    "change": _change,
    "mixture": _mix,
    "f1": _compute_f1,
    "feasible": _find_feasible,
    "std_growth_with": _grow_std_with,
    "std_growth_without": _grow_std_without,
    "days": _count_days,
    "rate": _compute_rate,
}
"""Kind -> function of the operands (a list of values for each reference) that recomputes the published value."""


def _compare_same(published, groups, tolerance):
    """All places print what `published` prints."""
    other = [value for value in _flatten(groups) if not _matches(published, value, tolerance)]
    return (other or _flatten(groups))[0], not other


def _compare_sets(published, groups, tolerance):
    """Two lists, separated by `|`, name the same things in any order."""
    (other,) = _flatten(groups)
    return other, set(published.split("|")) == set(other.split("|"))


def _compare_order(published, groups, tolerance):
    """The groups' means fall strictly from first to last."""
    means = [_mean(group) for group in groups]
    return " > ".join(f"{mean:.4g}" for mean in means), all(a > b for a, b in zip(means, means[1:], strict=False))


def _compare_highest(published, groups, tolerance):
    """The first group's smallest value is above every other value."""
    rest = max(_flatten(groups[1:]))
    return f"{min(groups[0]):.6g} against {rest:.6g}", min(groups[0]) > rest


def _compare_within(published, groups, tolerance):
    """The published value (or every value of the first group, when none is given) lies between the last two."""
    values = _flatten(groups[:-2]) if published is None else [published]
    low, high = groups[-2][0], groups[-1][0]
    return f"{low:g} to {high:g}", all(low - tolerance <= value <= high + tolerance for value in values)


def _compare_least(published, groups, tolerance):
    """The largest operand is at least the published value."""
    return max(_flatten(groups)), max(_flatten(groups)) >= published - tolerance


def _compare_most(published, groups, tolerance):
    """The largest operand is at most the published value."""
    return max(_flatten(groups)), max(_flatten(groups)) <= published + tolerance


def _compare_rate(published, groups, tolerance):
    """Events a day lie between the last two operands; the others are those of `rate`."""
    rate = _compute_rate([*groups[:-2], [1]])
    return rate, groups[-2][0] <= rate <= groups[-1][0]


def _compare_bar(published, groups, tolerance):
    """Events of daily and weekly templates between two dates, on so many bars, stay below the axis's next tick."""
    daily, weekly, first, last, n_bars = _flatten(groups)
    days = _count_days([[first, last]])
    height = (daily * days + weekly * (days // 7)) / n_bars
    return height, height < published + tolerance


def _compare_balance(published, groups, tolerance):
    """The first operand equals the sum of the others; a text counts the names in it."""
    first, *rest = ([len(v.split("|")) if isinstance(v, str) else v for v in group] for group in groups)
    return f"{sum(first):g} against {sum(_flatten(rest)):g}", abs(sum(first) - sum(_flatten(rest))) <= tolerance


JUDGEMENTS = {
    "same": _compare_same,
    "same_set": _compare_sets,
    "order": _compare_order,
    "highest": _compare_highest,
    "within": _compare_within,
    "at_least": _compare_least,
    "at_most": _compare_most,
    "rate_within": _compare_rate,
    "bar_at_most": _compare_bar,
    "balance": _compare_balance,
}
"""Kind -> function of published value, operands and tolerance that returns what was found, and whether it holds."""


def _matches(published, value, tolerance):
    if isinstance(published, str) or isinstance(value, str):
        return published == value
    return abs(published - value) <= tolerance + 1e-9


def check_claim(claim, paper, folder=papers.FOLDER):
    """Return a claim's published value, the recomputed one and the verdict.

    A claim of kind `none`, or one whose published value is not printed, is not recomputable. Raises ValueError for an
    unknown kind.
    """
    published = resolve_reference(claim["published"], paper, folder) if claim["published"] else [None]
    groups = [resolve_reference(ref.strip(), paper, folder) for ref in claim["operands"].split(";") if ref.strip()]
    tolerance = float(claim["tolerance"] or 0)
    if len(published) != 1:
        raise ValueError(f"{claim['id']}: `published` names {len(published)} cells; name one")
    if claim["kind"] == "none":
        return published[0], None, "not recomputable"
    if claim["kind"] in JUDGEMENTS:
        recomputed, holds = JUDGEMENTS[claim["kind"]](published[0], groups, tolerance)
    elif claim["kind"] in VALUES:
        recomputed = VALUES[claim["kind"]](groups)
        holds = None if published[0] is None else _matches(published[0], recomputed, tolerance)
    else:
        raise ValueError(f"{claim['id']}: no check {claim['kind']!r}; there are {', '.join([*VALUES, *JUDGEMENTS])}")
    return published[0], recomputed, {True: "consistent", False: "inconsistent", None: "not recomputable"}[holds]


def load_claims(paper, folder=papers.FOLDER):
    """Return a paper's claims as text, in the file's order; raises ValueError for a repeated id.

    >>> load_claims("futurex").columns.tolist()
    ['id', 'section', 'kind', 'claim', 'published', 'operands', 'tolerance', 'note']
    """
    path = folder / f"ledger_{paper}.csv"
    if not path.exists():
        raise LookupError(f"no claims for {paper!r}; write data/papers/ledger_{paper}.csv")
    claims = pd.read_csv(path, dtype=str, keep_default_na=False)
    if claims["id"].duplicated().any():
        raise ValueError(f"{path.name}: id {claims.loc[claims['id'].duplicated(), 'id'].iloc[0]} stands twice")
    return claims


def build_ledger(paper_keys=None, folder=papers.FOLDER):
    """Return the ledger, a row a claim (columns `COLUMNS`); values are text, `ours` and `interval` are blank.

    >>> ledger = build_ledger(["futurex"]).set_index("id")
    >>> ledger.loc["fx_open_ended_week", ["published", "recomputed", "verdict"]].tolist()
    ['498', '498', 'consistent']
    """
    rows = []
    for paper in papers.list_papers(folder) if paper_keys is None else paper_keys:
        for claim in load_claims(paper, folder).to_dict("records"):
            try:
                published, recomputed, verdict = check_claim(claim, paper, folder)
            except (LookupError, ValueError, TypeError) as problem:
                problem.add_note(f"in claim {claim['id']} of ledger_{paper}.csv")
                raise
            shown = {"published": show_value(published), "recomputed": show_value(recomputed), "verdict": verdict}
            rows.append({**claim, "paper": paper, **shown, "ours": "", "interval": ""})
    ledger = pd.DataFrame(rows, columns=COLUMNS)
    if ledger["id"].duplicated().any():
        raise ValueError(f"id {ledger.loc[ledger['id'].duplicated(), 'id'].iloc[0]} stands in two papers' claims")
    return ledger


def show_value(value):
    """Return a value as text, numbers to four decimals; blank for none.

    >>> show_value(498.0), show_value(2 / 3), show_value("July"), show_value(None)
    ('498', '0.6667', 'July', '')
    """
    if value is None or value != value:
        return ""
    return str(value) if isinstance(value, str) else f"{round(value, 4):.10g}"


def fill_ours(ledger, ours):
    """Return the ledger with measured values: `ours` has id, value, low, high, note; blanks are allowed but for id.

    The note is added to the ledger's. Raises ValueError for a repeated id or one the ledger does not hold.
    """
    stray = sorted(set(ours["id"]) - set(ledger["id"]))
    if stray or ours["id"].duplicated().any():
        raise ValueError(f"measured value for {stray[0]}, which is no claim" if stray else "two values for one claim")
    filled = ledger.set_index("id")
    for row in ours.itertuples():
        filled.loc[row.id, "ours"] = show_value(row.value)
        if not (pd.isna(row.low) or pd.isna(row.high)):
            filled.loc[row.id, "interval"] = f"{show_value(row.low)} to {show_value(row.high)}"
        notes = (filled.loc[row.id, "note"], row.note)
        filled.loc[row.id, "note"] = "; ".join(note for note in notes if isinstance(note, str) and note)
    return filled.reset_index()[list(ledger.columns)]


def measure_events(events, answers):
    """Return our values for the claims about FutureX's events and answers, as `fill_ours` takes them.

    Shares carry a 95% Wilson interval. Raises ValueError for an empty set of events.
    """
    if events.empty:
        raise ValueError("no events to measure; build them with `make figures`")
    n_days = events["as_of"].astype(str).str[:10].nunique()
    found = events["event_id"].isin(answers.loc[answers["value"].notna(), "event_id"])
    low, high = proportion_confint(int(found.sum()), len(events), method="wilson")
    open_ended = int(events["kind"].isin(["ranking", "number"]).sum())
    levels = events["level"].value_counts(normalize=True).sort_index()
    kinds = events["kind"].value_counts(normalize=True).sort_index()
    asked, start_days = f"{n_days} start days", f"mean over {n_days} start days"
    rows = [
        ("fx_events_total", len(events), None, None, asked),
        ("fx_events_a_day", len(events) / n_days, None, None, start_days),
        ("fx_acquisition", 100 * found.mean(), 100 * low, 100 * high, f"{int(found.sum())} of {len(events)} events"),
        ("fx_sites_table1", events["source_id"].nunique(), None, None, "sources with an event"),
        ("fx_site_types", events["site_type"].nunique(), None, None, "types with an event"),
        ("fx_domains_figure4", events["domain"].nunique(), None, None, "domains with an event"),
        ("fx_open_ended_week", open_ended * 7 / n_days, None, None, f"{open_ended} ranking and number events, {asked}"),
        ("fx_kinds_figure5", _list_shares(kinds), None, None, f"n = {len(events)}"),
        ("fx_levels_figure6", _list_shares(levels), None, None, f"n = {len(events)}"),
    ]
    return pd.DataFrame(rows, columns=["id", "value", "low", "high", "note"])


def _list_shares(shares):
    return ", ".join(f"{name} {100 * share:.1f}%" for name, share in shares.items())
