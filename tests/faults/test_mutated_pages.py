"""A short run of the mutator; `make faults` does the long one."""

from faults import mutated_pages
from faults.mutated_pages import MAX_PAGE_S, MUTATIONS, mutate_pages


def test_no_mutated_page_is_more_than_its_sources_failure():
    rows = mutate_pages(200)
    counts = rows["outcome"].value_counts()
    assert set(counts.index) == {"read", "refused"}, "nothing escapes"
    assert counts.min() > 50, "mutations are neither all harmless nor all fatal"
    assert set(rows["mutation"]) == set(MUTATIONS) and rows["source_id"].nunique() == 51
    assert rows["seconds"].max() < MAX_PAGE_S
    assert set(rows.loc[rows["mutation"] == "empty", "outcome"]) == {"refused"}, "an empty page is no success"


def test_an_escape_would_be_seen(monkeypatch):
    monkeypatch.setattr("helpers.web.session.extract_page", lambda source, text: {}[source.id])
    outcomes = mutated_pages.mutate_pages(20)["outcome"]
    assert outcomes.str.startswith("KeyError").all()
