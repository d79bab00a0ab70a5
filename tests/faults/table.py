"""All that was thought of to break the kit, played: `make faults`, or `python -m faults.table
"words of a name" ...`.

Each fault is a function of a folder that returns what `judge` makes of it; it is played in a
process of its own, forked here, whose seconds and peak memory are taken. All rows go to
data/faults.json: what was done, how often, what must hold, what was seen; measurements stand apart,
since only they differ from run to run. Leaves with 1 where something did not hold. Nothing of the
user's is touched, nothing leaves this machine.
"""

import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import traceback

from builders import KEY, scan

from helpers.files import ROOT

FORK = multiprocessing.get_context("fork")
LIMIT_S = 900
"""Seconds after which a fault is given up, and has not held."""


def judge(n, faults, seen="", **measured):
    """Return a play's (n, held, seen, measured) from {what may be wrong: whether it is, or how
    often}."""
    found = [
        f"{fault} ({count})" if count is not True else fault
        for fault, count in faults.items()
        if count
    ]
    return n, not found, "; ".join(filter(None, [seen, *found])) or "as it must", measured


def measure_peak(*whose):
    """Return the most memory that processes have held, in MB: this one, and those it has waited
    for, by default."""
    whose = whose or (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    most = max(resource.getrusage(who).ru_maxrss for who in whose)
    return round(most / (1e6 if sys.platform == "darwin" else 1e3))


def run_apart(function, pipe):
    """Send what a fault's function returns, or what it raised, through a pipe, with its peak of
    memory."""
    os.setpgid(0, 0)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "OPENAI_API_KEY": KEY,
            "DAYBEFORE_OUT": folder,
        }  # the key is a canary, which no file may hold
        try:
            n, held, seen, measured = function(folder)
        except Exception:  # a fault that broke its own play has not held
            n, held, seen, measured = 1, False, traceback.format_exc()[-1500:], {}
        if told := scan(folder):
            held, seen = False, f"{seen}; the key stands in {', '.join(told)}"
        pipe.send((n, held, seen, {"peak_mb": measure_peak()} | measured))


def play_fault(function):
    """Return (n, held, seen, measured) of a fault, played in a fork of this process."""
    ours, theirs = FORK.Pipe(duplex=False)
    process, begun = FORK.Process(target=run_apart, args=(function, theirs)), time.perf_counter()
    process.start()
    theirs.close()
    try:
        n, held, seen, measured = (
            ours.recv() if ours.poll(LIMIT_S) else (1, False, f"no end in {LIMIT_S} s", {})
        )
    except EOFError:
        n, held, seen, measured = 1, False, "the process that played it died", {}
    seconds = round(time.perf_counter() - begun, 1)
    process.join(10)
    process.kill()
    return n, held, seen, {"seconds": seconds} | measured


def list_faults():
    """Return {family: {fault: (what must hold, function)}}, what they need imported before the
    first fork."""
    from faults import accidents, breaking, lying, making, mutated_pages

    lying.warm_up()
    return {
        **lying.PLAYS,
        **breaking.PLAYS,
        "make": making.PLAYS,
        "pages, paid runs": mutated_pages.PLAYS | accidents.PLAYS,
    }


def play_all(words):
    """Yield a row a fault whose name holds some of the words, telling each on standard error as it
    ends."""
    for family, faults in list_faults().items():
        for name, (must, function) in faults.items():
            if any(word in f"{family}: {name}" for word in words or [""]):
                n, held, seen, measured = play_fault(function)
                what = f"{measured['seconds']:6.1f} s {measured.get('peak_mb', 0):5} MB  {family}: {name}"
                print(
                    what if held else f"{what}\n    DID NOT HOLD: {seen}",
                    file=sys.stderr,
                    flush=True,
                )
                columns = {
                    "family": family,
                    "fault": name,
                    "n": n,
                    "must_hold": must,
                    "seen": seen,
                    "held": held,
                }
                yield columns | {"measured": measured}


def main(words):
    """Play the faults whose names hold some of the words; all, without words, which are kept in
    data/faults.json."""
    begun = time.perf_counter()
    rows = list(play_all(words))
    if not words:
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        (ROOT / "data/faults.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(
        f"{sum(row['held'] for row in rows)} of {len(rows)} held, in {time.perf_counter() - begun:.0f} s"
    )
    return int(not all(row["held"] for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
