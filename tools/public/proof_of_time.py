"""Proof of Time's nine tasks from public lists: labels and the answers of rules and models, without
any text (3.3).

Needs the public files of `FILES`; the instances' prompts and evidence are made in a temporary
folder, checked for leaks, and left there: of each instance only id, task, source, cutoff and
letters are kept. `python -m public.proof_of_time FOLDER` writes them for a study (notebook 41):
FOLDER/public.jsonl, and evidence files beside it; `FOLDER AGENT MINUTES` puts an agent with tools
to them as well, whose turns stay in data/runs/store.sqlite (git ignores it) and whose answers and
counts are kept (`TRIALS`).
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from daybefore.agents.registry import open_agent
from helpers.files import dump_json, locate_output
from helpers.public_files import locate_public
from public import pot_lists as lists
from studies.futurex.public_leaderboard import flatten_board, load_frameworks
from studies.futurex.public_leaderboard_findings import convert_history
from studies.proof_of_time import rule_solvers as rules
from studies.proof_of_time import trials
from studies.proof_of_time.evidence import check_instances
from studies.proof_of_time.instance_scores import DESCRIBED, describe_instances

SEED = 59
N_CITED, N_TIER, N_PEOPLE = 100, 30, 120
"""Most instances of a task on citations, of an award tier, of a task on people."""
FILES = {
    "accepted": "proof_of_time/emnlp_accepted_2021_2024.csv.gz",
    "awards": "proof_of_time/awards.csv",
    "citations": "proof_of_time/nlp_citations_2025.csv.gz",
    "arena": "frontier/lmarena_text_overall_2023_2025.csv",
    "swe_bench": "frontier/swe_bench_dated_results.csv",
    "aider": "frontier/aider_polyglot.yml",
    "futurex": "futurex/leaderboard.json",
    "forecastbench": "forecastbench/leaderboard_baseline_history.csv",
}
SOURCES = dict.fromkeys(["proof_of_time_instances", "proof_of_time_asked"], list(FILES.values()))
RUNS = {"qwen_zero_shot": "41_public", "smollm2_zero_shot": "41_public_smollm2"}
"""Whose answers are recorded, with the question alone, and where: of replies to public texts values
alone are kept."""
N_ASKED, SAMPLE_SEED = 200, 40
"""How many instances are aimed at (those recorded count); the sample is notebook 41's."""
TRIALS, N_TRIALS, HEAT = "data/proof_of_time/public_trials.csv", 100, 0.8
"""What is kept of an agent with tools, the instances it is put to, and its temperature: at 0 a
small model goes round in circles."""


def read_lists():
    """Return (accepted papers, citation counts, {board: results}) of the public files."""
    paths = {name: locate_public(file) for name, file in FILES.items()}
    fields = lists.load_fields()
    accepted = lists.load_accepted(
        pd.read_csv(paths["accepted"]), pd.read_csv(paths["awards"]), fields
    )
    board = flatten_board(
        json.loads(paths["futurex"].read_text(encoding="utf-8")), load_frameworks()
    )
    results = {
        "arena": lists.list_arena(pd.read_csv(paths["arena"], index_col=0)),
        "swe_bench": lists.list_swe_bench(pd.read_csv(paths["swe_bench"])),
        "aider": lists.list_aider(yaml.safe_load(paths["aider"].read_text(encoding="utf-8"))),
        "futurex": lists.list_futurex(board),
        "forecastbench": lists.list_forecastbench(
            convert_history(pd.read_csv(paths["forecastbench"]))
        ),
    }
    return accepted, lists.tidy_counts(pd.read_csv(paths["citations"])), results


def build_instances(accepted, counts, results, folder):
    """Return the instances as {part: list}, their evidence below `folder`; raises LeakError where
    any of it leaks.

    Of replies to them values alone are kept: their words are not ours to pass on.
    """
    rng = np.random.default_rng(SEED)
    fields = lists.load_fields()
    parts = {"cited": lists.build_citations(counts, rng, folder, N_CITED)}
    parts["tiered"] = lists.build_awards(accepted, rng, folder, N_TIER)
    parts["people"] = lists.build_people(accepted, fields, rng, folder, N_PEOPLE)
    parts["boards"] = lists.build_frontier(**results, rng=rng, folder=folder)
    check_instances(sum(parts.values(), []), folder)
    marked = {"keeps": "values"}
    return {
        name: [one._replace(metadata=one.metadata | marked) for one in part]
        for name, part in parts.items()
    }


def answer_instances(parts, accepted, results):
    """Return the solvers' answers on people and boards: id, and a column each of
    `rule_solvers.SOLVERS`."""
    rows = rules.answer_people(parts["people"], accepted)
    names = {one.metadata["source"] for one in parts["boards"]}
    tables = {name: results["futurex"] for name in names if name.startswith("futurex")}
    tables |= {"lmarena": results["arena"], "aider_polyglot": results["aider"]}
    tables |= {name: results[name] for name in ("swe_bench", "forecastbench")}
    rows += rules.answer_frontier(parts["boards"], tables, {"lmarena": lists.win_games})
    table = pd.DataFrame(rows, columns=["id", "solver", "answer"]).fillna({"answer": "none"})
    return table.pivot(index="id", columns="solver", values="answer").reindex(columns=rules.SOLVERS)


def replay_asked(instances, folder):
    """Return what recorded models answered to a sample of instances: id, agent, status, answer,
    seconds, n_input_tokens.

    An order is one text, as a target is; what is not recorded is left out.
    """
    sample, parts = trials.sample_instances(instances, N_ASKED, SAMPLE_SEED), []
    for agent, run_id in RUNS.items():
        with open_agent(agent, run_id) as client:
            made = trials.run_trials(
                client, sample, folder, trials.list_cells(["zero_shot"]), {"zero_shot": N_ASKED}
            )
        parts.append(made[made["status"] != "missing"].assign(agent=agent))
    made = join_orders(pd.concat(parts, ignore_index=True))
    return made[["id", "agent", "status", "answer", "seconds", "n_input_tokens"]]


def join_orders(made):
    """Return trials whose answers are texts, an order too."""
    answers = ["".join(answer) if isinstance(answer, list) else answer for answer in made["answer"]]
    return made.assign(answer=answers)


def build():
    """Return proof_of_time_instances: DESCRIBED, variant, and each solver's answer (blank: nothing
    to read); and proof_of_time_asked (`replay_asked`).
    """
    accepted, counts, results = read_lists()
    with tempfile.TemporaryDirectory() as folder:
        parts = build_instances(accepted, counts, results, folder)
        answers = answer_instances(parts, accepted, results)
        instances = sum(parts.values(), [])
        asked = replay_asked(instances, folder)
    table = describe_instances(instances).assign(variant=[one.variant for one in instances])
    table = table[[*DESCRIBED, "variant"]].merge(
        answers.reset_index(), on="id", how="left", validate="one_to_one"
    )
    return {"proof_of_time_instances": table, "proof_of_time_asked": asked}


def record_trials(instances, folder, agent, minutes, n=N_TRIALS):
    """Put an agent with tools to the first `n` of the sample, in the paper's loop at its three
    limits, drawn by chance; keep what holds no text as TRIALS."""
    sample, cells = (
        trials.sample_instances(instances, n, SAMPLE_SEED),
        trials.list_cells(["agentic"]),
    )
    about = "Proof of Time's public instances, with tools"
    with open_agent(agent, "41_public_agent", live=True, minutes=minutes, about=about) as client:
        warm = client._replace(options=client.options | {"temperature": HEAT})
        keep_trials(trials.run_trials(warm, sample, folder, cells, {"agentic": n}), agent)


def keep_trials(made, agent):
    """Write trials that were recorded as TRIALS, an instance only where it was at all limits."""
    whole = made["status"].ne("missing").groupby(made["id"]).transform("all")
    made = join_orders(made[whole]).drop(columns=["steps", "method"]).assign(agent=agent)
    made.round(1).to_csv(locate_output(TRIALS), index=False, lineterminator="\n")


def main(folder, agent=None, minutes=10):
    """Write the instances to folder/public.jsonl, a line each, and their evidence files into the
    folder.

    An `agent` is put to them with tools, for so many minutes at most (`record_trials`).
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    instances = sum(build_instances(*read_lists(), folder).values(), [])
    lines = [dump_json(one._asdict()) + "\n" for one in instances]
    Path(folder, "public.jsonl").write_text("".join(lines), encoding="utf-8")
    print(f"{len(instances)} instances: {folder}/public.jsonl")
    if agent:
        record_trials(instances, folder, agent, float(minutes))


if __name__ == "__main__":
    main(*sys.argv[1:])
