"""Faults of sites come in the stated share, the same for the same seed, and not at all when
switched off."""

import itertools

import pandas as pd
import pytest
from builders import open_sites

from daybefore.web.extract_values import ExtractionError
from daybefore.web.fetched_pages import GatewayError

NAMES = ("clemson", "weather_bwi", "geomagnetic", "oil_brent")
DAYS = pd.date_range("2016-10-10", "2016-11-06", freq="2D")
HOURS = [f"{day:%Y-%m-%d}T{hour}:00:00+08:00" for day in DAYS for hour in (14, 18)]


def try_all(web, names=NAMES, moments=HOURS):
    """Return what each crawl gave: the observations, or the status of its failure."""
    outcomes = {}
    for key in itertools.product(names, moments):
        try:
            outcomes[key] = web.observe(*key)[0]
        except GatewayError as error:
            outcomes[key] = error.status
        except ExtractionError:
            outcomes[key] = "unreadable"
    return outcomes


@pytest.mark.parametrize(
    ("kind", "status", "n_periods"), [("outage", "down", len(HOURS)), ("layout", "unreadable", 4)]
)
def test_faults_have_their_share_and_their_seed(sources, kind, status, n_periods):
    def find_failures(share, seed=1):
        with open_sites(sources, seed=seed, **{kind: share}) as web:
            outcomes = try_all(web)
        struck = {key for key, outcome in outcomes.items() if isinstance(outcome, str)}
        assert {outcomes[key] for key in struck} <= {status}
        return struck

    struck, n = find_failures(0.3), len(NAMES) * len(HOURS)
    assert struck == find_failures(0.3) != find_failures(0.3, seed=2)
    assert abs(len(struck) / n - 0.3) < 3 * (0.21 / n_periods / len(NAMES)) ** 0.5
    assert (len(find_failures(0.0)), len(find_failures(1.0))) == (0, n)


def test_a_wrong_charset_is_sent_and_read(sources):
    names = [name for name, source in sources.items() if source.form != "market"][::4]
    names.append("clemson")
    with open_sites(sources) as right, open_sites(sources, charset=1.0) as wrong:
        for name in names:
            pages = [world.fetch(sources[name].address, HOURS[0]) for world in (right, wrong)]
            assert pages[0].text == pages[1].text
            tables = [world.observe(name, HOURS[0])[0] for world in (right, wrong)]
            pd.testing.assert_frame_equal(*tables)
        assert "°F" in pages[0].text
        assert pages[0].page_id != pages[1].page_id, "other bytes"


def test_a_site_whose_rows_are_unsound_is_down_alone(sources, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("daybefore.web.source_registry.ROOT", tmp_path)
    (tmp_path / "data/replay").mkdir(parents=True)
    for name, text in {
        "clemson": "occurred_at,entity,tmax,tmin\n2016-10-01,Clemson,many,5\n",
        "weather_bwi": "day;entity\n1;2\n",
        "geomagnetic": "occurred_at,entity,kp_sum,ap\n2016-10-01,Earth,5,7\n",
    }.items():
        (tmp_path / f"data/replay/{name}.csv").write_text(text)
    with open_sites(sources) as web:
        names = ("clemson", "weather_bwi", "oil_brent", "geomagnetic")
        *wrong, right = try_all(web, names, HOURS[:1]).values()
    assert wrong == ["down"] * 3 and len(right) == 2
    said = capsys.readouterr().err
    assert all(site in said for site in ("clemson", "bwi.replay", "brent.replay"))
    assert "Traceback" not in said
