"""A sandbox for what an agent runs: offline, on the evidence of a manifest, as a user who may do
nothing else.

`open_sandbox` builds a small file system: the system's /usr, Python, the evidence (/evidence,
read-only), a work folder (/workdir) of limited size, in memory. Each call runs apart in it, with an
empty environment; what it leaves running dies with it. There are two backends: `agents.bubblewrap`
sets a call apart in namespaces of its own; where it cannot be had, `agents.docker` does in a
container. Where neither can, SandboxError says what to do.
"""

from contextlib import contextmanager
from functools import cache

from daybefore.agents.bubblewrap import find_bubblewrap
from daybefore.agents.docker import BUILD, find_docker
from daybefore.agents.sandbox_parts import SandboxError, open_backend


@cache
def find_backend():
    """Return the Backend that works here, found by trying; bubblewrap, else Docker. Raises
    SandboxError: what to do."""
    try:
        return find_bubblewrap()
    except SandboxError as error:
        first = error
    try:
        return find_docker()
    except SandboxError as error:
        raise SandboxError(
            f"{first}; or let Docker do it ({error}), once its image is built: {BUILD}"
        ) from None


@contextmanager
def open_sandbox(manifest=(), folder=".", limits=None, backend=None):
    """Open a sandbox whose /evidence holds exactly the files of a manifest; yields it, and leaves
    nothing of it.

    `manifest` lists dicts with `path` (below `folder`) and `sha256`; `backend` is as of
    `find_backend`. Raises SandboxError, which names the file, if one cannot be read, lies outside
    or has another digest; and if no sandbox can be had here, saying what to do.
    """
    with open_backend(backend or find_backend(), manifest, folder, limits) as sandbox:
        yield sandbox
