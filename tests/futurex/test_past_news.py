"""What a search of window P finds and gives away, what news adds, and the habits that earn points without it."""

import os

import numpy as np
import pandas as pd
import pytest
from builders import make_past_row

from helpers.formats.futurex import build_events, screen_rows
from helpers.futurex import past_news
from helpers.futurex import past_scores as past_habits
from helpers.futurex.past_scores import ALL_OPTIONS
from helpers.public_files import MIRROR
from helpers.scoring.scores import score_predictions
from helpers.stats.paired import fill_predictions
from helpers.store import dump_json, parse_json

NAMES = ["Quillon Marsh", "Bessamy Torv", "Aldous Wrenfield", "Other"]


def build(*rows):
    return build_events(screen_rows(pd.DataFrame(rows))[0])


def name_regatta(n):
    """A question that shares no word with another, so that each is a cluster of its own."""
    return f"{'abcdefghijklmnopqrstuvwxyz'[n % 26] * 3}{'klmnopq'[n // 26] * 4}"


def predict(events, agent, choose, tell=None):
    """Return an agent's predictions: `choose(event)` gives the value, `tell` the probability of Yes."""
    rows = [
        {"event_id": e["event_id"], "agent_id": agent, "value": dump_json(choose(e))}
        | ({"distribution": dump_json({"A": tell(e), "B": 1 - tell(e)})} if tell else {})
        for e in events.to_dict("records")
    ]
    return fill_predictions(pd.DataFrame(rows))


# --- what news adds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("truth", "verdict"), [(0.6, "more"), (-0.6, "less"), (0.0, "cannot tell")])
def test_what_news_adds_is_found_with_each_verdict(truth, verdict):
    rng, names = np.random.default_rng(5), past_news.NEWS_AGENTS
    ids = [f"e{n}" for n in range(60)]
    base = rng.random(60) * 0.3 + 0.3
    matrix = pd.DataFrame({names["none"]: base, names["search"]: base + truth + rng.normal(0, 0.3, 60)}, ids)
    matrix[names["another"]] = base + rng.normal(0, 0.3, 60)
    touch, clusters = pd.Series(["most names", "no name", "some names"] * 20, ids), pd.Series(ids, ids)
    forms = pd.Series(["yes or no"] * 40 + ["one of several"] * 20, ids)
    table = past_news.compare_news(matrix, clusters, touch, forms).set_index(["comparison", "events"])
    assert table.loc[("search - none", "all"), "verdict"] == verdict
    assert table.loc[("another - none", "all"), "verdict"] == "cannot tell"
    assert table.loc["search - none", "n"].tolist() == [60, 20, 20, 20, 40, 20]
    assert table.loc["another - none", "n"].tolist() == [60, 40, 20] and (table["p_holm"] >= table["p"]).all()
    matrix.loc[ids[10:], names["another"]] = np.nan
    table = past_news.compare_news(matrix, clusters, touch, forms).set_index(["comparison", "events"])
    whole, controlled = table.loc["search - none"], table.loc["search - none, controlled"]
    assert whole.loc["all", "n"] == 60 and controlled["n"].tolist() == [10, 10], "all and yes or no"
    parts = [table.loc[(name, "all"), "difference"] for name in ("another - none", "search - another")]
    assert controlled.loc["all", "difference"] == pytest.approx(sum(parts))
    assert table.loc["another - none", "n"].tolist() == [10, 10]
    alone = past_news.compare_news(matrix.drop(columns=names["search"]), clusters, touch, forms)
    assert set(alone["comparison"]) == {"another - none"}
    assert past_news.compare_news(matrix[[names["none"]]], clusters, touch, forms).empty


# --- what the passages give away -------------------------------------------------------------------------------------


def make_passages(event, *texts):
    rows = [
        {"event_id": event["event_id"], "place": place, "page_id": f"n{place}", "url": f"http://news.replay/{place}"}
        | {"published_at": "2026-01-02T20:00:00+08:00", "text": text}
        for place, text in enumerate(texts, 1)
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def searched():
    """Two questions, and two passages found for each."""
    asked = "Who wins the Quillonia regatta of Bessamy?"
    rows = [make_past_row(0, event=asked, options=NAMES, answer="B"), make_past_row(1, event="Will Bessamy vote?")]
    events, answers = build(*rows)
    first, second = events.to_dict("records")
    texts = ["It rained.", "The regatta of Quillonia is won by Bessamy Torv."], ["It rained.", "Bessamy voted: yes."]
    passages = pd.concat([make_passages(first, *texts[0]), make_passages(second, *texts[1])], ignore_index=True)
    return events, answers, passages


def test_touched_questions_are_found(searched):
    events, answers, passages = searched
    rain = passages[passages["text"] == "It rained."]
    assert past_news.label_touch(events, passages).tolist() == ["most names", "most names"]
    assert past_news.label_touch(events, rain).tolist() == ["no name"] * 2
    about = past_news.list_about(events, answers, passages)
    assert about.values.tolist() == [[events["event_id"][1], 1]], "only of the one whose answer no text tells"
    assert past_news.list_about(events, answers, rain).empty


def test_answers_and_flags_in_passages_are_listed_by_ids_alone(searched):
    events, answers, passages = searched
    table, found = past_news.audit_window(events, answers, passages)
    table = table.set_index("event_id").loc[events["event_id"]]
    assert table["n_answers"].tolist() == [1, 0] and table["is_told"].tolist() == [True, False]
    assert table["n_passages"].tolist() == [2, 2] and table["n_news"].tolist() == [2, 2]
    assert found[["event_id", "page_id", "place"]].values.tolist() == [[events["event_id"][0], "n2", 2]]
    assert found["days_before"].tolist() == [(pd.Timestamp(events["as_of"][0][:10]) - pd.Timestamp("2026-01-02")).days]
    assert "Torv" not in table.to_csv() + found.to_csv()
    late = passages.assign(published_at="2026-01-19T20:00:00+08:00")
    assert past_news.audit_window(events, answers, late)[0]["later"].tolist() == [2, 2], "it sees a later page"


def test_the_answer_of_a_sibling_that_is_open_is_seen(searched):
    events, answers, passages = searched
    twin = events.iloc[[0]].assign(event_id="twin", cluster_id=events["cluster_id"][0])
    more = pd.concat([answers, answers.iloc[[0]].assign(event_id="twin")])
    table = past_news.audit_window(pd.concat([events, twin]), more, passages)[0].set_index("event_id")
    assert table.loc[events["event_id"][0], "sibling"] == 1 and table.loc["twin", "sibling"] == 0


def test_planted_answers_are_found_where_the_passage_speaks_of_the_question(searched):
    events, answers, passages = searched
    planted = past_news.plant_answers(events, answers, passages)
    assert planted.index.tolist() == [events["event_id"][0]], "yes and no cannot be planted"
    assert planted.iloc[0].tolist() == [1, 1, 1], "that passage states it already"
    rowing = build(make_past_row(0, event="Who rows for Quillonia in Zorvania?", options=NAMES, answer="B"))
    rain = past_news.plant_answers(*rowing, make_passages(rowing[0].iloc[0], "It rained."))
    assert rain.iloc[0].tolist() == [0, 1, 0], "beside rain no answer is found, beside the names the whole one is"


def test_shares_have_intervals_that_stay_on_their_scale():
    ids = [f"e{n}" for n in range(40)]
    few = past_news.share_events(pd.DataFrame({"told": [2, *[0] * 39]}, ids), pd.Series(ids, ids)).loc["told"]
    assert few["mean"] == 1 / 40 and 0 < few["low"] < few["mean"] < few["high"] < 0.2


@pytest.mark.skipif(
    not os.environ.get(MIRROR), reason="needs the public files: set KIT_DATA_MIRROR to a folder that holds them"
)
def test_the_readings_are_of_window_p():
    from helpers.futurex.past import build_past

    assert set(pd.read_csv(past_news.READINGS)["event_id"]) <= set(build_past()[0]["event_id"])


# --- habits ----------------------------------------------------------------------------------------------------------


def test_ticking_all_is_told_from_knowing_and_from_naming_one():
    several = {"options": list("uvwxyz"), "choice_type": "multi", "answer": "A, B"}
    events, answers = build(*(make_past_row(n, event=name_regatta(n), **several) for n in range(20)))
    right = answers.set_index("event_id")["value"].map(parse_json)
    parts = [fill_predictions(past_habits.tick_all(events)), predict(events, "one", lambda e: right[e["event_id"]][:1])]
    parts.append(predict(events, "oracle", lambda e: right[e["event_id"]]))
    predictions = pd.concat(parts, ignore_index=True)
    scores = score_predictions(predictions, answers, events)
    table = past_habits.tabulate_ticks(scores, predictions, events).set_index("agent_id")
    assert table.loc[ALL_OPTIONS, ["ticked", "ticked_all", "f1", "strict"]].tolist() == [1, 1, 0.5, 0]
    assert table.loc["one", ["ticked_all", "strict"]].tolist() == [0, 0.5]
    assert table.loc["oracle", ["f1", "strict", "more"]].tolist() == [1, 1, 0.5]
    assert table.loc["oracle", "verdict"] == "more" and np.isnan(table.loc[ALL_OPTIONS, "more"])


@pytest.fixture(scope="module")
def asked():
    """Eighty questions of yes or no, Yes right in every fourth."""
    return build(*[make_past_row(n, event=name_regatta(n), answer="AB"[n % 4 > 0]) for n in range(80)])


def test_who_says_yes_at_one_rate_is_told_from_who_knows(asked):
    events, answers = asked
    right = answers.set_index("event_id")["value"].map(parse_json)
    rng = np.random.default_rng(6)
    parts = [predict(events, "never", lambda e: "B"), predict(events, "coin", lambda e: "AB"[rng.random() < 0.5])]
    wrong = {"A": "B", "B": "A"}
    parts += [predict(events, "knows", lambda e: right[e["event_id"]] if rng.random() < 0.8 else "A")]
    parts += [predict(events, "errs", lambda e: wrong[right[e["event_id"]]] if rng.random() < 0.8 else "A")]
    said = past_habits.read_yes(pd.concat(parts, ignore_index=True), events)
    table = past_habits.tabulate_yes(said, events, answers).set_index("agent_id")
    assert (table["is_yes"] == 0.25).all() and table.loc["never", ["said", "tells"]].tolist() == [0, 0]
    words = {"never": "cannot tell", "coin": "cannot tell", "knows": "tells", "errs": "tells the wrong way"}
    assert table["verdict"].to_dict() == words
    knows = table.loc["knows"]
    assert knows["tells"] == pytest.approx(knows["of_yes"] - knows["of_no"]) and knows["low"] > 0


def test_probabilities_of_yes_are_weighed_on_the_questions_that_all_answered(asked):
    events, answers = asked
    tell = {"rate": lambda e: 0.25, "half": lambda e: 0.5, "sure": lambda e: 1.0}
    right = answers.set_index("event_id")["value"].map(parse_json)
    tell["knows"] = lambda e: 0.9 if right[e["event_id"]] == "A" else 0.1
    parts = [predict(events[: 40 if name == "half" else 80], name, lambda e: "A", tell[name]) for name in tell]
    chances = past_habits.list_yes_chances(pd.concat(parts, ignore_index=True), events, answers, [*tell, "absent"])
    table, bins = past_habits.weigh_yes(chances, events.set_index("event_id")["cluster_id"])
    table = table.set_index("agent_id")
    assert table["n"].eq(40).all() and table.loc["half", ["brier", "gain"]].tolist() == [0.25, 0]
    assert table["brier"].round(4).to_dict() == {"half": 0.25, "knows": 0.01, "rate": 0.1875, "sure": 0.75}
    words = {"half": "cannot tell", "knows": "better than half", "rate": "cannot tell", "sure": "worse than half"}
    assert table["verdict"].to_dict() == words
    assert bins.groupby("agent_id")["share"].agg(list)["knows"] == [0, 1] and len(bins) == 5
