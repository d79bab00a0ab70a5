"""What models write and pages hold, at random (the programs beside this one), and paid runs' accidents."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pandas as pd
from faults import accidents, fuzzed_replies, mutated_pages
from faults.killing import tell_faults

N_REPLIES, N_PAGES = 15_000, 5_000


def read_replies(folder, n=N_REPLIES):
    """Read replies with a known answer, written in a random manner."""
    table, _ = fuzzed_replies.read_replies(n)
    faults = {what: sum(row[what] for row in table.values()) for what in ("wrong", "crashed")}
    faults["slow"] = sum(row["slowest_s"] > fuzzed_replies.SLOWEST_S for row in table.values())
    held, seen = tell_faults(faults)
    return n, held, f"{sum(row['right'] for row in table.values())} right, {seen}"


def read_pages(folder, n=N_PAGES):
    """Read pages of all sources, mutated, in two processes."""
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        seeds = [mutated_pages.SEED, mutated_pages.SEED + 1]
        rows = pd.concat(pool.map(mutated_pages.mutate_pages, [n // 2] * 2, seeds), ignore_index=True)
    table = mutated_pages.summarize_mutations(rows)
    slow = int((rows["seconds"] > mutated_pages.MAX_PAGE_S).sum())
    held, seen = tell_faults({"escaped": int(table["escapes"].sum()), "slow": slow})
    read = f"{table['read'].sum()} read, {table['refused'].sum()} refused, {seen}"
    return n, held, read, {"longest_s": round(rows["seconds"].max(), 1)}


def play_accidents(folder):
    """Play some accidents of a paid run through the real command, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(accidents.play_accident, accidents.ACCIDENTS))
    bad = [f"{row['accident']}: {row['said']}" for row in rows if accidents.is_bad(row)]
    held, seen = tell_faults({what: sum(int(row[what]) for row in rows) for what in ("lost", "twice", "silent")})
    return len(rows), held and not bad, "; ".join([seen, *bad])


PLAYS = {
    "fuzzed replies": ("read right, or not at all, within 0.2 s", read_replies),
    "mutated pages": ("read, or the source's recorded failure, within 10 s", read_pages),
    "accidents of a paid run": ("0 lost, 0 paid twice, each said in a sentence", play_accidents),
}
