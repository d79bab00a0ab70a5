"""`daybefore run` (make run): put agents to a sample of a question set's events, beside the
baselines."""

from daybefore.commands.run_service import end_part_way, run_set
from daybefore.commands.terminal import show


def main(names=(), window="A", limit=None, **given):
    """Run agents on a set, print their scores and where the replies are; returns the results.

    `given` are options of `run_service.run_set`. Raises ValueError before anything is asked,
    PartWay with the results where an agent was stopped.
    """
    done = run_set(names, window, limit, **given)
    show(f"\n{done.text}")
    if done.hint:
        show(f"next: {done.hint}")
    return end_part_way("run", {"agents": done.found, "stopped": done.stops}, done.stops)
