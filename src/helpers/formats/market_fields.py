"""The fields of JSON as public APIs of prediction markets give it: each is checked, and what is wrong is named.

A file that is no JSON, or not in an API's form, raises ValueError with file, place and field; a row that merely lacks
something raises Unread, and is left out alone.
"""

import json
import math
from pathlib import Path

import pandas as pd

FIRST_YEAR, LAST_YEAR = 2000, 2100
"""Years of the moments that are read: seconds taken for milliseconds, and the other way round, lie beyond."""


class Unread(ValueError):
    """Why a question cannot become an event."""


class Fields:
    """The fields of one object of JSON; what is absent or of another kind raises ValueError that names it."""

    def __init__(self, name, given):
        self.name, self.given = name, given

    def get(self, field, kind, what, default=...):
        """Return a field of a kind; without `default` it must be there and filled."""
        value = self.given.get(field)
        if value in (None, "") and default is not ...:
            return default
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool) or value == "":
            raise self.refuse(field, what)
        return value

    def refuse(self, field, what):
        """Return the error that a field is not what it should be; Unread where it is blank: its row is left out."""
        value = self.given.get(field)
        kind = Unread if value in (None, "") else ValueError
        return kind(f"{self.name}: field {field} is {json.dumps(value)[:60]}, not {what}")

    def text(self, field, default=...):
        """Return a text, its spaces single."""
        value = self.get(field, str, "a text", default)
        return value if value is None else " ".join(value.split())

    def flag(self, field):
        """Return true or false."""
        return self.get(field, bool, "true or false")

    def number(self, field, default=...):
        """Return a number, also one that is written as a text."""
        value = self.get(field, (int, float, str), "a number", default)
        if value is None:
            return None
        try:
            found = float(value)
        except ValueError:
            found = math.nan
        if not math.isfinite(found):
            raise ValueError(f"{self.name}: field {field} is {value!r}, not a number")
        return found

    def moment(self, field, unit=None):
        """Return a moment: ISO text, or with `unit` a number of seconds (s) or milliseconds (ms) since 1970.

        Raises Unread for one out of bounds.
        """
        value = self.number(field) if unit else self.text(field)
        try:
            at = pd.Timestamp(value, unit=unit)
            is_near = FIRST_YEAR <= at.year <= LAST_YEAR
        except (OverflowError, NotImplementedError, pd.errors.OutOfBoundsDatetime):
            at, is_near = None, False
        except ValueError:
            at = pd.NaT
        if at is pd.NaT:
            raise ValueError(f"{self.name}: field {field} is {value!r}, not a moment")
        if not is_near:
            raise Unread(f"{self.name}: field {field} is {value!r}, no moment of the years {FIRST_YEAR} to {LAST_YEAR}")
        return at.tz_localize("UTC") if at.tzinfo is None else at.tz_convert("UTC")

    def listed(self, field, kind=str, what="a list of texts"):
        """Return a list of texts, or of another kind, also one that is written as JSON in a text (Polymarket)."""
        value = self.given.get(field)
        try:
            value = json.loads(value) if isinstance(value, str) else value
        except ValueError:
            value = None
        if not isinstance(value, list) or not value or not all(isinstance(one, kind) for one in value):
            raise self.refuse(field, what)
        return value

    def names(self, field):
        """Return a list of texts, their spaces single."""
        return [" ".join(one.split()) for one in self.listed(field)]

    def numbers(self, field):
        """Return a list of numbers, each as `number` takes it."""
        values = self.listed(field, (int, float, str), "a list of numbers")
        return [Fields(self.name, {field: one}).number(field) for one in values]

    def inner(self, field):
        """Return the fields of an object inside."""
        return Fields(f"{self.name}, {field}", self.get(field, dict, "an object"))


def load(path):
    """Return what a file of JSON holds. Raises ValueError that names it."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except RecursionError:
        raise ValueError(f"{Path(path).name} is nested too deep") from None
    except ValueError as error:
        raise ValueError(f"{Path(path).name} is no JSON ({error})") from None


def list_rows(whose, given, field):
    """Return the objects of a list as Fields, each named by its place; `whose` (a path, Fields) has a name."""
    rows = given[field]
    if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
        raise ValueError(f"{whose.name}: field {field} is no list of objects")
    return [Fields(f"{whose.name}, {field} {at + 1}", one) for at, one in enumerate(rows)]
