"""The audit on one page: verdicts by paper and kind, what does not hold and why it matters, every claim to be sorted.

The page is one file of plain HTML without anything from elsewhere; its script sorts and filters and does no more.
"""

from html import escape

import pandas as pd

from helpers import papers
from helpers.audit.ledger import VERDICTS

MATTERS = {
    "last digit": "Cut off, or rounded twice. Nothing follows from it.",
    "wording": "A label, a date or a pointer names another thing. A reader loses time.",
    "count": "Two totals of one thing differ, or a percentage fits no whole number of cases. Which is meant is open.",
    "definition": "Two readings of one rule. Who builds it anew gets other scores, depending on the reading taken.",
    "finding": "A finding, as worded, does not follow from the numbers that are printed.",
}
"""Why an inconsistency matters, the least first."""
COLUMNS = ["paper", "section", "kind", "claim", "published", "recomputed", "verdict", "ours", "interval", "note"]
HEAD = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>
body{{font:15px/1.5 sans-serif;max-width:1150px;margin:2em auto;padding:0 1em;color:#222}}
table{{border-collapse:collapse;margin:1em 0;font-size:13px}} td,th{{padding:.25em .6em;border-bottom:1px solid #ddd;
text-align:left;vertical-align:top;overflow-wrap:anywhere}} th{{border-bottom:2px solid #888}}
#claims th{{cursor:pointer;position:sticky;top:0;background:#fff}} #claims td:nth-child(4){{min-width:16em}}
.inconsistent{{background:#fbe3d6}} input,select{{font:inherit;margin-right:1em}} .wide{{overflow-x:auto}}
</style><h1>{title}</h1>
"""
SCRIPT = """<script>
const body=document.querySelector('#claims tbody'),rows=[...body.rows],find=document.querySelector('#find');
const picks=[...document.querySelectorAll('select')],count=document.querySelector('#count');let last=-1,way=1;
const isNumber=a=>a!==''&&!isNaN(a);
const compare=(a,b)=>isNumber(a)&&isNumber(b)?a-b:isNumber(a)?-1:isNumber(b)?1:a.localeCompare(b);
document.querySelectorAll('#claims th').forEach((head,n)=>head.onclick=()=>{way=n===last?-way:1;last=n;
rows.sort((a,b)=>way*compare(a.cells[n].innerText,b.cells[n].innerText));body.append(...rows)});
const show=()=>{let n=0;const words=find.value.toLowerCase();for(const row of rows){
row.hidden=!(picks.every(p=>!p.value||row.cells[p.dataset.column].innerText===p.value)
&&row.innerText.toLowerCase().includes(words));n+=!row.hidden}count.innerText=n+' of '+rows.length};
find.oninput=show;picks.forEach(p=>p.onchange=show);show();
</script></html>
"""


def load_matters(ledger, folder=papers.FOLDER):
    """Return why each inconsistent claim matters: id -> a key of MATTERS (data/papers/matters.csv).

    Raises ValueError for an inconsistent claim without one or with two, for one that is not inconsistent, and for an
    unknown key.
    """
    matters = pd.read_csv(folder / "matters.csv", dtype=str).set_index("id")["matters"]
    wrong = set(ledger.loc[ledger["verdict"] == "inconsistent", "id"]) ^ set(matters.index)
    wrong |= set(matters.index[matters.index.duplicated()])
    if wrong or not set(matters) <= set(MATTERS):
        name = sorted(wrong)[0] if wrong else matters.index[~matters.isin(list(MATTERS))][0]
        raise ValueError(f"matters.csv: {name} must stand there once if it is inconsistent, with a key of MATTERS")
    return matters.to_dict()


def count_verdicts(ledger, by):
    """Return how many claims have each verdict, a row a value of `by` ("paper", or ["paper", "kind"])."""
    table = ledger.groupby([*([by] if isinstance(by, str) else by), "verdict"]).size().unstack(fill_value=0)
    return table.reindex(columns=VERDICTS, fill_value=0)


def count_matters(ledger, matters):
    """Return how many inconsistent claims matter in each way, a row a paper."""
    wrong = ledger[ledger["verdict"] == "inconsistent"]
    return pd.crosstab(wrong["paper"], wrong["id"].map(matters)).reindex(columns=list(MATTERS), fill_value=0)


def write_page(ledger, matters, benchmarks, title="The four papers against themselves, and against ours"):
    """Return the page as HTML text; `benchmarks` is the table that `benchmarks.spread_benchmarks` returns."""
    verdicts = ledger["verdict"].value_counts()
    ours = ledger[ledger["ours"] != ""]
    wrong = ledger[ledger["verdict"] == "inconsistent"].assign(matters=ledger["id"].map(matters))
    parts = [HEAD.format(title=escape(title))]
    parts += write_paragraphs(
        f"{len(ledger)} statements of four papers, each with its place, were held by code against what the same paper "
        f"prints elsewhere or against what whole counts allow: {verdicts.get('consistent', 0)} hold, "
        f"{verdicts.get('inconsistent', 0)} do not, {verdicts.get('not recomputable', 0)} cannot be recomputed from "
        "what is printed; that says the paper prints too little to tell, and nothing more. Sentences that judge, cite "
        "or describe are not among them.",
        "An inconsistency says nothing of the work behind the numbers: the likeliest reason is a slip in writing, and "
        "the note says what else it may be, where a second reading found something. LiveAgentBench prints no sizes of "
        "its groups of tasks: what is said of counts in them rests on the sizes that fit most of the same columns.",
        "; ".join(f"{name}: {papers.load_paper(name)['title']}" for name in sorted(ledger["paper"].unique())) + ".",
    )
    parts += ["<h2>Verdicts by paper</h2>", draw_table(count_verdicts(ledger, "paper").reset_index())]
    parts += ["<h2>What does not hold, and why it matters</h2>"]
    reasons = pd.DataFrame({"matters": MATTERS.keys(), "why": MATTERS.values()})
    counts = count_matters(ledger, matters).T.rename_axis("matters").reset_index()
    parts.append(draw_table(reasons.merge(counts, on="matters")))
    shown = ["matters", "paper", "section", "claim", "published", "recomputed", "note"]
    rank = {name: -place for place, name in enumerate(MATTERS)}
    parts.append(draw_table(wrong.sort_values("matters", key=lambda m: m.map(rank), kind="stable")[shown]))
    parts += ["<h2>What our runs and the public boards say to it</h2>"]
    parts += write_paragraphs(
        "Ours are events of a replay world of autumn 2016 and the boards as published since: they stand beside the "
        "papers' numbers, and are no replication of them."
    )
    parts.append(draw_table(ours[["paper", "section", "claim", "published", "ours", "interval", "note"]]))
    parts += ["<h2>What cannot be recomputed</h2>"]
    lost = ledger[ledger["verdict"] == "not recomputable"]
    parts.append(draw_table(lost[["paper", "section", "claim", "published", "note"]]))
    parts += ["<h2>Benchmarks side by side</h2>"]
    parts += write_paragraphs(
        "From Table 1 of FutureX and of LiveAgentBench, with what the others print of themselves; each column's places "
        "stand in its last row. A blank: none of the four states it. What a paper says of another's is its own reading."
    )
    parts.append(f"<div class='wide'>{draw_table(benchmarks.reset_index())}</div>")
    parts += ["<h2>Verdicts by kind of check</h2>", draw_table(count_verdicts(ledger, ["kind", "paper"]).reset_index())]
    parts += ["<h2>Every claim</h2>", *write_filters(ledger), draw_table(ledger[COLUMNS], "claims"), SCRIPT]
    return "\n".join(parts)


def write_paragraphs(*texts):
    """Return texts as HTML paragraphs."""
    return [f"<p>{escape(text)}</p>" for text in texts]


def write_filters(ledger):
    """Return the fields above the sortable table: words, and a choice for paper, kind and verdict."""
    fields = ["<p>A click on a column's head sorts. <input id='find' placeholder='words'>"]
    for name in ("paper", "kind", "verdict"):
        options = "".join(f"<option>{escape(value)}</option>" for value in sorted(ledger[name].unique()))
        fields.append(f"<select data-column='{COLUMNS.index(name)}'><option value=''>{name}</option>{options}</select>")
    return [*fields, "<span id='count'></span></p>"]


def draw_table(table, name=None):
    """Return a table as HTML; a row with the verdict inconsistent is marked."""
    heads = "".join(f"<th>{escape(str(column))}</th>" for column in table.columns)
    rows = []
    for row in table.astype(str).to_dict("records"):
        mark = " class='inconsistent'" if row.get("verdict") == "inconsistent" else ""
        rows.append(f"<tr{mark}>" + "".join(f"<td>{escape(cell)}</td>" for cell in row.values()) + "</tr>")
    start = f"<table id='{name}'>" if name else "<table>"
    return f"{start}<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
