"""`daybefore sites` (make sites): screen new sites and propose their templates by models, for a
person to confirm.

What was judged stays: a later call looks at the sites that are new, and writes the day's questions
of the templates in whose row a person wrote yes. FutureX 3.2.1 and C.1.
"""

import os
from contextlib import ExitStack
from pathlib import Path

import pandas as pd

from daybefore.commands.preflight import open_judge, read_now
from daybefore.commands.terminal import show, tell
from daybefore.live.propose_sites import (
    SITE_COLUMNS,
    TEMPLATE_COLUMNS,
    is_confirmed,
    keep_table,
    propose_templates,
    read_sites,
    read_table,
    screen_site,
    write_questions,
)
from daybefore.live.read_by_model import MAX_SHOWN, fetch_text
from daybefore.web.fetched_pages import GatewayError
from daybefore.web.guest import Guest
from helpers.clock import stamp_moment
from helpers.files import dump_json, locate_output, write_whole

AGAIN = ("down", "unjudged", "unwritten")
"""What became of a site that is looked at again."""


def main(path, screens=(), writer=None, reader=None, *, now=None, out=None, ceiling_usd=None):
    """Screen a csv's sites, propose and check templates, write the confirmed ones' questions;
    returns what was done.

    Raises ValueError before anything is asked.
    """
    path, now = Path(path), read_now(now)
    urls = read_sites(path)
    folder = Path(out) if out else locate_output(f"data/sites/{path.stem}")
    folder.mkdir(parents=True, exist_ok=True)
    sites = read_table(folder / "sites.csv", SITE_COLUMNS)
    templates = read_table(folder / "templates.csv", TEMPLATE_COLUMNS)
    done = sites.loc[~sites["status"].isin(AGAIN), "url"].tolist()
    left = [url for url in urls if url not in done]
    if left and not (screens and writer and reader):
        raise ValueError(
            f"{len(left)} sites are new: --screen NAME (one or more), --writer NAME and --reader NAME"
        )
    with ExitStack() as stack:
        names = (*screens, writer, reader) if left else ()
        models = {name: stack.enter_context(open_judge(name, ceiling_usd)) for name in set(names)}
        guest = Guest(now)
        for url in left:
            kept = sites.loc[sites["status"] == "kept", "url"].tolist()
            judges = {name: models[name] for name in screens}
            row, made = judge_site(guest, url, judges, models[writer], models[reader], kept)
            sites = pd.concat([sites[sites["url"] != url], pd.DataFrame([row])], ignore_index=True)
            templates = pd.concat(
                [templates, pd.DataFrame(made, columns=list(TEMPLATE_COLUMNS))], ignore_index=True
            )
            keep_table(folder / "sites.csv", sites)
            keep_table(folder / "templates.csv", templates)
    counts = sites["status"].value_counts()
    show(f"sites: {len(sites)}: " + ", ".join(f"{n} {status}" for status, n in counts.items()))
    n_passed, n_confirmed = (templates["check"] == "passed").sum(), is_confirmed(templates).sum()
    show(
        f"templates: {len(templates)} proposed, {n_passed} passed their check, {n_confirmed} confirmed"
    )
    if n_passed:
        show(
            f"write yes into the column confirmed of {os.path.relpath(folder / 'templates.csv')}, then call this again"
        )
    found = {"folder": str(folder), "sites": counts.to_dict(), "n_templates": len(templates)}
    place = None
    if rows := write_questions(templates, now.tz_localize(None)):
        place = folder / f"questions-{now:%Y-%m-%d}.jsonl"
        write_whole(place, "".join(dump_json(row) + "\n" for row in rows))
        show(
            f"{len(rows)} questions of today: make week AGENT=name QUESTIONS={os.path.relpath(place)}"
        )
    return found | {"questions": place and str(place)}


def judge_site(guest, url, judges, writer, reader, kept):
    """Return (a new site's row of `SITE_COLUMNS`, the templates proposed for it), and tell what
    became of it."""
    row, made = dict.fromkeys(SITE_COLUMNS, "") | {"url": url}, []
    stamp = stamp_moment(guest.now)
    try:
        text = fetch_text(guest, url)[:MAX_SHOWN]
        row = screen_site(url, text, judges, kept)
        if row["status"] == "kept":
            made = propose_templates(url, text, writer, reader, stamp)
    except GatewayError as error:
        row |= {"status": "down", "reasons": str(error)}
    except ValueError as error:
        row |= {"status": "unwritten", "reasons": str(error)}
    why = f" ({row['reasons']})" if row["status"] in AGAIN else ""
    tell(f"{url}: {row['status']}{why}, {len(made)} templates")
    return row | {"fetched_at": stamp}, made
