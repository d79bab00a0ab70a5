"""Tests of how many requests go out at once: the number grows with replies, and falls with
refusals."""

import threading
import time
from contextlib import contextmanager

import pandas as pd
import pytest
from builders import make_event

from daybefore.agents.registry import check_agent, connect_agent
from daybefore.agents.run_loop import run_agents
from daybefore.models.pace import LEAST, MOST, Pace, find_pace
from daybefore.store import read_runs


class Desk:
    """Answers after `seconds`, and refuses what comes beyond `n_desks` at once."""

    def __init__(self, n_desks, seconds=0.1):
        self.n_desks = n_desks
        self.seconds = seconds
        self.lock = threading.Lock()
        self.n_now = 0
        self.n_most = 0
        self.n_refused = 0

    @contextmanager
    def enter(self):
        with self.lock:
            self.n_now += 1
            self.n_most = max(self.n_most, self.n_now)
        yield self.n_now
        with self.lock:
            self.n_now -= 1

    def __call__(self, asked):
        with self.enter() as n_now:
            if n_now > self.n_desks:
                self.n_refused += 1
                return "429"
            time.sleep(self.seconds)
        return {"content": r"\boxed{A}"}


@pytest.fixture
def put(knock, provider, tmp_path):
    """A function that puts `n` questions to a desk and returns it, with the pace and the statuses
    of the replies."""

    def put_questions(desk, n, pace=None):
        provider.answer = desk
        pace = pace or Pace()
        door = knock(pace=pace, n_requests=4)
        agent = connect_agent(check_agent("mine", {"model": "openai/mock-1"}), door)
        path = tmp_path / "runs.sqlite"
        events = pd.DataFrame(
            [make_event(event_id=f"e{at}", prompt=f"Will {at} be?") for at in range(n)]
        )
        run_agents({"mine": agent}, events, dict, path, window="A", workers=pace, progress=False)
        return pace, read_runs(path, "replies")["status"]

    return put_questions


@pytest.mark.parametrize(
    ("n_desks", "least", "most"), [(1000, MOST, MOST), (LEAST, 2 * LEAST, 4 * LEAST)]
)
def test_the_number_grows_to_the_most_or_as_far_as_replies_are_quick(n_desks, least, most):
    pace = Pace()
    for _ in range(2000):
        pace.count(max(1, pace.limit / n_desks))
    assert least <= pace.limit <= most


def test_a_provider_that_refuses_is_asked_about_as_much_as_it_bears_and_all_is_answered(put):
    pace, statuses = put(desk := Desk(20, 0.3), 150)
    assert LEAST <= pace.limit <= 40 and desk.n_most <= 40
    assert 0 < desk.n_refused < 120 and set(statuses) == {"ok"}


def test_a_provider_that_falls_far_below_what_it_bore_costs_no_question(put):
    fallen = Pace()
    fallen.limit = MOST
    pace, statuses = put(Desk(LEAST), 100, fallen)
    assert pace.limit <= 3 * LEAST and set(statuses) == {"ok"}


def test_a_refusal_counts_by_the_number_at_once_as_its_request_went_out():
    pace = Pace()
    pace.limit = LEAST + 1
    told = []
    for _ in range(2):
        with pytest.raises(Refused), pace.turn(time.monotonic() + 1) as can_fall:
            told.append((can_fall, pace.limit))
            raise Refused
    assert told == [(True, LEAST + 1), (False, LEAST)]


class Refused(Exception):
    """A provider's refusal for load."""

    status_code = 429


def test_a_fixed_number_stays(put):
    pace, statuses = put(desk := Desk(30), 30, Pace(5))
    assert (pace.limit, desk.n_most) == (5, 5) and set(statuses) == {"ok"}


def test_a_pace_is_of_a_provider_and_an_address():
    first = find_pace("openai/a", "http://a/v1")
    assert find_pace("openai/b", "http://a/v1") is first
    assert find_pace("openai/a") is not first and find_pace("openai/a", at_once=3).limit == 3


def test_a_turn_that_does_not_come_in_time_is_a_timeout():
    pace = Pace(1)
    with (
        pace.turn(time.monotonic() + 1),
        pytest.raises(TimeoutError),
        pace.turn(time.monotonic() + 0.01),
    ):
        pass
