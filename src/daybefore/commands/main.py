"""The command `daybefore`: its commands, read by click, and what it ends with; the work stands in
this room's modules, the options that several commands have in `shared_options`.

A module is imported only when its command was chosen, after the settings that results rest on. Its
function returns what it found as a dict (for --json) or None, and raises what `EXPECTED` lists with
a sentence, or `terminal.PartWay`.
"""

import contextlib
import errno
import importlib
import json
import os
import signal
import sys
import time

import click

from daybefore.commands.shared_options import (
    AMOUNT,
    COUNT,
    EXECUTORS,
    FORMS,
    HORIZONS,
    RULES,
    VENUES,
    agents,
    asking,
    explained,
    find_windows,
    now,
    option,
    out,
    question_set,
)
from daybefore.commands.terminal import hide_controls, tell

SETTINGS = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "MPLBACKEND": "Agg",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "TZ": "UTC",
}
"""The environment of every command and of the processes it starts, as the Makefile sets it."""

CODES = {
    0: "done",
    1: "a setting, file or model is not as it must be; one sentence says what to do",
    2: "the command line cannot be read",
    3: "stopped part-way (ceiling, accidents); what was answered is stored, the same command goes on",
    130: "interrupted; what was answered is stored, the same command goes on",
}
"""What a command ends with."""

EXPECTED = (ValueError, LookupError, OSError, RuntimeError)
"""What a command raises with a sentence for its reader; a KeyError or IndexError is a fault of
ours."""


def describe_problem(problem):
    """Return what an exception says; of what the system says against a file, a sentence with its
    name and a way on.

    >>> describe_problem(FileNotFoundError(errno.ENOENT, "No such file or directory", "a.json"))
    'there is no file a.json'
    """
    if not isinstance(problem, OSError) or problem.errno is None:
        return str(problem)
    name, why = problem.filename or "the disk", str(problem.strerror).lower()
    if problem.errno == errno.ENOENT:
        return f"there is no file {name}"
    way = (
        "make room, or set DAYBEFORE_OUT to a folder that can be written; the same command goes on"
    )
    return f"{name} cannot be read or written ({why}); {way}"


# --- the command line -------------------------------------------------------------------------------


def write_epilog(example=""):
    """Return what a command's help ends with: an example, and the exit codes."""
    codes = "\n".join(f"  {code:<4}{about}" for code, about in CODES.items())
    codes += "\nmake itself ends with 2 whichever of these the command it started ended with"
    return f"\b\nexample:\n  daybefore {example}\n\n\b\nexit codes:\n{codes}"


@click.group(
    context_settings={"max_content_width": 119},
    epilog=write_epilog("run --agent last_value --limit 20"),
)
@click.version_option(package_name="daybefore", message="%(version)s")
def daybefore():
    """Put forecasting agents back to the day before.

    It reads a checkout: its own, one above the working folder, or DAYBEFORE_ROOT.
    """


def command(example, module=""):
    """Return a decorator that makes a command of an empty function: the module of its name gets
    what is given.

    `module` stands in the name's place where that is another's.
    """

    def decorate(function):
        name = function.__name__

        def call(**given):
            work = importlib.import_module(f"daybefore.commands.{module or name}").main
            return work(**{key: value for key, value in given.items() if value not in (None, ())})

        call.__doc__ = function.__doc__
        call.__click_params__ = getattr(function, "__click_params__", [])
        made = daybefore.command(name, epilog=write_epilog(f"{name} {example}"))(call)
        json_option = {
            "is_flag": True,
            "expose_value": False,
            "help": "Print one JSON object, all words on stderr.",
        }
        return click.option("--json", **json_option)(made)

    return decorate


@command("--agent my_agent --limit 20 --ceiling 1 --json > scores.json")
@agents
@question_set
@option(
    "--horizon",
    type=click.Choice(HORIZONS),
    help="Of long or markets: when in a question's life (default Mid).",
)
@option(
    "--days-after",
    type=COUNT,
    metavar="DAYS",
    help="Ask a second time, so long after the end (Figure 12: 7).",
)
@option(
    "--condition",
    help="Of long or worldreasoner: one of WorldReasoner's six, such as Near-Resolution.",
)
@option(
    "--references",
    metavar="FILE",
    help="Hindsight graphs that are the reference in place of the set's own.",
)
@option("--limit", type=COUNT, help="Number of events, shared by the levels (default: all).")
@explained
@asking
@option(
    "--batch",
    is_flag=True,
    help="By the provider's batch interface: within a day, at half the price.",
)
@option(
    "--executor",
    type=click.Choice(EXECUTORS),
    help="Have workers ask: submitit here or on Slurm, Dask.",
)
@option(
    "--scheduler",
    metavar="ADDRESS",
    help="Dask's scheduler, such as tcp://10.0.0.5:8786 (default: workers here).",
)
@option(
    "--shards",
    "n_shards",
    type=COUNT,
    help="Parts that go to the workers (default 4), with shares of a ceiling.",
)
def run():
    """Put agents to events, beside the baselines, and show their scores."""


@command("--agent my_agent --ceiling 2")
@agents
@option(
    "--questions",
    metavar="FILE",
    help="A csv, json, jsonl or parquet of id and prompt (default: FutureX's).",
)
@option(
    "--from",
    "venue",
    type=click.Choice(VENUES),
    help="Open questions of a market instead.",
)
@option(
    "--limit",
    type=COUNT,
    help="With --from: number of questions (default 100).",
)
@option(
    "--commit",
    help="The challenge's questions at this commit (default: the newest).",
)
@option("--out", metavar="FOLDER", help="Where the answers stand (default data/weeks/COMMIT).")
@asking
@now
@option(
    "--settle",
    metavar="ANSWERS",
    help="Score: a csv of id and answer, past (FutureX-Past), or venue.",
)
@option(
    "--rule",
    type=click.Choice(RULES),
    help="With --settle: FutureX's rules (default: the challenge's code, else the paper).",
)
@option(
    "--judge",
    metavar="AGENT",
    help="With --settle: a model that looks at texts that were not matched.",
)
@option(
    "--board",
    metavar="FILE",
    help="With --settle: the public board, to stand beside (json, or csv).",
)
def week():
    """Ask this week's questions of FutureX, or a file's, and write the submission; nothing is
    sent."""


@command("my_folder --agent my_agent --ceiling 1")
@click.argument("scenarios", type=click.Path(exists=True, file_okay=False))
@agents
@option(
    "--writer",
    metavar="AGENT",
    help="A model that writes the pages the folder lacks, and hears the replies.",
)
@out
@asking
@now
def planted():
    """Put agents to scenarios of a FOLDER without and with pages that claim a wrong answer (FutureX
    5.2)."""


@command("games.csv --agent my_agent --ceiling 1")
@click.argument("moments", type=click.Path(exists=True, dir_okay=False))
@agents
@option(
    "--wait",
    is_flag=True,
    help="Stay, and ask each question when it is due (default: what is due now).",
)
@out
@asking
@now
def moments():
    """Ask a LIST's questions ten minutes after their moments, beside what the page says then
    (FutureX 5.3)."""


@command("new.csv --screen a --screen b --writer a --reader b --ceiling 1")
@click.argument("path", metavar="LIST", type=click.Path(exists=True, dir_okay=False))
@option(
    "--screen",
    "screens",
    metavar="AGENT",
    multiple=True,
    help="A model that screens the sites; several times.",
)
@option("--writer", metavar="AGENT", help="A model that proposes templates.")
@option(
    "--reader",
    metavar="AGENT",
    help="A model that reads their answers off the page, to check them.",
)
@option("--ceiling", "ceiling_usd", type=AMOUNT, help="US dollars that a model may cost in all.")
@out
@now
def sites():
    """Screen a LIST's new sites (column url) and propose templates, for a person to confirm
    (FutureX C.1)."""


@command("my_agent arima")
@click.argument("names", nargs=-1, metavar="[RUN]...")
@question_set
@out
@option(
    "--adjust",
    is_flag=True,
    help="Runs asked different questions, too: adjusted by two-way fixed effects.",
)
@explained
def compare():
    """Paired differences between RUNs (a run_id or an agent's name; none: all local runs), and a
    leaderboard."""


@command("qwen_react")
@click.argument("run", metavar="RUN")
@question_set
@out
@option(
    "--semantic",
    is_flag=True,
    help="Key events by meaning too (WorldReasoner Table 12): a model of 91 MB, once.",
)
def report():
    """What each of the four papers' protocols says of one RUN (a run_id or an agent's name), on one
    page."""


@command("--agents 'my_model other_model'", module="own_figures")
@option(
    "--agents",
    metavar="NAMES",
    help="Agents that were run, with spaces between; in quotes a name with some.",
)
@option(
    "--set",
    "question_set",
    metavar="NAME",
    help="Only this set (default: all they were asked): a name, folder or file.",
)
@out
def figures():
    """The papers' figures with these agents beside the baselines and the recorded models."""


@command("forecasts.csv")
@click.argument("places", nargs=-1, required=True, metavar="FILE|FOLDER...")
@option("--name", help="What the set is called (default: after the file).")
@option(
    "--filled",
    type=click.FloatRange(0, 1),
    help="A probability that a harness filled in, taken as missing: 0.5.",
)
@option("--keep-halves", is_flag=True, help="Many probabilities of exactly 0.5 are meant.")
@option(
    "--replace",
    is_flag=True,
    help="Put it in the place of a set of that name that was added before.",
)
@option(
    "--licence", help="Under which the file may be passed on; without one it is used here alone."
)
def add():
    """Other agents' answers from a csv (wide or long), jsonl or logs of inspect_ai, as a question
    set."""


@command("")
@option(
    "--agent", "agents", multiple=True, help="Only this agent's runs; may be given several times."
)
@option(
    "--set",
    "windows",
    callback=find_windows,
    multiple=True,
    help="Only questions of this set; several times.",
)
def view():
    """Every question of every run on a page that opens from disk."""


@command("--agent my_model --ceiling 1")
@agents
@option(
    "--source", "sources", multiple=True, help="Only this live source; may be given several times."
)
@option(
    "--market",
    "venues",
    type=click.Choice(VENUES),
    multiple=True,
    help="Its open questions too; several times.",
)
@option(
    "--distractors",
    "distract",
    metavar="AGENT",
    help="With --market: a model that adds unrelated wrong options.",
)
@option(
    "--news",
    metavar="LIST",
    help="Feeds (csv, column url) on which questions are proposed, for you to confirm.",
)
@option("--writer", metavar="NAME", help="With --news: an agent that proposes the questions.")
@option(
    "--panel",
    multiple=True,
    help="An agent that screens questions as harmful or subjective; several times.",
)
@option(
    "--reader",
    metavar="NAME",
    help="An agent that reads an answer from a page where no rule finds it.",
)
@option("--limit", type=COUNT, help="Number of questions (default: all of the day).")
@option(
    "--ceiling", "ceiling_usd", type=AMOUNT, help="US dollars that today's run may cost in all."
)
@option("--yes", is_flag=True, help="Ask many paid questions without a limit.")
@now
def day():
    """Do what is due of a benchmark of one's own: look, pose, ask, settle, report. Call it as often
    as you like."""


@command("my_model --to dataset")
@click.argument("name", metavar="RUN")
@option("--to", "form", required=True, type=click.Choice(FORMS), help="For whom it is written.")
@question_set
@out
def export():
    """Write a RUN (a run_id or an agent's name) in the form that another tool reads."""


@command("")
@click.argument("path", required=False, type=click.Path(dir_okay=False), metavar="[STORE]")
def recover():
    """Put a damaged STORE (default: data/runs/store.sqlite) together again; the damaged file is
    kept."""


@command("", module="list_runs")
@question_set
def runs():
    """The runs of this machine, with what they hold and cost."""


@command("my_agent-A-01234567")
@click.argument("run", metavar="RUN")
@option("--yes", is_flag=True, help="Do not ask whether it is meant.")
def rm():
    """Remove a RUN (a run_id of `daybefore runs`); what was asked and paid is kept in an
    archive."""


@command("--arm qwen_zero_shot-A --minutes 30")
@option(
    "--arm",
    "arm_ids",
    multiple=True,
    help="A name in data/arms.toml; several times, or none for all.",
)
@option("--minutes", type=AMOUNT, help="Stop after so many (default: when all is recorded).")
def record():
    """Record models on the events of data/arms.toml."""


# --- carrying it out --------------------------------------------------------------------------------


def carry_out(arguments):
    """Take the settings on, read the command line and do it; returns what was found, {} for
    nothing.

    Ends by SystemExit in whatever else happens, with a code, and its sentence on standard error or
    in its place.
    """
    os.environ.update(SETTINGS)
    if hasattr(time, "tzset"):
        time.tzset()
    name = " ".join(["daybefore", *arguments[:1]])
    try:
        found = daybefore.main(list(arguments), prog_name="daybefore", standalone_mode=False)
    except click.UsageError as usage:
        usage.show()
        raise SystemExit(2) from usage
    except click.Abort as stopped:  # Ctrl-C
        tell(f"\n{name}: {str(stopped.__cause__ or '') or CODES[130]}")
        raise SystemExit(130) from None
    except EXPECTED as problem:
        if type(problem) in (KeyError, IndexError):
            raise
        raise SystemExit(hide_controls(f"{name}: {describe_problem(problem)}")) from None
    return found if isinstance(found, dict) else {}


def main(arguments=None):
    """Read the command line and carry it out; returns 0, or ends by SystemExit with one of `CODES`,
    or a sentence.

    With --json all that is printed, also by processes that are started, goes to standard error.
    """
    arguments, ending = sys.argv[1:] if arguments is None else arguments, None
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends a command as Ctrl-C does
    if "--json" not in arguments or "--help" in arguments:
        carry_out(arguments)
        return 0
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = carry_out(arguments)
    except SystemExit as stopped:
        code, ending = stopped.code, stopped
        told = stopped.__cause__.format_message() if code == 2 else CODES.get(code, code)
        found = getattr(stopped, "found", {"error": told, "exit": code if code in CODES else 1})
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    from helpers.files import (
        clean_value,
    )  # here: it imports pandas, before which the settings are made

    print(json.dumps(clean_value(found), ensure_ascii=False))
    if ending:
        raise ending
    return 0
