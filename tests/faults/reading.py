"""What models write and pages hold, at random (the programs beside this one), and paid runs' accidents."""

from functools import partial

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
    """Read pages of all sources, mutated."""
    rows = mutated_pages.mutate_pages(n)
    table = mutated_pages.summarize_mutations(rows)
    slow = int((rows["seconds"] > mutated_pages.MAX_PAGE_S).sum())
    held, seen = tell_faults({"escaped": int(table["escapes"].sum()), "slow": slow})
    read = f"{table['read'].sum()} read, {table['refused'].sum()} refused, {seen}"
    return n, held, read, {"longest_s": round(rows["seconds"].max(), 1)}


def play_accident(name, folder):
    """Play one accident of a paid run through the real command."""
    row = accidents.play_accident(name)
    held, seen = tell_faults({what: int(row[what]) for what in ("lost", "twice", "silent")})
    return 1, held and not accidents.is_bad(row), seen if held else f"{seen}: {row['said']}"


PLAYS = {
    "fuzzed replies": ("read right, or not at all, within 0.2 s", read_replies),
    "mutated pages": ("read, or the source's recorded failure, within 10 s", read_pages),
} | {
    f"a paid run: {name}": ("0 lost, 0 paid twice, said in a sentence", partial(play_accident, name))
    for name in accidents.ACCIDENTS
}
