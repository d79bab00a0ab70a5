"""The command `daybefore`: hands over to helpers.cli.main, once it is sure that these are its own `helpers`."""

import os
import sys
from importlib.util import find_spec

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


def main():
    """Run the command; says so when another project's package `helpers` stands before ours."""
    try:
        from helpers.cli.main import main as run_command
    except ImportError:
        spec = find_spec("helpers")
        place = spec and (spec.origin or next(iter(spec.submodule_search_locations)))
        sys.exit(
            f"daybefore: its package `helpers` is wanted, and what Python finds under that name is {place}; install "
            "Daybefore into an environment of its own, and look at PYTHONPATH"
        )
    try:
        return run_command()
    except SystemExit as ending:
        if ending.code == INTERRUPTED:
            leave()
        raise


def leave():
    """End an interrupted process at once: a plain exit takes seconds, in which a model's replies come and are lost."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
