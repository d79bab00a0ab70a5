"""Prompts: the files of data/prompts, by name, and filled with an event (FutureX C.2, in our own
words)."""

from functools import cache

from helpers.files import ROOT, hash_text, parse_json

FOLDER = ROOT / "data/prompts"

ANSWER_FORMATS = {
    "single": "the letter of one option, and nothing else",
    "multi": "the letters of all options that you find plausible, with commas between them",
    "number": "one number, with a point for decimals and without its unit{unit}",
    "percent": "one number in percent, without the sign",
    "date": "one day, written as year-month-day",
    "text": "the name or the words asked for, and nothing else",
    "ranking": "{k} names, from the first to the last, with semicolons between them",
    "list": "{k} names, with semicolons between them",
}
"""What belongs in the box, in words only: small models copy an example answer."""

STATED = {"single": "probabilities_single", "multi": "probabilities_multi"}
STATED |= dict.fromkeys(("number", "percent"), "quantiles")
"""Kinds of which probabilities can be asked in words, and the prompt that asks: by option, or
quantiles of a number."""

STATED_PROMPTS = (
    *dict.fromkeys(STATED.values()),
    "final_lines",
    "submission_probabilities",
    "submission_quantiles",
)
"""All prompts that ask for probabilities."""


@cache
def read_prompt(name):
    """Return the text of data/prompts/<name>.md. Raises FileNotFoundError."""
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def hash_prompts(names):
    """Return 16 hex digits that change with any of some prompt files."""
    return hash_text("\0".join(read_prompt(name) for name in names), 16)


def find_stated(event):
    """Return the prompt that asks for an event's probabilities, None where its agent's table does
    not say so."""
    return STATED.get(event["kind"]) if event.get("probabilities") else None


OWN_FORM = "your answer, in the very form that the question asks for"


def has_own_form(event):
    r"""Say whether an event's question itself says how its answer is to be written, as FutureX's
    prompts do.

    >>> has_own_form({"prompt": r"Will it rain? Use \boxed{Yes} or \boxed{No}"}), has_own_form({"prompt": "Rain?"})
    (True, False)
    """
    return "\\boxed" in event["prompt"]


def count_places(event):
    """Return how many places a ranking or list has, None where its event does not say."""
    k = event.get("k")
    return None if k is None or k != k else int(k)


def describe_answer(event):
    """Return in words what belongs in an event's box."""
    unit = event.get("unit")
    k = count_places(event)
    if k == 1 and event["kind"] in ("ranking", "list"):
        return "one name, and nothing else"
    unit = f" ({unit})" if isinstance(unit, str) and unit else ""
    return ANSWER_FORMATS[event["kind"]].format(unit=unit, k="the" if k is None else k)


def list_options(event):
    """Return the lines that name an event's options, as its prompt has them.

    >>> list_options({"options": '{"A": "Yes", "B": "No"}'}), list_options({"options": None})
    (['A. Yes', 'B. No'], [])
    """
    return [f"{letter}. {text}" for letter, text in (parse_json(event["options"]) or {}).items()]


def split_question(event):
    """Return an event's question without the lines that list its options.

    >>> split_question({"prompt": "Will it rain?\\nA. Yes\\nB. No", "options": '{"A": "Yes", "B": "No"}'})
    'Will it rain?'
    """
    options = list_options(event)
    return "\n".join(line for line in event["prompt"].splitlines() if line not in options)


def list_blanks(event):
    """Return what the prompts say of an event, {blank: text}."""
    return {
        "question": split_question(event),
        "options": "\n".join(list_options(event)),
        "as_of": event["as_of"],
        "resolution_criteria": event["resolution_criteria"],
        "answer_format": describe_answer(event),
    }


def fill_prompt(event):
    """Return the prompt of an event: `option_event` where it has options, else `open_event`.

    A question that fixes the form of its own answer is put whole, and no other form is asked for
    (`own_form`).
    """
    blanks = list_blanks(event)
    stated = find_stated(event)
    if event.get("listed"):
        blanks["question"] += "\nListed are: " + "; ".join(event["listed"])
    if has_own_form(event):
        text = read_prompt("own_form").format(**blanks | {"question": event["prompt"]})
        if stated and blanks["options"]:
            text += "\n\nLetters of the options:\n" + blanks["options"]
    else:
        text = read_prompt("option_event" if blanks["options"] else "open_event").format(**blanks)
    return text + (read_prompt(stated) if stated else "")


def fill_final_line(event):
    """Return the prompt that asks an event's agent for its final line (or two) after a
    conversation."""
    prompt = read_prompt("final_lines" if find_stated(event) else "final_line")
    return prompt.format(answer_format=OWN_FORM if has_own_form(event) else describe_answer(event))
