"""Curation: decoys are rejected for the right reason, judges are held against planted truth, proposals are checked."""

import json
import tomllib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from builders import open_sites

from helpers.events.filters import judge_harmful, screen_event
from helpers.futurex.curation import (
    DECOYS,
    FAULTS,
    FORM,
    Decoy,
    DecoySites,
    Visit,
    draw_pages,
    find_figures,
    judge_page,
    screen_pages,
    visit_candidates,
)
from helpers.futurex.curation import visit_page as visit
from helpers.futurex.proposals import (
    LABELS,
    build_judge,
    check_distractor,
    check_template,
    collect_proposals,
    draw_events,
    draw_public,
    rate_answers,
    rate_distractors,
    read_labels,
)
from helpers.models.judges import Verdict
from helpers.stats.agreement import count_share
from helpers.store import ROOT
from helpers.web.pages import Page
from helpers.web.session import Web

MOMENTS = [f"2016-10-{day}T00:00:00+08:00" for day in (10, 17, 24, 31)]
PLANTED = tomllib.loads((ROOT / "data/curation/planted.toml").read_text(encoding="utf-8"))["question"]


@pytest.fixture(scope="module")
def candidates(sources):
    """The same source's page as it is and with each fault, as candidates in that order."""
    source = sources["tweet_counts"]
    decoys = [Decoy(kind, source, np.random.default_rng(1)) for kind in DECOYS]
    with open_sites({source.id: source}) as world:
        return visit_candidates([source], decoys, world, MOMENTS)


def make_consult(reply, asked=None):
    """A model that replies with `reply(prompt)`, None for a reply that is missing."""

    def consult(prompt, schema, repeat=0):
        if asked is not None:
            asked.append(prompt)
        value = reply(prompt)
        return Verdict("ok" if value else "missing", value)

    return consult


FINE = {name: words[0] for name, words in FORM.items()}
LAST = {"moving_address": {"dates": "uneven"}, "hidden_content": {"copied": "most"}}  # a later fault does not count


@pytest.mark.parametrize("kind", ["fine", *DECOYS])
def test_the_rule_gives_each_page_its_own_reason(candidates, kind):
    rows = screen_pages(candidates).set_index("truth")
    assert rows.loc[kind, "reason"] == kind
    assert rows.loc[kind, "is_accepted"] == (kind == "fine")


def make_visits(*days):
    text = " ".join(f"{day} {n}.5" for n, day in enumerate(days))
    texts = [text.rsplit(" ", 2)[0], text]
    return [Visit("m", "http://a.replay/", shown, find_figures(shown), shown) for shown in texts]


@pytest.mark.parametrize(
    "days, reason",
    [
        (["2016-10-06", "2016-10-07", "2016-10-10", "2016-10-11", "2016-10-14"], "fine"),  # rests at weekends
        (["2016-09-18", "2016-09-25", "2016-10-02", "2016-10-09"], "fine"),  # weekly
        (["2016-10-01", "2016-10-02", "2016-10-03", "2016-10-16", "2016-10-17"], "irregular_updates"),
    ],
)
def test_uneven_steps_are_long_ones_that_are_not_usual(days, reason):
    assert judge_page("http://a.replay/", make_visits(*days))[0] == reason


def test_a_page_that_is_away_is_rejected(sources):
    visits = visit(Web(DecoySites([])), "http://nowhere.replay/", MOMENTS[:1])
    assert judge_page("http://nowhere.replay/", visits)[0] == "moving_address"


@pytest.mark.parametrize(
    ("text", "content_type"),
    [
        ("", "text/html"),
        (f"<p {' '.join(f'a{n}' for n in range(9000))}>9 October 2016: 3", "text/html"),
        ("<table><tr><td>" * 90 + "9 October 2016: 3", "text/html"),
        ("x " * 1_100_000, "application/json"),
    ],
    ids=["empty", "attributes", "deep", "large"],
)
def test_a_page_beyond_what_is_read_shows_nothing(text, content_type):
    page = Page("p1", "http://a.replay/", MOMENTS[0], content_type, text)
    visits = visit(SimpleNamespace(fetch=lambda *_: page), page.url, MOMENTS[:2])
    assert [visit[1:] for visit in visits] == [(page.url, "", frozenset(), "")] * 2
    assert judge_page(page.url, visits) == ("no_figures", "no dated figures")


def test_a_model_sees_the_address_and_never_the_truth(candidates):
    asked = []
    rows = screen_pages(candidates, make_consult(lambda prompt: FINE, asked))
    assert rows.loc[rows["judge"] == "model", "is_accepted"].all() and len(asked) == len(candidates)
    shown = ["\n".join(prompt.splitlines()[6:]) for prompt in asked]  # without the form's words
    assert not any(kind in text or "decoy" in text for text in shown for kind in DECOYS)
    assert "issue-" in shown[1] and "100% of its figures are on tweet_counts" in shown[-1]


@pytest.mark.parametrize("kind", ["fine", *DECOYS])
def test_a_models_form_gives_its_first_fault(candidates, kind):
    faults = {fault: {name: word} for (name, word), fault in FAULTS.items()}
    rows = screen_pages(candidates[:1], make_consult(lambda prompt: FINE | faults.get(kind, {}) | LAST.get(kind, {})))
    model = rows[rows["judge"] == "model"].iloc[0]
    assert (model["reason"], model["is_accepted"]) == (kind, kind == "fine")


def test_a_missing_reply_is_no_verdict(candidates):
    rows = screen_pages(candidates[:2], make_consult(lambda prompt: None))
    assert rows.loc[rows["judge"] == "model", "is_accepted"].tolist() == [None, None]


def test_pages_are_drawn_by_kind_and_without_the_market(sources):
    good, decoys = draw_pages(sources, np.random.default_rng(0), 12, 2)
    assert len(good) == 12 and [decoy.kind for decoy in decoys] == [kind for kind in DECOYS for _ in range(2)]
    copied = {decoy.source.id for decoy in decoys if decoy.kind == "duplicate"}
    names = {source.id for source in good}
    assert copied <= names and not names & {decoy.source.id for decoy in decoys if decoy.kind != "duplicate"}
    made_of = [decoy.source.id for decoy in decoys if decoy.kind != "duplicate"]
    assert len(set(made_of)) == len(made_of)
    every, _ = draw_pages(sources, np.random.default_rng(0), len(sources), 0)
    assert {source.id for source in every} == set(sources) - {"market"}
    with pytest.raises(ValueError, match="only 0 daily sources to make 9"):
        draw_pages({name: sources[name] for name in sorted(names)}, np.random.default_rng(0), 12, 9)


def make_event(text, **options):
    return {"event_id": "e", "question_id": "e", "prompt": text, "options": options}


@pytest.mark.parametrize("rule, is_dropped", [("any", True), ("majority", True), ("all", False)])
def test_a_planted_harmful_question_is_flagged_by_the_ensemble(rule, is_dropped):
    harmful = {row["text"] for row in PLANTED if row["meant"] == "harmful"}

    def read(prompt):
        flag = "yes" if any(text in prompt for text in harmful) else "no"
        return {"harmful": flag, "subjective": "no"}

    judges = {"words": judge_harmful}
    judges |= {name: build_judge(make_consult(read), name, "harmful") for name in ("question", "question_again")}
    planted = next(row for row in PLANTED if row["meant"] == "harmful")
    row = screen_event(make_event(planted["text"]), "harmful", judges, rule)
    assert row["is_dropped"] == is_dropped  # two of three flag it: the words do not
    assert not screen_event(make_event("What will a barrel cost?"), "harmful", judges, rule)["is_dropped"]


def test_samples_are_seeded_and_stratified():
    texts = [f"Will {n} rise?" for n in range(20)] + [f"Is {n} the best film?" for n in range(5)]
    questions = pd.DataFrame({"question_id": [f"q{n:02}" for n in range(25)], "prompt": texts})
    drawn = draw_public(questions, np.random.default_rng(3), 10, 3)
    assert drawn["stratum"].value_counts().to_dict() == {"random": 10, "charged": 3}
    assert (
        drawn["question_id"].is_unique and drawn.loc[drawn["stratum"] == "charged", "prompt"].str.contains("best").all()
    )
    assert draw_public(questions[::-1], np.random.default_rng(3), 10, 3).equals(drawn)
    events = pd.DataFrame({"event_id": list("cab"), "source_id": ["s", "s", "t"]})
    assert draw_events(events, np.random.default_rng(0), 2, "source_id")["event_id"].tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="only 2 events"):
        draw_events(events, np.random.default_rng(0), 3, "source_id")


def test_labels_hold_ids_and_no_public_text(tmp_path):
    labels = read_labels()
    source = labels["source"].str.split(" ").str[0]
    assert source.value_counts().to_dict() == {"ForecastBench": 60, "window": 40, "planted": 20}
    assert not labels["question_id"].str.contains(r"\?|\s").any() and labels["note"].str.len().max() < 90
    meant = {row["id"]: row["meant"] for row in PLANTED}
    planted = labels[source == "planted"]
    for flag, name in (("is_harmful", "harmful"), ("is_subjective", "subjective")):
        assert planted.loc[planted["question_id"].map(meant) == name, flag].all()
        assert not planted.loc[planted["question_id"].map(meant) == "look_alike", flag].any()
    path = tmp_path / "questions.csv"
    pd.concat([labels, labels[:1]]).to_csv(path, index=False)
    with pytest.raises(ValueError, match=f"{labels['question_id'][0]} stands in row 2 already"):
        read_labels(path)
    labels.drop(columns="note").to_csv(path, index=False)
    with pytest.raises(ValueError, match=LABELS[0]):
        read_labels(path)


@pytest.fixture(scope="module")
def observed(sources):
    with open_sites({"clemson": sources["clemson"]}) as world:
        return world.observe("clemson", MOMENTS[0])[0]


GOOD = {"quantity": "the maximum temperature in °F", "entity": "Clemson", "date": "2016-10-08", "value": "71"}
GOOD |= {"question": "What will the maximum temperature be on {date}?"}


@pytest.mark.parametrize(
    "change, passed",
    [
        ({}, ["form", "scrape", "answer"]),
        ({"question": "What was it on 8 October?"}, []),
        ({"question": "What will {date} be on {date}?"}, []),
        ({"quantity": "snow"}, ["form"]),
        ({"date": "2016-12-24"}, ["form"]),
        ({"value": "67"}, ["form", "scrape"]),  # the minimum of that day
        ({"value": "seventy"}, ["form", "scrape"]),
    ],
)
def test_a_template_counts_only_as_far_as_it_is_checked(sources, observed, change, passed):
    checks = check_template(GOOD | change, sources["clemson"], observed)
    assert [name for name in ("form", "scrape", "answer") if checks[name]] == passed
    assert bool(checks["note"]) == (len(passed) < 3)


@pytest.mark.parametrize(
    "text, verdict",
    [
        ("SEK", "ok"),
        (" usd ", "repeats an option"),
        ("CHF", "could be right"),
        ("Swedish krona", "another form"),
        ("1.20", "another form"),
        (" ", "empty"),
    ],
)
def test_a_distractor_is_new_wrong_and_of_the_same_form(text, verdict):
    event = {"options": json.dumps({"A": "USD", "B": "ZAR"})}
    assert check_distractor(text, event, known={"USD", "ZAR", "CHF"}) == verdict


@pytest.fixture(scope="module")
def site(sources):
    with open_sites({"clemson": sources["clemson"]}) as world:
        yield world


def test_proposals_are_scraped_at_the_moment_of_the_page(site):
    consult = make_consult(lambda prompt: GOOD | {"date": "2016-10-08"})
    table = collect_proposals(consult, [site.sources["clemson"]], site, MOMENTS[0])
    assert table.loc[0, ["status", "form", "scrape", "answer"]].tolist() == ["ok", True, True, True]
    later = collect_proposals(
        make_consult(lambda p: GOOD | {"date": "2016-10-20"}), [site.sources["clemson"]], site, MOMENTS[0]
    )
    assert not later.loc[0, "scrape"]
    silent = collect_proposals(make_consult(lambda prompt: None), site.sources.values(), site, MOMENTS[0])
    assert silent.loc[0, "status"] == "missing"


def test_distractors_are_checked_against_the_page(site):
    event = {"event_id": "e", "source_id": "clemson", "as_of": MOMENTS[0], "prompt": "Where?"}
    event["options"] = json.dumps({"A": "Lincoln", "B": "Baltimore"})
    said = {"first": "Clemson", "second": "Oslo"}
    table = rate_distractors(make_consult(lambda prompt: said), pd.DataFrame([event]), site)
    assert table["check"].tolist() == ["could be right", "ok"]
    silent = rate_distractors(make_consult(lambda prompt: None), pd.DataFrame([event]), site)
    assert silent["check"].tolist() == ["missing"] and silent["text"].tolist() == [""]


def test_answers_are_read_from_the_page_that_the_rule_read(site):
    event = {"event_id": "e", "source_id": "clemson", "variables": json.dumps({"date": "2016-10-08"})}
    event["prompt"] = "What will the maximum temperature at Clemson be on 8 October 2016?"
    answers = pd.DataFrame([{"event_id": "e", "value": "71.0", "acquired_at": MOMENTS[0]}])
    asked = []
    consult = make_consult(lambda prompt: {"found": "yes", "value": "71"}, asked)
    row = rate_answers(consult, pd.DataFrame([event]), answers, site).iloc[0]
    assert (
        row["is_equal"] and row["is_shown"] and "8 October 2016, the maximum temperature at Clemson was 71" in asked[0]
    )
    answers["value"] = "999.0"
    row = rate_answers(consult, pd.DataFrame([event]), answers, site).iloc[0]
    assert not row["is_equal"] and not row["is_shown"]
    silent = rate_answers(make_consult(lambda prompt: None), pd.DataFrame([event]), answers, site)
    assert silent["is_equal"].tolist() == [None] and count_share(silent["is_equal"])["n"] == 0
