"""What is kept out of the event set, each drop on record with its reason (FutureX 3.2.2).

A judge is a callable: event (a dict with `prompt` and `options`) -> (is_flagged, reason). The rule
judges here read words; a language model's judgement goes in by the same door.
"""

import re

import numpy as np

from helpers.agreement import RULES
from helpers.papers import get_constant

HARMFUL = re.compile(
    r"\b(kill|murder|suicide|rape|terror\w*|assassinat\w*|massacre|porn\w*|slur|lynch\w*|genocide|overdose)\b",
    re.I,
)
SUBJECTIVE = re.compile(
    r"\b(I(?!-)|(?i:we|my|our|best|worst|nicest|beautiful|should|deserve\w*|favou?rite|interesting|boring|feel|opinion))\b"
)


def judge_harmful(event):
    """Flag an event whose wording or options name violence, self-harm or pornography.

    >>> judge_harmful({"prompt": "How many murders will be reported?", "options": {}})
    (False, '')
    >>> judge_harmful({"prompt": "Will a terrorist attack occur?", "options": {}})
    (True, "names 'terrorist'")
    """
    found = HARMFUL.search(" ".join([event["prompt"], *event["options"].values()]))
    return (True, f"names {found.group(0)!r}") if found else (False, "")


def judge_subjective(event):
    """Flag an event that asks for a taste or speaks in the first person.

    >>> judge_subjective({"prompt": "Will I finish my book by July?", "options": {}})
    (True, "says 'I'")
    >>> judge_subjective({"prompt": "How many vehicles will pass on I-94?", "options": {}})
    (False, '')
    """
    found = SUBJECTIVE.search(event["prompt"])
    return (True, f"says {found.group(0)!r}") if found else (False, "")


JUDGES = {
    "harmful": ({"words": judge_harmful}, get_constant("futurex", "harmful_rule")),
    "subjective": ({"words": judge_subjective}, get_constant("futurex", "subjective_rule")),
}
"""Filter -> (judges by name, rule)."""


def screen_event(event, name, judges, rule):
    """Return the screening row of one event under one filter: every judge's view, combined by
    `rule` (`RULES`)."""
    views = {judge: view(event) for judge, view in judges.items()}
    return {
        "event_id": event["event_id"],
        "filter": name,
        "judge": ", ".join(views),
        "is_dropped": bool(RULES[rule]([flag for flag, _ in views.values()])),
        "reason": "; ".join(reason for flag, reason in views.values() if flag),
        "rule": rule,
    }


def draw_kept(n_events, keep_share, rng):
    """Return which of `n_events` yes/no events are kept, at random at the given share (36 of 193 in
    Figure 3).

    >>> int(draw_kept(193, 36 / 193, np.random.default_rng(0)).sum())
    36
    """
    kept = np.zeros(n_events, dtype=bool)
    kept[rng.permutation(n_events)[: round(n_events * keep_share)]] = True
    return kept
