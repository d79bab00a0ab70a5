"""Faults of sites come in the stated share, the same for the same seed, and not at all when
switched off."""

import pandas as pd
import pytest
from builders import open_sites

from daybefore.web.extract import ExtractionError
from daybefore.web.pages import GatewayError

NAMES = ("clemson", "weather_bwi", "geomagnetic", "i94_hours", "oil_brent", "wikipedia_views")
DAYS = pd.date_range("2016-10-10", "2016-11-06", freq="2D")
HOURS = [f"{day:%Y-%m-%d}T{hour}:00:00+08:00" for day in DAYS for hour in (14, 18)]


@pytest.fixture(scope="module")
def few(sources):
    return {name: sources[name] for name in NAMES}


def try_all(crawler, names=NAMES, moments=HOURS):
    """Return what each crawl gave: the observations, or the status of its failure."""
    outcomes = {}
    for name in names:
        for moment in moments:
            try:
                outcomes[name, moment] = crawler.observe(name, moment)[0]
            except GatewayError as error:
                outcomes[name, moment] = error.status
            except ExtractionError:
                outcomes[name, moment] = "unreadable"
    return outcomes


def find_failures(sources, status, **faults):
    with open_sites(sources, **faults) as crawler:
        outcomes = try_all(crawler)
    assert {outcome for outcome in outcomes.values() if isinstance(outcome, str)} <= {status}
    return {key for key, outcome in outcomes.items() if isinstance(outcome, str)}


@pytest.mark.parametrize(("kind", "status"), [("outage", "down"), ("layout", "unreadable")])
def test_faults_have_their_share_and_their_seed(few, kind, status):
    struck = find_failures(few, status, seed=1, **{kind: 0.3})
    assert struck == find_failures(few, status, seed=1, **{kind: 0.3})
    assert struck != find_failures(few, status, seed=2, **{kind: 0.3})
    n_periods = len(NAMES) * (len(HOURS) if kind == "outage" else 4)
    assert abs(len(struck) / (len(NAMES) * len(HOURS)) - 0.3) < 3 * (0.21 / n_periods) ** 0.5
    assert not find_failures(few, status, seed=1, **{kind: 0.0})
    assert len(find_failures(few, status, seed=1, **{kind: 1.0})) == len(NAMES) * len(HOURS)


def test_a_wrong_charset_is_sent_and_read(sources):
    names = [name for name, source in sources.items() if not source.form == "market"]
    chosen = {name: sources[name] for name in names}
    with open_sites(chosen) as right, open_sites(chosen, charset=1.0) as wrong:
        pages = [world.fetch(sources["clemson"].address, HOURS[0]) for world in (right, wrong)]
        assert "°F" in pages[0].text
        assert pages[0].text == pages[1].text
        digests = [next(iter(world.pages.values()))["content_sha256"] for world in (right, wrong)]
        assert digests[0] != digests[1]
        for name in names:
            pd.testing.assert_frame_equal(
                right.observe(name, HOURS[0])[0], wrong.observe(name, HOURS[0])[0]
            )


def test_a_site_whose_rows_are_unsound_is_down_alone(few, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("daybefore.web.sources.ROOT", tmp_path)
    (tmp_path / "data/replay").mkdir(parents=True)
    (tmp_path / "data/replay/clemson.csv").write_text(
        "occurred_at,entity,tmax,tmin\n2016-10-01,Clemson,many,5\n"
    )
    (tmp_path / "data/replay/weather_bwi.csv").write_text("day;entity\n1;2\n")
    rows = "occurred_at,entity,kp_sum,ap\n2016-10-01,Earth,5,7\n"
    (tmp_path / "data/replay/geomagnetic.csv").write_text(rows)
    with open_sites({name: few[name] for name in NAMES}) as crawler:
        outcomes = try_all(
            crawler, ("clemson", "weather_bwi", "oil_brent", "geomagnetic"), HOURS[:1]
        )
    assert [outcome for outcome in outcomes.values() if isinstance(outcome, str)] == ["down"] * 3
    assert len(outcomes["geomagnetic", HOURS[0]]) == 2
    said = capsys.readouterr().err
    assert (
        all(site in said for site in ("clemson", "bwi.replay", "brent.replay"))
        and "Traceback" not in said
    )
