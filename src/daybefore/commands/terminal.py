"""What a command prints, and how it ends part-way; nothing of a stranger's text is obeyed by the
terminal."""

import re
import sys

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters of an untrusted text that a terminal would obey: escapes, and marks that turn the
direction of writing."""


class PartWay(SystemExit):
    """The end of a command that was stopped part-way, with what it found so far."""

    def __init__(self, found):
        super().__init__(3)
        self.found = found


def hide_controls(text):
    r"""Return a text whose control characters are written out, so that a terminal shows and does
    not obey them.

    >>> print(hide_controls("\x1b[2Jgone"))
    \x1b[2Jgone
    """
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def show(text):
    """Print a result on standard output."""
    print(hide_controls(text), flush=True)


def tell(text):
    """Print what a command is doing now: on standard error, so that standard output is its
    result."""
    print(hide_controls(text), file=sys.stderr, flush=True)
