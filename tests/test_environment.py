"""environment.yml, pyproject.toml and the locks say the same; no committed file holds what belongs to one machine."""

import gzip
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version
from pip._internal.models.index import PyPI
from rattler import MatchSpec

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA_NAMES = {"matplotlib": "matplotlib-base", "tzdata": "python-tzdata"}
"""Where conda-forge calls a package otherwise: matplotlib without a window toolkit; tzdata there is the system's."""
USERS_LIST = "jupyterlab papermill pandas seaborn statsmodels scikit-learn litellm requests pytest nbval".split()


def list_requirements(*extras):
    """Return name -> specifier of the project's requirements, with those of extras."""
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    return {requirement.name: requirement.specifier for requirement in map(Requirement, lines)}


def read_conda():
    """Return name -> version constraint of environment.yml's conda packages, and its lines for pip."""
    entries = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    (pip,) = [entry["pip"] for entry in entries if isinstance(entry, dict)]
    specs = [MatchSpec(entry, strict=True) for entry in entries if isinstance(entry, str)]
    return {spec.name.normalized: spec.version for spec in specs}, pip


def read_lock(name):
    """Return package -> pinned versions of a lock (several where they depend on the platform)."""
    pins = re.findall(r"^([a-z0-9-]+)==([^ ;\\]+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    return {package: [Version(v) for p, v in pins if p == package] for package, _ in pins}


def test_environment_yml_is_what_conda_reads():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment.keys() == {"name", "channels", "dependencies"}
    assert environment["channels"] == ["conda-forge", "nodefaults"]
    assert read_conda()[1] == ["-e ."]


def test_environment_yml_holds_every_package_of_the_users_list():
    assert set(USERS_LIST) - read_conda()[0].keys() == set()


def test_environment_yml_and_pyproject_name_the_same_packages_and_bounds():
    conda, _ = read_conda()
    assert conda.pop("python") == PROJECT["requires-python"]
    conda.pop("pip")
    wanted = list_requirements("test", "lab", "slice", "setup")
    wanted.pop("uv")  # conda installs by itself
    for name in ("espeakng-loader", "xllamacpp"):  # not on conda-forge; they come with "-e ."
        wanted.pop(name)
    assert conda == {CONDA_NAMES.get(name, name): str(specifier) for name, specifier in wanted.items()}


@pytest.mark.parametrize(
    ("lock", "extras"),
    [
        ("requirements.lock", ("test", "setup")),
        ("requirements-lab.lock", ("lab", "setup")),
        ("requirements-slice.lock", ("slice", "setup")),
        ("requirements-ocr.lock", ("ocr", "setup")),
    ],
)
def test_a_lock_satisfies_pyproject_with_hashes(lock, extras):
    pins = read_lock(lock)
    for name, specifier in list_requirements(*extras).items():
        assert name in pins, f"{lock} lacks {name}; run `make lock`"
        assert all(version in specifier for version in pins[name]), f"{lock} has {name} {pins[name]}; run `make lock`"
    blocks = re.split(r"\n(?=\S)", (ROOT / lock).read_text(encoding="utf-8").strip())
    assert all("--hash=sha256:" in block for block in blocks)


def test_both_locks_pin_the_same_versions():
    tests, lab = read_lock("requirements.lock"), read_lock("requirements-lab.lock")
    assert {name: lab[name] for name in tests.keys() & lab.keys()} == {
        name: tests[name] for name in tests.keys() & lab.keys()
    }


def test_jupyterlab_stays_out_of_what_make_figures_imports():
    assert "jupyterlab" not in read_lock("requirements.lock")
    assert "jupyterlab" in read_lock("requirements-lab.lock")


def test_the_citation_names_the_packages_version_and_licence():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])


FOREIGN = {
    "a path of one machine": r"(?<![\w.~$}+=-])/(?:work|root|tmp|opt)/\w|(?<![\w.~$}])/(?:home|Users)/(?!me/)\w+/",
    "a package registry": r"(?:index[-_]url|find[-_]links) *=? *(?:https?|file):"
    rf"|{re.escape(PyPI.netloc)}|{re.escape(PyPI.file_storage_domain)}"  # pip knows them, so that no file need to
    r"|https?://[^\s\"']+\.(?:whl|tgz)\b"
    r"|https?://(?!mirror\.example|127\.)[^\s/\"']+(?:/[^\s\"']*)?/simple\b",
    "a key": r"\bsk-[A-Za-z0-9_-]{20,}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}|\bAIza[\w-]{35}\b"
    r"|\bhf_[A-Za-z0-9]{30,}|\bxox[abp]-[\w-]{10,}|BEGIN [A-Z ]*PRIVATE KEY",
}


def find_foreign(text):
    """Return what a text holds that belongs to one machine or one person."""
    return {kind: match.group() for kind, pattern in FOREIGN.items() if (match := re.search(pattern, text))}


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
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8", errors="replace")
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
    ],
)
def test_what_belongs_to_one_machine_is_seen(text, kind):
    assert list(find_foreign(text)) == [kind]


@pytest.mark.parametrize(
    "text", ["a framework/tools", "src/root/x", "$HOME/work/x", "~/tmp/x", "https://host.example/project/x"]
)
def test_what_is_everybodys_is_let_pass(text):
    assert find_foreign(text) == {}
