"""Options of the command line that several commands have, and what they may be."""

import click

COUNT, AMOUNT = click.IntRange(min=1), click.FloatRange(min=0, min_open=True)
MOMENT = click.DateTime(["%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M%z"])
HORIZONS, FORMS = ("Early", "Mid", "Late", "Near"), ("inspect", "dataset")
RULES = ("futurex_paper", "futurex_code")
VENUES = ("polymarket", "manifold", "kalshi")
EXECUTORS = ("local", "slurm", "dask")


def name_sets():
    """Return the names of the question sets that are here, for the help; none outside a
    checkout."""
    try:
        from helpers.set_names import list_sets
    except FileNotFoundError:
        return ""
    return ", ".join(one.name for one in list_sets()) + "; "


def find_windows(context, parameter, given):
    """Return the windows of the question sets named (one, or several). Raises ValueError with the
    nearest name."""
    if not given:
        return given
    from daybefore.commands.question_file import open_set  # here: it wants a checkout

    windows = tuple(
        open_set(name).window for name in ([given] if isinstance(given, str) else given)
    )
    return windows if isinstance(given, tuple) else windows[0]


option = click.option
set_help = f"{name_sets()}default october-2016; or a set's folder, or a file of your questions."
ASKING = (
    option("--samples", "n_samples", type=COUNT, help="Answers a question (default 1)."),
    option(
        "--at-once",
        type=COUNT,
        help="Questions at once to a provider's model (default: 8 to 100, as it bears).",
    ),
    option(
        "--ceiling", "ceiling_usd", type=AMOUNT, help="US dollars it may cost in all, such as 1.5."
    ),
    option(
        "--articles",
        "press",
        multiple=True,
        metavar="FOLDER",
        help="Dated articles to search (.jsonl files).",
    ),
    option("--retry", is_flag=True, help="Ask again what timed out or could not be read, too."),
    option("--yes", is_flag=True, help="Ask many paid questions without a limit."),
    option(
        "--deadline",
        "deadline_s",
        type=COUNT,
        help="Seconds a question (default 1800, as in FutureX).",
    ),
)
"""What a command has that puts questions to an agent."""


def asking(function):
    """Give a command the options of `ASKING`."""
    for add in reversed(ASKING):
        function = add(function)
    return function


agents = option(
    "--agent",
    "names",
    multiple=True,
    help="A name in data/agents.toml; may be given several times.",
)
out = option(
    "--out",
    metavar="FOLDER",
    help="The folder to write to (default: named after what is asked for).",
)
now = option(
    "--now",
    type=MOMENT,
    metavar="MOMENT",
    help="In place of the clock, such as 2026-03-04T10:00:00+08:00.",
)
explained = option(
    "--explain", is_flag=True, help="Print all columns of the scores, and what they mean."
)
question_set = option("--set", "window", callback=find_windows, metavar="NAME", help=set_help)
