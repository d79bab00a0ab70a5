"""`daybefore recover`: a damaged store is put together again, so that what was paid is not asked
again."""

from daybefore.commands.terminal import show
from daybefore.store import recover_store
from helpers.files import STORE, locate_output


def main(path=None) -> dict:
    """Recover the store, or another at `path`; returns how many rows of each table there are
    now."""
    found = recover_store(path or locate_output(STORE))
    rows = ", ".join(f"{n} {name}" for name, n in found.items() if name != "damaged")
    show(f"recovered: {rows}")
    show(
        f"the damaged file is kept as {found['damaged']}; the same command of before goes on, and asks what is lost"
    )
    return found
