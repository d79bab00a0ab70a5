"""A short run of the faults and of the mutator; `make faults` plays them all."""

import os
import signal
from functools import partial

import pytest
from faults import breaking, lying, making
from faults.accidents import play_accident
from faults.mutated_pages import MAX_PAGE_S, MUTATIONS, mutate_pages
from faults.table import judge, play_fault

from daybefore.models.transport import load_litellm

TRIED = (
    "two replies to one request",
    "content a list",
    "usage in words",
    "usage NaN",
    "model a number",
    "code 206",
)
"""Lies that were believed, asked three times or let an exception out, before they were mended."""


@pytest.mark.filterwarnings(
    "error::UserWarning"
)  # in the forks, too: pydantic's, of what it did not expect
def test_lies_that_once_were_believed_are_not(monkeypatch):
    monkeypatch.setattr(lying, "DEADLINE_S", 20)  # none of them is late, but a machine may be busy
    load_litellm.cache_clear()  # whoever loaded it before: its filter of warnings goes before this test's
    lying.warm_up()
    for lie in TRIED:
        n, held, seen, _ = play_fault(lying.PLAYS["a lying provider"][lie][1])
        assert held, f"{lie}: {seen}"


@pytest.mark.parametrize("lie", ["50 MB", "500", "deep", "302 to a file"])
def test_a_lying_site_is_met_and_its_lie_is_the_sources_failure(lie):
    n, held, seen, _ = play_fault(lying.PLAYS["a lying site"][lie][1])
    assert held, f"{lie}: {seen}"


def test_a_lie_that_was_never_told_does_not_hold(monkeypatch):
    monkeypatch.setattr(lying, "HOST", "localhost")  # which is not asked: "outside"
    _, held, seen, _ = play_fault(partial(lying.crawl_site, "500", "outside"))
    assert not held and seen.endswith("the lie was not told")


def test_make_is_signalled_while_it_runs_however_quick_it_is(tmp_path):
    (tmp_path / "Makefile").write_text("figures:\n\t@mkdir -p .make && sleep 0.5\n")
    (tmp_path / ".make").mkdir()
    process = making.signal_make(tmp_path, signal.SIGINT, wait_s=1.2)  # 1.2 s: it is over before
    process.communicate()
    assert process.returncode not in (0, None)


def test_what_does_not_hold_raises_or_dies_is_seen():
    assert play_fault(lambda folder: judge(3, {"lost": 2, "late": True, "twice": 0}))[:3] == (
        3,
        False,
        "lost (2); late",
    )
    n, held, seen, measured = play_fault(lambda folder: {}["absent"])
    assert (n, held) == (1, False) and "KeyError: 'absent'" in seen and measured["peak_mb"] > 10
    assert play_fault(lambda folder: os._exit(9))[1:3] == (False, "the process that played it died")


@pytest.mark.parametrize(
    "play", [breaking.damage_ledger, breaking.damage_recording], ids=lambda play: play.__name__
)
def test_a_damaged_file_is_named_and_left_as_it_is(play, out):
    n, held, seen, _ = play(out, n=12)
    assert held, seen


def test_no_question_is_lost_paid_twice_or_left_without_a_word_at_ctrl_c():
    assert judge(1, play_accident("Ctrl-C"))[1:3] == (True, "as it must")


def test_no_mutated_page_is_more_than_its_sources_failure():
    rows = mutate_pages(200)
    counts = rows["outcome"].value_counts()
    assert set(counts.index) == {"read", "refused"}, "nothing escapes"
    assert counts.min() > 50, "mutations are neither all harmless nor all fatal"
    assert set(rows["mutation"]) == set(MUTATIONS) and rows["source_id"].nunique() == 51
    assert rows["seconds"].max() < MAX_PAGE_S
    assert set(rows.loc[rows["mutation"] == "empty", "outcome"]) == {"refused"}, (
        "an empty page is no success"
    )


def test_an_escape_would_be_seen(monkeypatch):
    monkeypatch.setattr("daybefore.web.session.extract_page", lambda source, text: {}[source.id])
    outcomes = mutate_pages(20)["outcome"]
    assert outcomes.str.startswith("KeyError").all()
