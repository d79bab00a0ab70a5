"""A local language model, served to the client (daybefore.models.client); its file is that of
daybefore.models.model_files.

The server is llama.cpp's own, from the optional package xllamacpp, in a child process that ends
with its parent. One question at a time, temperature 0, no prompt cache between questions (with it
two of five replies differed).
"""

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from contextlib import contextmanager, suppress

from daybefore.limits import call_within
from daybefore.models.model_files import FOLDER, MODELS

LOCAL, PACKAGE = "local/", "xllamacpp"
"""A model named local/<name> is served on this machine, by this package."""

SEED = 0
"""Of the server's sampling, which at temperature 0 draws nothing."""

N_THREADS, N_CONTEXT, CACHE_MIB = 2, 8192, 256
"""Threads that a model computes with, tokens that it can hold, and memory for conversations set
aside meanwhile."""

START_S = 120
"""Seconds within which the server has to be up."""


def get_local_name(entry):
    """Return the name of the local model that an entry (of data/agents.toml, or alike) asks, None
    for another's."""
    model = entry.get("model") or ""
    return model.removeprefix(LOCAL) if model.startswith(LOCAL) else None


def open_model(entry, stack):
    """Return the connection (api_base, api_key) to an entry's model; a local one is served until
    the stack closes.

    Raises RuntimeError when a local model cannot be served.
    """
    if local := get_local_name(entry):
        return {"api_base": stack.enter_context(serve_model(FOLDER / MODELS[local]["file"]))}
    return {
        "api_base": entry.get("api_base"),
        "api_key": os.environ.get(entry.get("api_key_env") or ""),
    }


def describe_model(model):
    """Return what run.json keeps of a model: its name, and of a local one its file's digest and
    what served it."""
    local = get_local_name({"model": model})
    server = f"{PACKAGE}=={importlib.metadata.version(PACKAGE)}" if local else None
    return {
        "model": model,
        "model_sha256": MODELS[local]["sha256"] if local else None,
        "server": server,
    }


def has_server():
    """Say whether the package that serves models is installed."""
    return importlib.util.find_spec(PACKAGE) is not None


def find_missing(name):
    """Return what is missing to serve a local model, and the command that brings it; None where
    nothing is."""
    if not has_server():
        return f"serving a local model needs the package {PACKAGE}; `make model` installs it"
    file = MODELS[name]["file"]
    return None if (FOLDER / file).exists() else f"no model file {file}; `make model` fetches it"


@contextmanager
def serve_model(path):
    """Serve a model file on a free port of loopback; yields its address (`open_door` takes it as
    api_base).

    One slot, so requests queue; temperature 0; a request says itself whether the prompt cache may
    serve it. Raises RuntimeError when the server does not start (`find_missing` says what it
    needs).
    """
    environment = os.environ | {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": str(N_THREADS)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-m", __name__, str(path)]
    options = {"env": environment, "start_new_session": True}
    with subprocess.Popen(
        command, text=True, **pipes, **options
    ) as process:  # a session of its own: no Ctrl-C in it
        try:
            address = ""
            with suppress(TimeoutError):
                address = call_within(process.stdout.readline, START_S).strip()
            if not address.startswith("http://"):
                raise RuntimeError(
                    f"{__name__} did not start; is the file a whole gguf, and is there memory for it?"
                )
            yield f"{address}/v1"
        finally:
            process.kill()


def run_model(path):
    """Serve a model in this process until standard input ends, which it does with the parent
    process."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = path
    settings.n_ctx = N_CONTEXT
    settings.n_parallel = 1
    settings.port = 0
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = N_THREADS
    settings.use_jinja = True
    settings.sampling.temp = 0.0
    settings.sampling.seed = SEED
    settings.hostnames = [
        "127.0.0.1"
    ]  # for this machine only; no page of a browser, no list of what is being asked
    settings.ui = settings.endpoint_slots = settings.endpoint_props = settings.endpoint_metrics = (
        False
    )
    settings.cors_origins = ""
    settings.cors_origins_explicit = True
    settings.cors_credentials = False
    settings.cache_prompt = False
    settings.cache_ram_mib = CACHE_MIB
    settings.verbosity = -1
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # the server's own threads would wait for a request that is under way


if __name__ == "__main__":
    run_model(sys.argv[1])
