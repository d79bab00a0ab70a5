"""Prompts: the files of data/prompts, by name."""

from functools import cache

from helpers.files import ROOT, hash_text

FOLDER = ROOT / "data/prompts"


@cache
def read_prompt(name):
    """Return the text of data/prompts/<name>.md. Raises FileNotFoundError."""
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def hash_prompts(names):
    """Return 16 hex digits that change with any of some prompt files."""
    return hash_text("\0".join(read_prompt(name) for name in names), 16)
