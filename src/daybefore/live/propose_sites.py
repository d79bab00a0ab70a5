"""New sites and their templates, proposed and checked by models, confirmed by a person (FutureX
3.2.1, C.1).

A page is fetched as a guest. Models screen it: is it a duplicate, suitable, and how often is it
updated? Of one that is kept a model proposes templates with the answer of now; a template passes if
what it quotes stands on the page and a reader, which is not shown the answer, reads the same off
the page twice. The rest is a person's: nothing is asked of an agent before somebody wrote yes. A
page is data: what it says reaches the models inside a prompt, and nowhere else.
"""

from typing import Any

import pandas as pd

from daybefore.live.read_by_model import read_twice
from daybefore.models.grammars import make_schema
from daybefore.models.judges import LONG
from daybefore.prompts import read_prompt
from daybefore.replies.parse_reply import parse_prediction
from helpers.files import dump_json, hash_text, write_whole
from helpers.input_faults import describe_problem, escape_cells, raise_all, read_sheet
from helpers.tables import SITE_TYPES

FREQUENCIES = ("daily", "weekly", "monthly", "rarely", "unknown")
OFTEN = FREQUENCIES[:3]
"""How often a page may be updated that is kept."""
N_TEMPLATES = 3
TEXT = {"type": "string"}
SCREEN = make_schema(
    suitable={"enum": ["yes", "no"]},
    updated={"enum": list(FREQUENCIES)},
    duplicate={"type": "integer", "minimum": 0},
    site_type={"enum": list(SITE_TYPES)},
    reason=TEXT,
)
TEMPLATE = make_schema(
    question=TEXT,
    kind={"enum": ["number", "text", "ranking"]},
    unit=TEXT,
    period={"enum": ["daily", "weekly"]},
    answer=TEXT,
    quote=TEXT,
)
TEMPLATES = make_schema(templates={"type": "array", "items": TEMPLATE, "maxItems": N_TEMPLATES})
SITE_COLUMNS = ("url", "status", "updated", "site_type", "duplicate_of", "reasons", "fetched_at")
TEMPLATE_COLUMNS = (
    "id",
    "url",
    "question",
    "kind",
    "unit",
    "period",
    "answer",
    "quote",
    "check",
    "confirmed",
)


def read_sites(path) -> list[str]:
    """Return the addresses of a csv (column url). Raises Problems with file, row, column and
    reason."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}; write a csv with the column url")
    table = read_sheet(path, ("url",), comments=True, filled=("url",), key=["url"])
    wrong = [(n, url) for n, url in table["url"].items() if not url.startswith("https://")]
    raise_all(
        describe_problem(path.name, n, "url", f"{url!r} does not begin with https://")
        for n, url in wrong
    )
    return table["url"].tolist()


def screen_site(url: str, text: str, judges: dict[str, Any], kept: list[str]) -> dict:
    """Return what models make of a page: a row of `SITE_COLUMNS` without the moment.

    `judges` maps names to `consult`; `kept` are the pages taken so far. All that have a verdict
    must find it suitable, no duplicate, and updated at least monthly; without any verdict it is
    unjudged.
    """
    known = "\n".join(f"{n}. {one}" for n, one in enumerate(kept, 1)) or "none"
    prompt = read_prompt("site_screen").format(known=known, url=url, page=text)
    row = dict.fromkeys(SITE_COLUMNS, "") | {"url": url, "status": "unjudged"}
    reasons = []
    for name, consult in judges.items():
        verdict = consult(prompt, SCREEN)
        said = verdict.value
        if said is None:
            reasons.append(f"{name}: no verdict ({verdict.status})")
            continue
        reasons.append(f"{name}: {said['reason']}")
        fault = ""
        if 0 < said["duplicate"] <= len(kept):
            row["duplicate_of"] = kept[said["duplicate"] - 1]
            fault = "duplicate"
        elif said["suitable"] == "no":
            fault = "unsuitable"
        elif said["updated"] not in OFTEN:
            fault = "rarely updated"
        if row["status"] == "unjudged":
            row |= {"updated": said["updated"], "site_type": said["site_type"], "status": "kept"}
        if row["status"] == "kept" and fault:
            row["status"] = fault
    return row | {"reasons": "; ".join(reasons)}


def propose_templates(url: str, text: str, writer: Any, reader: Any, fetched_at: str) -> list[dict]:
    """Return the templates (rows of `TEMPLATE_COLUMNS`) that a model proposes, each with what its
    check came to.

    `check` is "passed", or why a person should not rely on it. Raises ValueError where the writer
    gives no reply.
    """
    prompt = read_prompt("site_templates").format(url=url, page=text, n=N_TEMPLATES)
    verdict = writer(prompt, TEMPLATES, max_tokens=LONG)
    if verdict.value is None:
        raise ValueError(f"the writer gave no templates ({verdict.status}: {verdict.reason})")
    rows = []
    for one in verdict.value["templates"]:
        row = one | {"id": f"t{hash_text(url + one['question'], 8)}", "url": url, "confirmed": ""}
        rows.append(row | {"check": check_template(one, text, reader, fetched_at)})
    return rows


def check_template(one: dict, text: str, reader: Any, fetched_at: str) -> str:
    """Return "passed", or in words what is wrong with a template: its blanks, its quote, its
    answer."""
    if one["question"].count("{date}") != 1 or one["question"].replace("{date}", "").count("{"):
        return "the question does not hold {date} once and no other blank"
    if not one["quote"].strip() or " ".join(one["quote"].split()) not in " ".join(text.split()):
        return "its quote does not stand on the page"
    claimed = parse_prediction(
        f"\\boxed{{{one['answer']}}}", one["kind"], None, one["unit"] or None
    )
    if claimed is None:
        return f"its answer is no {one['kind']}"
    event = {
        "prompt": one["question"].replace("{date}", fetched_at[:10]),
        "kind": one["kind"],
        "options": "null",
    }
    event |= {"unit": one["unit"] or None, "variables": "{}"}
    value = read_twice(reader, event, text, fetched_at)
    if value is None:
        return "a reader finds no answer, or not the same one twice"
    if dump_json(value) != dump_json(claimed):
        return f"a reader reads {dump_json(value)}"
    return "passed"


def is_confirmed(table: pd.DataFrame) -> pd.Series:
    """Say of each row whether a person wrote yes beside it."""
    return table["confirmed"].str.strip().str.lower() == "yes"


def write_questions(templates: pd.DataFrame, day: pd.Timestamp) -> list[dict]:
    """Return a day's questions of confirmed templates, as `live.week_questions` reads a file of
    questions.

    A daily one asks for the next day, a weekly one for seven days later.
    """
    rows = []
    for one in templates[is_confirmed(templates)].to_dict("records"):
        end = day + pd.Timedelta(days=7 if one["period"] == "weekly" else 1)
        row = {
            "id": f"{one['id']}-{end:%F}",
            "prompt": one["question"].replace("{date}", f"{end:%F}"),
            "kind": one["kind"],
            "end_time": f"{end:%F}",
            "criteria": f"Settled by what {one['url']} shows.",
            "url": one["url"],
        }
        rows.append(row | ({"unit": one["unit"]} if one["unit"] else {}))
    return rows


def read_table(path, columns):
    """Return a table that an earlier call kept, all cells as text; an empty one before the
    first."""
    if not path.exists():
        return pd.DataFrame(columns=list(columns))
    way = "save it as csv in UTF-8, with commas"
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except ValueError as error:  # what pandas raises, too
        raise ValueError(f"{path.name} cannot be read; {way} ({str(error)[:80]})") from None
    if absent := sorted(set(columns) - set(table)):
        raise ValueError(f"{path.name} has no column {absent[0]}; {way}, or put the column back")
    return table[list(columns)]


def keep_table(path, table):
    """Write a table as csv, whole or not at all, safe for a spreadsheet."""
    write_whole(path, escape_cells(table).to_csv(index=False, lineterminator="\n"))
