"""`daybefore figures --agents "a b"` (make figures AGENTS=...): the papers' figures with agents of
one's own in them.

Of a set with runs of its own (other projects' agents, a reader's files by `daybefore add`) `--set
NAME` draws all of them. The committed notebooks that take `agents`, or such a set, run with these
names, each in a process of its own, into a folder of its own: figures with their csv, the notebooks
as they ran, a leaderboard, and an index page that opens from disk. No tracked file changes.
"""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from tqdm import tqdm

from daybefore.agents.when_asked import fill_asked
from daybefore.commands import leaderboard, print_tables
from daybefore.commands.compare import ADJUSTED, fit_adjusted
from daybefore.commands.own_runs_as_set import keep_runs
from daybefore.commands.probability_figure import draw_probabilities
from daybefore.commands.question_file import open_set
from daybefore.commands.terminal import show, tell
from daybefore.commands.worldreasoner_scores import tell_prices
from daybefore.formats.public_sets import PRICED
from daybefore.questions.open_sets import has_runs, read_window
from daybefore.scoring.calibration import list_chances
from daybefore.scoring.run_scores import (
    Scored,
    choose_runs,
    find_run,
    list_names,
    list_runs,
    load_scores,
    read_predictions,
)
from helpers.figures import use_style
from helpers.files import ROOT, STORE, locate_output, write_under
from helpers.folders import SETS, add_room, list_folders
from helpers.input_faults import write_count
from helpers.means import find_clusters, summarize_clustered
from helpers.set_names import QuestionSet, find_set, is_day, list_sets
from helpers.sets import load_set

REPLAY = ("october-2016", "june-2026", "october-2026")
"""Sets of the replay's questions: a notebook of one takes the others."""
MANY_NAMES = 6
"""Agents that a title names."""
MINUTES = 10
"""How long a notebook may take."""


class Ran(NamedTuple):
    """What came of a notebook: why it ended early, if it did, and how far it came; figures that
    hold no agent of the reader's, and what it printed on who is left out."""

    why: str
    extent: str = "not drawn"
    others: list[str] = []
    said: list[str] = []


def main(agents="", question_set=None, out=None):
    """Draw the agents named beside the baselines and the recorded models; returns what was written.

    `question_set` is a set's name or its folder's path, None for each set on which one of them has
    a run; of a set with runs of its own all are drawn where none is named. Raises ValueError for a
    name that is none, with the nearest.
    """
    names = list_names(agents)
    add_room(locate_output(f"{SETS[1]}/any").parent)
    chosen = question_set and open_set(str(question_set))
    if chosen and has_runs(chosen):
        folder = print_tables.open_folder(out, "results", names or [chosen.name]) / chosen.name
        return {"agents": names, "sets": {chosen.name: draw_set(names, chosen, folder)}}
    if not names:
        raise ValueError(
            "name agents: --agents 'my_model other_model', or --set a set with runs of its own, as blf"
        )
    every = list_runs()
    window = chosen and chosen.window
    for name in names:
        find_run(every, name, window)
    known = [
        (run.window, name) for run in every for name in names if name in (run.agent_id, run.run_id)
    ]
    found, failed = {}, []
    for one in [chosen] if chosen else list_drawn(sorted({key for key, _ in known})):
        folder = print_tables.open_folder(out, "results", names) / one.name
        own = [name for name in names if (one.window, name) in known]
        try:
            found[one.name] = draw_set(own, one, folder)
        except (ValueError, FileNotFoundError) as problem:  # the other sets are drawn all the same
            failed.append(problem)
            tell(f"{one.name} is not drawn: {problem}")
    if failed and not found:
        raise failed[0]
    return {"agents": names, "sets": found}


def list_drawn(windows: list[str]) -> list[QuestionSet]:
    """Return the sets of some runs' windows; questions of `planted`, `moments`, or Python are none,
    which is said."""
    known = {one.window for one in list_sets()}
    found = [find_set(window) for window in windows if window in known or is_day(window)]
    if others := [window for window in windows if window not in {one.window for one in found}]:
        told = "pages that lie, moments and questions asked from Python"
        tell(f"not drawn, as {told} are no question set: {', '.join(others)}")
    return found


def draw_set(names, one, folder):
    """Draw the figures of one question set into a folder, with leaderboard.csv (every mean with its
    interval), the same in short as markdown, and an index page; returns what was written.
    """
    scored = load_scores(one.folder or one.name, names)
    if has_runs(one) and load_set(one.folder).runs.empty:
        one = keep_runs(one, scored, folder)  # questions of one's own, asked on this machine
    chosen, drawn_names = list_notebooks(one), shlex.join(names)
    if has_runs(one):
        names = list(dict.fromkeys(scored.runs["agent_id"]))
    shutil.rmtree(folder / "figures", ignore_errors=True)
    (folder / "figures").mkdir(parents=True)
    means, board, best = rank_agents(scored, folder)
    notes = describe_shared(one, names, scored) + describe_board(scored, means, names, one)
    sections = draw_stated(scored, [*names, *best], one, folder, means)
    agents, notebooks = write_count(len(names), "agent"), write_count(len(chosen), "notebook")
    told = f"{one.name}: {agents} in {notebooks} ..."
    if not chosen:
        there = "here are the leaderboard and what stated probabilities are worth"
        told = f"no notebook draws agents on {one.name}: {there}"
        notes.append(told)
    tell(told)
    said, refused = run_notebooks(chosen, drawn_names, names, folder)
    notes += said
    if one.name in REPLAY:
        notes += copy_trials(names, folder)
    sections = {"Leaderboard": ([*notes, leaderboard.LEGEND], board)} | sections
    if refused:
        sections["Not drawn"] = (refused, None)
    title = f"{name_agents(names)} on {one.name}"
    files = ["leaderboard.md", "leaderboard.csv", "leaderboard.tex"]
    drawn, page, _ = print_tables.write_page(
        folder, title, sections, files=files, markdown="leaderboard.md"
    )
    show(f"{title}: {write_count(len(drawn), 'figure')}; open in a browser:\n{page}")
    tell("\n".join(refused))
    return {"folder": str(folder), "figures": drawn, "refused": refused, "notes": notes}


def name_agents(names):
    """Return agents' names as a title has them, of many how many they are."""
    if len(names) > MANY_NAMES:
        return f"{len(names)} runs"
    return ("; " if "," in str(names[0]) else ", ").join(names)


def rank_agents(scored, folder):
    """Write a leaderboard's files; return (its means, itself with adjusted means, the best baseline
    in a list, empty without one)."""
    baselines = list(scored.runs.loc[scored.runs["category"] == "baseline", "agent_id"])
    means, board = leaderboard.write_board(folder, scored.scores, scored.events, baselines)
    every = sorted(scored.scores["agent_id"].unique())
    adjusted = fit_adjusted(scored.scores, scored.events, every)[1]
    told = adjusted.apply(lambda row: print_tables.write_interval(*row), axis=1)
    board["adjusted"] = board["agent"].map(told)
    brier = leaderboard.take_whole(means, "brier").reindex(baselines)["mean"].dropna()
    return means, board, list(brier.sort_values().index[:1])


def describe_board(scored, means, names, one):
    """Return sentences on what a leaderboard's columns rest on, and which agents have no overall
    score."""
    notes = [print_tables.describe_intervals(scored.events)]
    if scored.runs["category"].eq("baseline").any():
        notes.append("lead: over the best baseline, on the events that both answered")
    notes.append(ADJUSTED)
    left = "so it is left out of the figures of overall scores and levels"
    if one.name in REPLAY:
        due = means[means["agent_id"].isin(names) & means["note"].ne("") & means["mean"].isna()]
        rows = due[["agent_id", "note"]].to_numpy()
        notes += [f"{name}: {note}; {left}" for name, note in rows]
    return notes


def run_notebooks(chosen, drawn_names, names, folder):
    """Run the notebooks of `list_notebooks` two at a time; return (sentences on who is left out of
    which figure, sentences on what is not drawn and why)."""
    with ThreadPoolExecutor(2) as pool:
        ran = pool.map(
            lambda path: run_notebook(path, fill_agents(chosen[path], drawn_names), folder), chosen
        )
        ran = list(tqdm(ran, total=len(chosen), unit="notebook", disable=not chosen or None))
    shutil.rmtree(folder / "work", ignore_errors=True)
    notes, refused = [], []
    for path, found in zip(chosen, ran, strict=True):
        if found.why:
            refused.append(f"{path.stem} is {found.extent}: {found.why}")
        said = [line for line in found.said if any(str(name) in line for name in names)]
        notes += [f"{path.stem}: {line}" for line in said]
        if found.others:
            told = "also draws what does not depend on them; see figures/"
            notes.append(f"{path.stem} {told}: {', '.join(found.others)}")
    return notes, refused


def copy_trials(names, folder):
    """Copy Proof of Time's figure of the agents whose trials were recorded; return sentences on the
    others."""
    notes = []
    for name in names:
        place = ROOT / "data/studies/42_your_agent" / name / "figures"
        trials = list(place.glob("proof_of_time_solvers.*"))
        for path in trials:
            shutil.copy(path, folder / "figures" / f"proof_of_time_{name}{path.suffix}")
        if not trials:
            command = f'make study NOTEBOOK=42_your_agent ARGS="-p agent {name}"'
            notes.append(
                f"{name}: Proof of Time's accuracy by message limit is not drawn before {command}"
            )
    return notes


def describe_shared(one: QuestionSet, names: list[str], scored: Scored) -> list[str]:
    """Return sentences on the events that agents are ranked on, and on who was not asked them and
    is left out."""
    if has_runs(one):
        asked, answered = (
            rows.groupby("agent_id")["event_id"].agg(frozenset)
            for rows in (scored.predictions, scored.predictions.dropna(subset="value"))
        )
        if answered.nunique() == 1 and len(answered) == len(asked):
            return [f"all means are over the same {len(answered.iloc[0]):,} events"]
        of = "asked different events" if asked.nunique() > 1 else "not answered by all alike"
        return [f"the means are of events that were {of}: compare by `adjusted`, and not by mean"]
    n, shown, beside = len(scored.events), set(scored.runs["agent_id"]), choose_runs(one, names)
    asked = read_predictions(beside).groupby("agent_id")["event_id"].nunique()
    notes = [
        f"all scores are over the {n:,} events that {', '.join(names)} were asked, the baselines' too"
    ]
    own = asked.reindex([run.label for run in beside if {run.run_id, run.agent_id} & set(names)])
    if own.max() > n:
        told = ", ".join(f"{name} {count:,}" for name, count in own.items())
        notes.append(f"asked in all: {told}; with fewer agents more events can be shared")
    left = [run.label for run in beside if run.label not in shown]
    return notes + [
        f"{name} is left out: it was asked {asked[name]:,} events, not all of these"
        for name in left
    ]


def draw_stated(scored, shown, one, folder, means):
    """Draw the Brier errors and the calibration of agents that give probabilities; return sections
    of the page.

    `shown` are the agents that stand on the figure. Where the set has prices the skill against them
    is a section.
    """
    rows, answers = (
        scored.predictions[scored.predictions["agent_id"].isin(shown)],
        read_window("answers", one.window),
    )
    chances, (clusters, by) = (
        list_chances(scored.events, answers, rows),
        find_clusters(scored.events),
    )
    if chances.empty:
        return {
            "Probabilities": (
                ["none was given: probabilities = true in an agent's table asks for them"],
                None,
            )
        }
    about = {
        "source": "runs, answers",
        "window": one.window,
        "status": "as given",
        "widths": f"95%, by {by}",
    }
    with write_under(folder):
        use_style()
        draw_probabilities(means[means["agent_id"].isin(shown)], chances, clusters, **about)
    if has_runs(one):
        return tabulate_skill(one)
    if one.window not in PRICED:
        return {}
    own = scored.runs[scored.runs["is_own"] & scored.runs["agent_id"].isin(shown)]
    moment = fill_asked(own.iloc[0].to_dict()).horizon
    text, table = tell_prices(scored.events, answers, rows, one.window, moment)[2:]
    return {"Skill against the market's price": ([text], table)}


# --- notebooks --------------------------------------------------------------------------------------


def list_notebooks(one, folder=ROOT / "notebooks"):
    """Return {path: the parameters to give} of the notebooks that show agents on a question set.

    Those of a set of the replay take its other sets; those whose own set has runs of its own take
    every such set. `agents` is blank where a notebook takes it. One with a `replay_set` beside its
    `question_set` draws agents on that.
    """
    found = {}
    for path in sorted(folder.glob("[0-9]*.ipynb")):
        known = read_parameters(path)
        takes = {"agents": ""} if "agents" in known else {}
        name = "question_set"
        if "replay_set" in known and not has_runs(one):
            name = "replay_set"
        elif "replay_set" in known:
            takes = {}
        own = known.get(name, "")
        if takes_set(own, one, bool(takes)):
            found[path] = takes | ({name: str(name_place(one))} if own else {})
    return found


def takes_set(own, one, takes_agents):
    """Tell whether a notebook whose question set is `own` ("" for none) shows agents on another."""
    if has_runs(one):
        return bool(own) and is_recorded(own)
    return takes_agents and (own == one.name or not own or {own, one.name} <= set(REPLAY))


def is_recorded(name):
    """Tell whether a name is that of a set with runs of its own."""
    try:
        return has_runs(find_set(name))
    except ValueError:
        return False


def name_place(one):
    """Return what a notebook finds a set by: its name, or the path of a folder elsewhere."""
    return one.name if list_folders().get(one.name) == one.folder else one.folder or one.name


def fill_agents(parameters, names):
    """Return a notebook's parameters with the agents' names, where it takes them."""
    return parameters | ({"agents": names} if "agents" in parameters else {})


def tabulate_skill(one):
    """Return a section with each run's Brier error beside the price's on the same questions; {}
    without prices."""
    loaded = load_set(one.folder)
    if loaded.prices.empty:
        return {}
    rows = loaded.rows().dropna(subset=["brier", "brier_price"])
    rows = rows.assign(skill=rows["brier_price"] - rows["brier"])
    matrix = rows.pivot_table(index="event_id", columns="agent_id", values="skill")
    clusters = loaded.events.set_index("event_id")[loaded.about["unit"]]
    table = summarize_clustered(matrix, clusters, ends=(-1, 1)).rename_axis("agent").reset_index()
    shown = table[["agent", "mean", "low", "high", "n", "n_clusters"]].round(4)
    text = "the price's Brier error minus the agent's, on the questions that have both (above 0: better than the price)"
    return {"Skill against the market's price": ([text], shown)}


def read_parameters(path):
    """Return the parameters of a notebook with their defaults, {} where it has none."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if "parameters" in cell["metadata"].get("tags", ()):
            lines = [
                line
                for line in ast.parse("".join(cell["source"])).body
                if isinstance(line, ast.AnnAssign)
            ]
            return {line.target.id: ast.literal_eval(line.value) for line in lines}
    return {}


def run_notebook(path, parameters, folder):
    """Run a notebook with some parameters into a folder; returns what came of it (`Ran`).

    A figure whose numbers are those of the committed one holds nothing of these agents: it is left
    there.
    """
    work, made = folder / "work" / path.stem, folder / "notebooks" / path.name
    for place in (work, made.parent):
        place.mkdir(parents=True, exist_ok=True)
    given = [part for name, value in parameters.items() for part in ("-r", name, value)]
    command = [
        sys.executable,
        "-m",
        "papermill",
        "--no-progress-bar",
        "--cwd",
        str(ROOT / "notebooks"),
        *given,
    ]
    house = {"JUPYTER_PATH": str(ROOT / ".ci/jupyter"), "JUPYTER_PREFER_ENV_PATH": "1"}
    house |= {"DAYBEFORE_STORE": str(locate_output(STORE)), "DAYBEFORE_OUT": str(work.resolve())}
    house["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")])
    )
    try:
        limit = {"timeout": 60 * MINUTES, "env": os.environ | house}
        done = subprocess.run(
            [*command, str(path), str(made)], capture_output=True, text=True, check=False, **limit
        )
    except subprocess.TimeoutExpired:
        return Ran(f"it took more than {MINUTES} minutes")
    is_other = parameters != {name: read_parameters(path)[name] for name in parameters}
    drawn = sorted((work / "figures").rglob("*.csv"))
    others = [table.stem for table in drawn if is_other and is_committed(table)]
    for file in sorted((work / "figures").rglob("*.*")):
        if file.suffix in (".png", ".svg", ".csv") and file.stem not in others:
            shutil.move(file, folder / "figures" / file.name)
    shutil.rmtree(work)
    why = describe_failure(done.stderr) if done.returncode else ""
    extent = "drawn in part" if len(drawn) > len(others) else "not drawn"
    return Ran(why, extent, others, read_said(made))


def is_committed(table):
    """Tell whether a figure's numbers are those of the figure of this name that is in figures/."""
    kept = ROOT / "figures" / table.name
    return kept.exists() and kept.read_bytes() == table.read_bytes()


def read_said(path):
    """Return the lines that a notebook printed on who is left out of its figures."""
    if not path.exists():
        return []
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    printed = [
        output
        for cell in cells
        for output in cell.get("outputs", ())
        if output.get("name") == "stdout"
    ]
    lines = [line for output in printed for line in "".join(output["text"]).splitlines()]
    return [line for line in lines if line.startswith("left out")]


def describe_failure(trace):
    r"""Return the sentence that a notebook's run ended with, without what kind of exception said
    it.

    >>> describe_failure("Traceback ...\nValueError: mine answered 15 events; a level needs 25\n")
    'mine answered 15 events; a level needs 25'
    """
    said = re.findall(
        r"^(?:\w+(?:Error|Exception): )(.+)$", re.sub(r"\x1b\[[0-9;]*m", "", trace), re.MULTILINE
    )
    return said[-1] if said else trace.strip()[-200:] or "it ended without a word"
