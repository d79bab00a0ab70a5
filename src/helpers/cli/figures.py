"""`daybefore figures --agents "a b"` (make figures AGENTS=...): the papers' figures with agents of one's own in them.

The committed notebooks that take `agents` run with these names, each in a process of its own, into a folder of its own:
figures with their csv, the notebooks as they ran, a leaderboard, and an index page that opens from disk. No tracked
file changes.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
from tqdm import tqdm

from helpers.cli import report
from helpers.cli.compare import ADJUSTED, add_baselines, find_moment, fit_adjusted
from helpers.cli.conditions import tell_prices
from helpers.cli.main import show, tell
from helpers.cli.score import draw_probabilities
from helpers.figures import use_style
from helpers.futurex.past import PRICED, read_window
from helpers.question_sets import find_set
from helpers.scoring.runs import Scored, find_run, list_names, list_runs, load_scores, read_predictions, read_rows
from helpers.scoring.scores import score_predictions
from helpers.stats.calibration import list_chances
from helpers.stats.means import find_clusters
from helpers.store import ROOT, STORE, locate_output, write_under

REPLAY = ("october-2016", "june-2026", "october-2026")
"""Sets of the replay's questions: a notebook of one takes the others."""
MINUTES = 10
"""How long a notebook may take."""


def read_parameters(path):
    """Return the parameters of a notebook with their defaults, {} where it has none."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if "parameters" in cell["metadata"].get("tags", ()):
            lines = [line for line in ast.parse("".join(cell["source"])).body if hasattr(line, "value")]
            names = [(line.targets[0] if isinstance(line, ast.Assign) else line.target).id for line in lines]
            return {name: ast.literal_eval(line.value) for name, line in zip(names, lines, strict=True)}
    return {}


def list_notebooks(question_set, folder=ROOT / "notebooks"):
    """Return {path: the parameters to give, but agents} of the notebooks that show agents on a question set."""
    found = {}
    for path in sorted(folder.glob("[0-9]*.ipynb")):
        if "agents" in (known := read_parameters(path)):
            own = known.get("question_set", "")
            if own == question_set or not own or {own, question_set} <= set(REPLAY):
                found[path] = {"question_set": question_set} if own else {}
    return found


def run_notebook(path, parameters, folder):
    """Run a notebook with some parameters into a folder; returns "", or why it could not be, in a sentence."""
    work, made = folder / "work" / path.stem, folder / "notebooks" / path.name
    for place in (work, made.parent):
        place.mkdir(parents=True, exist_ok=True)
    given = [part for name, value in parameters.items() for part in ("-r", name, value)]
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", "--cwd", str(ROOT / "notebooks"), *given]
    house = {"JUPYTER_PATH": str(ROOT / ".ci/jupyter"), "JUPYTER_PREFER_ENV_PATH": "1"}
    house |= {"DAYBEFORE_STORE": str(locate_output(STORE)), "DAYBEFORE_OUT": str(work.resolve())}
    house["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    try:
        limit = {"timeout": 60 * MINUTES, "env": os.environ | house}
        done = subprocess.run([*command, str(path), str(made)], capture_output=True, text=True, check=False, **limit)
    except subprocess.TimeoutExpired:
        return f"it took more than {MINUTES} minutes"
    for file in sorted((work / "figures").rglob("*.*")):
        if file.suffix in (".png", ".csv"):
            shutil.move(file, folder / "figures" / file.name)
    shutil.rmtree(work)
    return describe_failure(done.stderr) if done.returncode else ""


def describe_failure(trace):
    r"""Return the sentence that a notebook's run ended with, without what kind of exception said it.

    >>> describe_failure("Traceback ...\nValueError: mine answered 15 events; a level needs 25\n")
    'mine answered 15 events; a level needs 25'
    """
    said = re.findall(r"^(?:\w+(?:Error|Exception): )(.+)$", re.sub(r"\x1b\[[0-9;]*m", "", trace), re.MULTILINE)
    return said[-1] if said else trace.strip()[-200:] or "it ended without a word"


def choose_sets(every, names, question_set):
    """Return the names of the sets to draw, of all runs there are: the one asked for, else those of an agent's runs.

    Raises ValueError for an agent that none of them has, with the nearest.
    """
    known = [run for run in every if {run.agent_id, run.run_id} & set(names)]
    sets = [find_set(question_set)] if question_set else [find_set(name) for name in sorted({r.window for r in known})]
    for name in names:
        if question_set or not any(name in (run.agent_id, run.run_id) for run in known):
            find_run(every, name, sets[0].window if sets else "A")
    return [one.name for one in sets]


def load_runs(question_set, names):
    """Return the `Scored` of a set with agents: beside the recorded models, of a public set beside the baselines."""
    one = find_set(question_set)
    if not one.is_public:
        return load_scores(question_set, names)
    every = list_runs()
    chosen = [find_run(every, name, one.window)[0] for name in names]
    chosen += add_baselines(every, chosen, chosen[0].condition)
    events, answers = (read_window(name, one.window) for name in ("events", "answers"))
    predictions = read_predictions(chosen)
    events = events[events["event_id"].isin(predictions["event_id"])]
    runs = pd.concat([read_rows("runs", run).assign(is_own=True) for run in chosen], ignore_index=True)
    return Scored(events, runs, predictions, score_predictions(predictions, answers, events))


def draw_stated(scored, shown, question_set, folder, means):
    """Draw the Brier errors and the calibration of agents that give probabilities; return sections of the page.

    `shown` are the agents that stand on the figure. Where the set has prices the skill against them is a section.
    """
    window, rows = find_set(question_set).window, scored.predictions[scored.predictions["agent_id"].isin(shown)]
    answers, (clusters, by) = read_window("answers", window), find_clusters(scored.events)
    chances = list_chances(scored.events, answers, rows)
    if chances.empty:
        return {"Probabilities": (["none was given: probabilities = true in an agent's table asks for them"], None)}
    about = {"source": "runs, answers", "window": window, "status": "as given"}
    with write_under(folder):
        use_style()
        draw_probabilities(means[means["agent_id"].isin(shown)], chances, clusters, about, f"95%, by {by}")
    if window not in PRICED:
        return {}
    own = scored.runs[scored.runs["is_own"] & scored.runs["agent_id"].isin(shown)]
    moment = find_moment(own["condition"].fillna("").iloc[0]).removeprefix("asked at ") or "Mid"
    _, _, text, table = tell_prices(scored.events, answers, rows, window, moment)
    return {"Skill against the market's price": ([text], table)}


def take_trials(names, folder):
    """Put Proof of Time's figure of each agent into a folder, where its trials were recorded; say what is not there."""
    notes = []
    for name in names:
        found = sorted((ROOT / "data/studies/41_solvers" / name / "figures").glob("proof_of_time_solvers.*"))
        for path in found:
            shutil.copy(path, folder / f"proof_of_time_{name}{path.suffix}")
        if not found:
            command = f'make study NOTEBOOK=41_solvers ARGS="-p agent {name}"'
            notes.append(f"{name}: Proof of Time's accuracy by message limit is not drawn before {command}")
    return notes


def main(agents, question_set=None, out=None):
    """Draw the agents named beside the baselines and the recorded models; returns what was written.

    `question_set` is a set's name, None for each set on which one of them has a run. Raises ValueError for a name that
    is none, with the nearest.
    """
    names = list_names(agents)
    if not names:
        raise ValueError("name agents: --agents 'my_model other_model'")
    found, every = {}, list_runs()
    for name in choose_sets(every, names, question_set):
        folder = report.open_folder(out, "results", names) / name
        window = find_set(name).window
        known = {key for run in every if run.window == window for key in (run.agent_id, run.run_id)}
        found[name] = draw_set([one for one in names if one in known], name, folder)
    return {"agents": names, "sets": found}


def draw_set(names, question_set, folder):
    """Draw the figures of one question set into a folder, with leaderboard.csv (every mean with its interval), the same
    in short as markdown, and an index page; returns what was written.
    """
    scored, chosen = load_runs(question_set, names), list_notebooks(question_set)
    shutil.rmtree(folder / "figures", ignore_errors=True)
    (folder / "figures").mkdir(parents=True)
    baselines = list(scored.runs.loc[scored.runs["category"] == "baseline", "agent_id"])
    means, board = report.write_board(folder, scored.scores, scored.events, baselines)
    told = "lead: over the best baseline, on the events that both answered; where agents were asked different events,"
    notes = [
        report.describe_intervals(scored.events),
        f"{told} compare by it or by `adjusted`, and not by mean",
        ADJUSTED,
    ]
    adjusted = fit_adjusted(scored.scores, scored.events, sorted(scored.scores["agent_id"].unique()))[1]
    board["adjusted"] = board["agent"].map(adjusted.apply(lambda row: report.write_interval(*row), axis=1))
    due = means[means["agent_id"].isin(names) & means["note"].ne("") & means["mean"].isna()]
    left = "so it is left out of the figures of overall scores and levels"
    notes += [f"{name}: {note}; {left}" for name, note in due[["agent_id", "note"]].to_numpy()]
    best = report.take_whole(means, "brier").reindex(baselines)["mean"].dropna().sort_values().index[:1]
    stated = draw_stated(scored, [*names, *best], question_set, folder, means)
    tell(f"{question_set}: {', '.join(names)} in {len(chosen)} notebooks ..." * bool(chosen))
    given = {"agents": " ".join(names)}
    with ThreadPoolExecutor(2) as pool:
        ran = pool.map(lambda path: run_notebook(path, given | chosen[path], folder), chosen)
        problems = dict(zip([path.stem for path in chosen], tqdm(ran, total=len(chosen), unit="notebook"), strict=True))
    shutil.rmtree(folder / "work", ignore_errors=True)
    notes += [] if find_set(question_set).is_public else take_trials(names, folder / "figures")
    refused, title = [f"{name} is not drawn: {why}" for name, why in problems.items() if why], f"{', '.join(names)} on "
    sections = (
        {"Leaderboard": ([*notes, report.LEGEND], board)} | stated | ({"Not drawn": (refused, None)} if refused else {})
    )
    page = {"files": ["leaderboard.md", "leaderboard.csv"], "markdown": "leaderboard.md"}
    drawn, page, _ = report.write_page(folder, title + question_set, sections, **page)
    show(f"{title}{question_set}: {len(drawn)} figures; open in a browser:\n{page}")
    tell("\n".join(refused))
    return {"folder": str(folder), "figures": drawn, "refused": refused, "notes": notes}
