"""A list of moments, pages and questions, asked ten minutes after each, on a simulated internet."""

from functools import partial

import pandas as pd
import pytest
from builders import make_entry, use_entries
from internet import open_internet

from daybefore.commands import moments
from daybefore.commands.main import carry_out
from daybefore.web.guest import Guest

LIST = """time,page,question,pattern
2026-07-01 20:00,https://games.example.org/live,What is the score? Write it as A-B.,Score: (\\d-\\d)
2026-07-01 21:00,https://games.example.org/live,What is the score? Write it as A-B.,Score: (\\d-\\d)
2026-07-01 22:00,https://games.example.org/live,What is the score? Write it as A-B.,
"""


@pytest.fixture
def ask(provider, out, tmp_path, monkeypatch):
    """A function that calls the command at a moment, the site showing a score; returns the
    command's result."""
    use_entries(monkeypatch, {"mine": make_entry(provider)})
    monkeypatch.setattr(moments, "Guest", partial(Guest, pace_s=0.0))
    (tmp_path / "games.csv").write_text(LIST)
    shown = {"score": "0-0"}
    provider.answer = lambda asked: {"content": r"\boxed{1-0}"}
    site = {
        "games.example.org": lambda asked: (
            200,
            {"content-type": "text/plain"},
            f"Score: {shown['score']}",
        )
    }

    def call(now, score, *more):
        shown["score"] = score
        given = ["moments", str(tmp_path / "games.csv"), "--agent", "mine", "--now", now, *more]
        return carry_out([*given, "--out", str(tmp_path / "kept")])

    with open_internet(tmp_path, site, "2026-07-01T12:00Z", patch=monkeypatch):
        # the model's server is on this machine
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield call


def test_what_is_due_is_asked_once_and_beside_the_page_of_that_moment(ask, provider, tmp_path):
    found = ask("2026-07-01T20:09:00+08:00", "1-0")
    assert not provider.asked and found["agents"][0]["asked"] == "0", "ten minutes are not over"
    found = ask("2026-07-01T20:12:00+08:00", "1-0")
    assert len(provider.asked) == 1 and found["agents"][0]["right"].startswith("1.00 (")
    ask("2026-07-01T20:13:00+08:00", "2-0")
    assert len(provider.asked) == 1, "nothing is asked twice"
    with pytest.raises(SystemExit, match="mine was asked questions of no set .moments, pages that"):
        carry_out(["report", "mine"])
    [page] = (tmp_path / "kept/pages").iterdir()
    assert page.read_text() == "Score: 1-0", "the page of the moment stays"
    found = ask("2026-07-01T22:10:00+08:00", "2-1")
    assert len(found["missed"]) == 1 and len(provider.asked) == 2
    table = pd.read_csv(tmp_path / "kept/answers.csv")
    assert table["is_right"].fillna("").astype(str).tolist() == ["True", ""]
    head, *rows = LIST.splitlines()
    lines = [f"{head},answer", f"{rows[0]},", f"{rows[1]},", f"{rows[2]},2-1"]
    (tmp_path / "games.csv").write_text("\n".join(lines))
    found = ask("2026-07-01T23:00:00+08:00", "2-1")
    assert found["agents"][0]["right"].startswith("0.50 ("), "a person's answer is filled in later"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("2026-07-01 20:00", "soon", "row 2, column time: 'soon' is no moment"),
        (
            "https://games.example.org/live",
            "games",
            "column page: 'games' is no address that begins https://",
        ),
        ("(\\d-\\d)", "(\\d-\\d", "column pattern: it is no regular expression"),
        ("21:00", "20:00", "stands in row 2 already; keep one"),
    ],
)
def test_a_wrong_row_is_refused_before_anything_is_asked(
    old, new, sentence, ask, provider, tmp_path
):
    (tmp_path / "games.csv").write_text(LIST.replace(old, new))
    given = [
        "moments",
        str(tmp_path / "games.csv"),
        "--agent",
        "mine",
        "--now",
        "2026-07-01T20:12:00+08:00",
    ]
    with pytest.raises(SystemExit) as stopped:
        carry_out(given)
    assert sentence in str(stopped.value) and not provider.asked
