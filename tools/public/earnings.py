"""Facts of FutureX's 50 questions on S&P 500 members, analysts' figures beside (FutureX 5.1):
statistics alone."""

import pandas as pd

from daybefore.formats.earnings_questions import build_events, read_earnings
from daybefore.formats.public_sets import EARNINGS
from helpers.public_files import locate_public
from studies.futurex.people_and_experts import describe_questions

SOURCES = {"futurex_earnings": [EARNINGS]}


def build() -> dict[str, pd.DataFrame]:
    """Return futurex_earnings: fact, value, low, high (95% interval by company), n (questions)."""
    _, answers, beside = build_events(read_earnings(locate_public(EARNINGS)))
    return {"futurex_earnings": describe_questions(answers, beside)}
