"""Scripted runs with a planted failure (synthetic): what a labeller must find again (Tables 4, 5, 10 and 11).

Each is a trace of our table as `solvers` or a public log would leave it, on a made-up question of four papers; names,
numbers, paths and wordings are drawn. The words are this module's own, and none of a real run's.
"""

from itertools import product

import numpy as np
import pandas as pd

from helpers.proof_of_time.taxonomies import ENDLESS, FAILURES, FLAGS
from helpers.stats.intervals import measure_share
from helpers.store import check_table, dump_json

SLIP = 0.4
"""Share of runs that first look at a wrong place; half of it: that a search fails before it works."""

OPTIONS = ("A", "B", "C", "D")
THEMES = ("harbour cranes", "ice cores", "tram timetables", "bee dances", "clay pots", "river gauges", "bell ringing")
FILES = ("papers.csv", "evidence.jsonl", "history.csv", "items.json")
LOOK = (
    "ls /evidence",
    "ls -la /evidence",
    "find /evidence -type f",
    "wc -l /evidence/{file}",
    "head -n 3 /evidence/{file}",
)
SEEK = (
    "grep -n '{theme}' /evidence/{file}",
    "awk -F, '/{theme}/ {{print $3}}' /evidence/{file} # search",
    "import csv; print([row for row in csv.reader(open('/evidence/{file}')) if '{theme}' in row[0]])",
    "import pandas as pd; t = pd.read_csv('/evidence/{file}'); print(t[t.title.str.contains('{theme}')])",
)
STEPS = (
    "sort -t, -k3 papers.csv | tail",
    "cut -d, -f2 authors.csv | uniq -c",
    "python mean.py by year",
    "jq .venue items.json",
    "awk 'NR < 9' history.csv",
    "join papers.csv authors.csv",
    "print(t.groupby('venue').counts.median())",
    "print(t.corr())",
    "plot = t.hist(bins=20)",
    "comm -12 one.txt two.txt",
    "tr a-z A-Z < notes.md",
    "print(rank(t.title.str.len()))",
    "diff early.csv late.csv",
    "zcat old.gz | nl",
)
"""Calls that are each another step of some work."""
ROWS = ("{n}: on {theme}, cited {k} times", "{theme};{n};{k}", "title={theme} year={n} counts={k}")
ABSENT = ("cat: /data/{file}: No such file or directory", "FileNotFoundError: [Errno 2] No such file: '{file}'")
BROKEN = (
    "Traceback (most recent call last):\nModuleNotFoundError: No module named 'pandas'",
    "bash: line 1: jq: command not found",
    "(it was ended: it passed the limit of memory)",
    "Permission denied",
)
THINK = (
    "I look at what there is.",
    "Next I compare the papers.",
    "Let me see more of it.",
    "I go on.",
    "Now the other years.",
)
ARGUE = (
    "A topic with a large audience should draw more readers, so I take {letter}.",
    "The authors of {letter} are well known, and I weigh that most.",
    "Older themes fade; {letter} is the newest, so it should win.",
)
LOST = (
    "I was unable to find a record of it.",
    "There is no entry for any of the four.",
    "I could not find the counts.",
)
MISREAD = (
    "The file says {wrong} for {letter}.",
    "The table lists {wrong} times for it.",
    "It shows {wrong}, the most.",
)
OTHER_TASK = (
    "These four texts share a theme of measurement, and I would sum them up as work on public life and old crafts.",
    "Here is the translation that was wanted: four titles about water, bees and bells, put into plain words.",
    "To improve the writing I would shorten every title and put the method first, then the data.",
)
LOOSE = (
    "Either {letter} or {other}.",
    "{letter} (though {other} comes close)",
    "Probably {letter}, in my opinion",
    "{letter}, {other}",
)
UNCLEAR = (
    "It is unclear which year is meant.",
    "The question is ambiguous: cited by whom?",
    "This could mean two things; there are two readings of it.",
)
TYPED = ("submit({letter})", "python(code='print(1)')", "submit: {letter}", 'bash("ls")')
GUESS = ("I have no way to know, so I guess.", "I am not sure; I pick one.", "At random, then.")
FOREIGN = {
    "misread": (
        "According to the table it was {wrong}.",
        "{wrong} citations for {letter}, per the file.",
        "So {wrong} it is.",
    ),
    "ambiguity": (
        "Whose citations, and until when?",
        "I wonder what is being asked.",
        "Do they want the sum or the year?",
    ),
    "luck": ("Could be any of them; {letter} then.", "Let fate decide.", "My gut goes for {letter}."),
    "verification": (
        "A second look, before I answer.",
        "Let me see whether that holds.",
        "I look again to make certain.",
    ),
}
"""The same meant in words that no rule names: how much the rules hang on wording."""
CHECKED = ("I verify this once more.", "To confirm, I look at the row again.", "I double-check the number.")


class Script:
    """A run being written: `say` and `call` add turns; every draw is from one generator, so a seed is a run."""

    def __init__(self, rng, is_foreign=False):
        self.rng, self.steps, self.is_foreign = rng, [], is_foreign
        letter, other = rng.choice(OPTIONS, 2, replace=False)
        theme, file = rng.choice(THEMES), rng.choice(FILES)
        n, k = int(rng.integers(2001, 2025)), int(rng.integers(3, 90))
        self.words = {"letter": letter, "other": other, "theme": theme, "file": file, "n": n, "k": k, "wrong": k + 1000}
        titles = ", ".join(f"{option}: on {name}" for option, name in zip(OPTIONS, THEMES, strict=False))
        self.add("prompt", content=f"Which paper is cited most? {titles}. Answer with one letter.")

    def add(self, step_type, **columns):
        """Add a step."""
        self.steps.append({"step_type": step_type} | columns)

    def pick(self, texts):
        """Return one of some texts, filled in."""
        return str(self.rng.choice(texts)).format(**self.words)

    def say(self, texts, meant=None):
        """Write a turn; one that is `meant` to show something is in words that no rule names, in a foreign run."""
        self.add("model", content=self.pick(FOREIGN[meant] if meant and self.is_foreign else texts))

    def call(self, asked, results, error=None):
        """Make a call of a tool and get one of some results; a theme of its own each time."""
        self.words["theme"] = str(self.rng.choice(THEMES))
        self.words["n"] = int(self.rng.integers(2001, 2025))
        asked = self.pick(asked) if not isinstance(asked, str) else asked
        tool = "python" if "import" in asked else "bash"
        self.add("model", content=f"{tool}({dump_json({'script': asked})})")
        self.add("tool", tool=tool, arguments=dump_json({"script": asked}), content=self.pick(results), error=error)

    def look(self):
        """Look around, as nearly every run begins; at a wrong place first, as many do."""
        if self.rng.random() < SLIP:
            self.call("cat /data/{file}".format(**self.words), ABSENT)
        self.call(LOOK, [f"{name}\nREADME.md" for name in FILES])

    def seek(self, n):
        """Look for something `n` times, with success."""
        for theme in self.rng.permutation(THEMES)[:n]:
            if self.rng.random() < SLIP / 2:
                self.call(SEEK, [*BROKEN, ""])
            asked = str(self.rng.choice(SEEK)).format(**self.words | {"theme": theme})
            self.call(f"{asked} # {self.rng.integers(10**6)}", ROWS)

    def close(self, status, answer=None):
        """Return the run's rows; `status` says how it ended."""
        turns = sum(step["step_type"] == "model" for step in self.steps)
        self.add("count", content=dump_json({"status": status, "n_turns": turns}))
        self.add("answer" if status == "ok" else "end", content=answer)
        return self.steps


def write_wrong(script, label):
    """Write a run that ends with a wrong answer for a planted reason."""
    script.look()
    if label == "retrieval":
        script.say(THINK)
        for _ in range(script.rng.integers(2, 5)):
            script.call(SEEK, [*ABSENT, *BROKEN, "", "(it printed nothing)"])
        if script.rng.random() < 0.5:
            script.say(LOST)
    elif label == "stopped_early":
        script.seek(int(script.rng.integers(0, 2)))
    else:
        script.seek(int(script.rng.integers(2, 5)))
    if label == "reasoning":
        script.say(ARGUE)
    if label == "misread":
        script.say(MISREAD, "misread")
    endings = {"format": LOOSE, "misunderstanding": OTHER_TASK}
    plain = ["\\boxed{{{letter}}}", "I have decided.\n{letter}"]
    answer = script.pick(endings.get(label, plain))
    return script.close("ok", answer)


def write_endless(script, label):
    """Write a run that its message limit ended, for a planted reason."""
    n = int(script.rng.integers(9, 14))
    if label in ("looping", "budget_looping"):
        write_circles(script, n, label)
    elif label == "budget":
        script.look()
        for step in script.rng.permutation(STEPS)[:n]:
            script.call(str(step), ROWS)
    elif label == "tooling":
        write_tooling(script, n)
    elif label == "missing_resource":
        script.look()
        for step in script.rng.permutation(STEPS)[:n]:
            script.call(f"{step} /data/{script.words['file']}", ABSENT)
    elif label == "ambiguity":
        script.look()
        for _ in range(n // 2):
            script.say(UNCLEAR, "ambiguity")
            script.say(THINK) if script.rng.random() < 0.3 else None
    else:
        script.look()
        script.say(THINK)
    return script.close("message_limit")


def write_circles(script, n, label):
    """Write a run that does the same again and again: says it, without a tool, or calls it, at first or at the end."""
    if label == "looping" and script.rng.random() < 0.5:
        text = script.pick(["The answer is {letter}.", "{letter}", "I settle on {letter} now."])
        for _ in range(n):
            script.say([text])
        return
    is_first = label == "looping"
    script.look() if is_first else script.seek(3)
    asked = script.pick(SEEK)
    for _ in range(n - (4 if is_first else 3)):
        script.call(asked, ROWS)
    if is_first:
        script.seek(4)


def write_tooling(script, n):
    """Write a run whose tools fail, or whose calls are written as text."""
    if script.rng.random() < 0.4:
        for _ in range(n):
            script.say(TYPED)
        return
    for name in script.rng.permutation(STEPS)[:n]:
        script.call(f"import tools; {name}", BROKEN)


def write_correct(script, flags):
    """Write a right run that shows some of FLAGS, and the others not."""
    letter = script.words["letter"]
    script.look() if "luck" not in flags or "unsupported" not in flags else script.say(THINK)
    held = ROWS if "unsupported" in flags else [f"{row} {letter}" for row in ROWS]
    asked = script.pick(SEEK)
    script.call(asked, held)
    if "redundancy" in flags:
        script.call(asked, held)
    if "verification" in flags:
        script.say(CHECKED, "verification")
    if "luck" in flags:
        script.say(GUESS, "luck")
    return script.close("ok", f"\\boxed{{{letter}}}")


def write_runs(seed, n=40, is_foreign=False):
    """Return scripted runs: traces, and truth (run_id, event_id, sample, status, score, stratum, label, flags).

    `n` of each failure and each way not to end, and a quarter of it of right runs for each set of flags; `is_foreign`:
    what words must tell is said in words that no rule names.
    """
    plans = [("wrong", label, write_wrong, 0.0) for label in FAILURES]
    plans += [("incomplete", label, write_endless, None) for label in ENDLESS]
    sets = [
        tuple(name for name, is_on in zip(FLAGS, on, strict=True) if is_on) for on in product((0, 1), repeat=len(FLAGS))
    ]
    plans += [("correct", flags, write_correct, 1.0) for flags in sets]
    traces, truth = [], []
    for plan, (stratum, planted, write, score) in enumerate(plans):
        for at in range(n if stratum != "correct" else max(1, n // 4)):
            script = Script(np.random.default_rng([seed, plan, at]), is_foreign)
            steps = write(script, planted)
            key = {"run_id": "scripted", "event_id": f"{stratum}-{plan:02d}-{at:03d}", "sample": 0}
            traces += [key | {"step": place} | step for place, step in enumerate(steps)]
            status = "message_limit" if stratum == "incomplete" else "ok"
            row = key | {"status": status, "score": score, "stratum": stratum}
            is_right = stratum == "correct"
            truth.append(row | {"label": None if is_right else planted, "flags": planted if is_right else None})
    return check_table("traces", pd.DataFrame(traces)), pd.DataFrame(truth)


def measure_recovery(truth, made):
    """Return how often planted labels are found again: stratum, planted, n, share, low, high (Wilson), and for flags of
    right runs the share told rightly, on or off."""
    key = ["run_id", "event_id", "sample"]
    both = truth.merge(made, on=key, suffixes=("", "_made"), validate="one_to_one")
    failed, right = both[both["stratum"] != "correct"], both[both["stratum"] == "correct"]
    rows = [
        {"stratum": stratum, "planted": label, **measure_share(part["label"] == part["label_made"])}
        for (stratum, label), part in failed.groupby(["stratum", "label"], sort=False)
    ]
    for flag in FLAGS:
        told = [
            (flag in planted) == found[flag] for planted, found in zip(right["flags"], right["flags_made"], strict=True)
        ]
        rows.append({"stratum": "correct", "planted": flag, **measure_share(told)})
    return pd.DataFrame(rows)


def pool_recovery(recovery):
    """Return the recovery of failures, all of a stratum together: words, stratum, found, n, share, low, high (Wilson).

    `recovery` is that of `measure_recovery`, with `words` (which words the runs are in). Flags are left out: four of
    them are of one run.
    """
    failed = recovery[recovery["stratum"] != "correct"]
    failed = failed.assign(found=(failed["share"] * failed["n"]).round().astype(int))
    pooled = failed.groupby(["words", "stratum"], sort=False)[["found", "n"]].sum().reset_index()
    shares = [measure_share([1] * row.found + [0] * (row.n - row.found)) for row in pooled.itertuples()]
    return pooled.drop(columns="n").join(pd.DataFrame(shares))


def choose_runs(truth, n):
    """Return the first `n` runs of each planted failure, and as many of each set of flags as make no more in all.

    They come by turns, one of each failure and four right runs, so that a judge who is stopped has seen all kinds.
    """
    failed = truth[truth["stratum"] != "correct"].groupby(["stratum", "label"], sort=False).head(n)
    right = truth[truth["stratum"] == "correct"]
    right = right.iloc[:: max(1, len(right) // (4 * n))].head(4 * n)
    turn = [*failed.groupby(["stratum", "label"]).cumcount(), *(at // 4 for at in range(len(right)))]
    return pd.concat([failed, right]).assign(turn=turn).sort_values("turn", kind="stable").drop(columns="turn")
