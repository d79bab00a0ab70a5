import pandas as pd
import pytest

from helpers.sets import list_folders, load_set, read_settings, take_usual, write_set

ABOUT = 'title = "A set"\nsource = "a test"\nretrieved = "2026-11-28"\n'


def make_set(folder, about=ABOUT):
    folder.mkdir(parents=True)
    (folder / "set.toml").write_text(about)
    tables = {
        "events": pd.DataFrame(
            {"event_id": ["1", "2"], "cluster_id": ["1", "2"], "kind": "single"}
        ),
        "answers": pd.DataFrame(
            {"event_id": ["1", "2"], "value": ['"A"', '"B"'], "outcome": [1, 0]}
        ),
        "runs": pd.DataFrame({"run_id": ["r"], "agent_id": ["an agent"], "model": ["m"]}),
        "predictions": pd.DataFrame(
            {
                "run_id": "r",
                "event_id": ["1", "2"],
                "sample": 0,
                "status": ["ok", "over_budget"],
                "p_yes": [0.8, None],
                "p_filled": [None, 0.5],
            }
        ),
    }
    return folder, tables


@pytest.fixture
def loaded(tmp_path):
    folder, tables = make_set(tmp_path / "mine")
    write_set(folder, tables)
    return load_set(folder)


@pytest.mark.filterwarnings("error")
def test_a_folder_anywhere_is_a_set_and_a_filled_row_of_it_is_no_forecast_and_is_counted(loaded):
    assert loaded.name == "mine" and list(loaded.events["event_id"]) == ["1", "2"]
    first, second = loaded.rows().sort_values("event_id").to_dict("records")
    assert first["brier"] == pytest.approx(0.04) and first["correct"] == 1
    assert first["distribution"] == '{"A":0.8,"B":0.2}' and first["probability"] == 0.8
    assert not second["is_forecast"] and pd.isna(second["brier"]) and pd.isna(second["correct"])
    assert second["brier_filled"] == 0.25
    blank = loaded.rows()[["effort", "variant", "domain"]]
    assert blank.fillna("high").eq("high").all(axis=None), "a blank column takes words unwarned"
    assert loaded.coverage().loc[0, ["n_asked", "n_forecasts", "coverage"]].tolist() == [2, 1, 0.5]


def test_the_same_rows_are_the_same_bytes(tmp_path):
    first, tables = make_set(tmp_path / "a")
    second, _ = make_set(tmp_path / "b")
    paths = zip(write_set(first, tables), write_set(second, tables), strict=True)
    assert all(one.read_bytes() == other.read_bytes() for one, other in paths)


@pytest.mark.parametrize(
    ("about", "words"),
    [(ABOUT, "no licence"), (f'{ABOUT}licence = "none stated"\n', "may_commit is not true")],
)
def test_without_a_licence_a_set_is_used_and_not_committed(about, words, tmp_path):
    folder, tables = make_set(tmp_path / "data/sets/mine", about)
    with pytest.raises(ValueError, match=words):
        write_set(folder, tables)
    assert not list(folder.glob("*.gz"))
    elsewhere, _ = make_set(tmp_path / "mine", about)
    write_set(elsewhere, tables)
    assert len(load_set(elsewhere).events) == 2


def test_a_prediction_of_no_event_is_refused_and_nothing_written(tmp_path):
    folder, tables = make_set(tmp_path / "mine")
    tables["predictions"] = tables["predictions"].replace({"event_id": {"2": "3"}})
    with pytest.raises(ValueError, match="mine, predictions: 3 is in no row of events"):
        write_set(folder, tables)
    assert not list(folder.glob("*.gz"))


def test_a_set_toml_with_a_fault_names_file_and_field(tmp_path):
    folder, _ = make_set(tmp_path / "mine", ABOUT.replace("title", "titel"))
    with pytest.raises(
        ValueError, match="set.toml: title is missing\n.*titel is unknown; did you mean title"
    ):
        load_set(folder)


def test_an_unknown_name_is_told_with_the_nearest():
    with pytest.raises(ValueError, match="there is no question set 'bfl'; did you mean blf"):
        load_set("bfl")


def test_sets_of_the_repository_have_a_licence():
    for name, folder in list_folders().items():
        about = read_settings(folder / "set.toml")
        if about.get("may_commit"):  # the rows of the others are built on a reader's machine
            assert about["licence"]
            assert about["unit"] in load_set(name).events


def test_what_a_set_lacks_is_one_sentence(loaded):
    assert len(loaded.need("a mean", "brier")) == 2
    with pytest.raises(ValueError, match="Figure 8 needs level; the set mine has none"):
        loaded.need("Figure 8", "brier", "level")


def test_a_set_that_says_nothing_on_arms_has_usual_ones(tmp_path):
    folder, tables = make_set(tmp_path / "mine")
    tables["predictions"] = tables["predictions"].drop(columns="p_filled")
    write_set(folder, tables)
    loaded = load_set(folder)
    rows = loaded.rows()
    assert (
        rows[["uses_tools", "round", "search", "sees_price", "keeps_beliefs", "variant"]]
        .isna()
        .all(axis=None)
    )
    assert rows["brier_filled"].isna().tolist() == [False, True], "nothing was filled in"
    kept = take_usual(rows)
    assert len(kept) == 2 and kept["forecaster"].eq("an agent").all()
    about = {
        "window": "mine",
        "status": "as given",
        "source": "a test",
        "unit": "questions",
        "dates": "",
        "n": 2,
    }
    assert loaded.describe(rows) == about, "no dates in it"


def test_arms_of_a_model_are_named_and_unusual_ones_left_out():
    arms = [
        ("none", "high", True, None),
        ("dated", "high", True, None),
        ("undated", "high", True, None),
        ("dated", "low", True, None),
        ("dated", "high", False, None),
        ("dated", "high", True, "another prompt"),
    ]
    rows = pd.DataFrame(arms, columns=["search", "effort", "keeps_beliefs", "variant"])
    rows = rows.assign(model="m", agent_id="a", run_id=list("abcdef"), sees_price=False)
    rows["uses_tools"] = rows["search"].eq("dated")
    assert take_usual(rows)["forecaster"].tolist() == ["m", "m + search"]
    bare = rows.assign(uses_tools=False, search=["dated", *[None] * 5]).head(2)
    assert len(take_usual(bare)) == 2, "search without tools, where the set has no other"
    provided = rows.head(1).assign(search="provider", effort=None, uses_tools=None)
    assert take_usual(provided)["forecaster"].tolist() == ["m + search"]
    twice = pd.concat([provided, provided.assign(run_id="z", agent_id="b")])
    assert take_usual(twice)["forecaster"].tolist() == ["a", "b"], "two runs are never one point"
