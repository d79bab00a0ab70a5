"""True answers as they were written: how the answers table holds them, and locked, so that they can be checked only."""

import re

from helpers.outcomes.matching import extract_answer, split_tokens
from helpers.store import dump_json, hash_text, parse_json

LOCK = "sha256:"


# --- answers in the tables --------------------------------------------------------------------------------------------


def write_truth(text):
    """Return a true answer as the answers table holds it: JSON, a number with its decimals as they are.

    >>> print(write_truth("12.50"), write_truth("Oslo"), write_truth("2016-10-05"))
    12.50 "Oslo" "2016-10-05"
    """
    return text if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", text) else dump_json(text)


def list_truths(answers):
    """Return the true answers of an answers table as written: a Series by event_id.

    >>> import pandas as pd
    >>> list(list_truths(pd.DataFrame({"event_id": ["a", "b"], "value": ["12.50", '"Oslo"']})))
    ['12.50', 'Oslo']
    """
    cells = answers.set_index("event_id")["value"]
    return cells.map(lambda cell: parse_json(cell) if cell.startswith('"') else cell)


# --- locked answers --------------------------------------------------------------------------------------------------


def lock_answer(answer, salt):
    """Return an answer as salt and sha256 of what is left of it when it is normalised: it can be checked, not read.

    >>> match_locked("Answer: 12.0", lock_answer("12", "s1")), match_locked("13", lock_answer("12", "s1"))
    (True, False)
    """
    return f"{LOCK}{salt}:{hash_text(salt + ':' + ' '.join(split_tokens(answer)))}"


def match_locked(reply, locked):
    """Say whether a reply's final answer equals a locked one, as `match_answer`'s is_equal does for one in plain."""
    return lock_answer(extract_answer(reply), locked.removeprefix(LOCK).split(":")[0]) == locked
