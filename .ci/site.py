"""Build the site of the kit:  .ci/site.py  (part of `make site`; the pages land in .make/site)

README, FINDINGS, docs and the executed notebooks become pages as they stand. Files that a page
links to are copied beside it; a link to a folder becomes plain text. Of the helpers one page a
module is made from their docstrings.
"""

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import yaml
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / ".make/site-pages"
OUT = ROOT / ".make/site"
LINK = re.compile(r"(?<!`)(!?)\[([^\]\n]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
"""A link or a picture of a page: mark, words, target, anchor."""
PAGES = ("README.md", "FINDINGS.md", "CHANGELOG.md", "CONTRIBUTING.md")
SECTIONS = {
    "0": "FutureX on real agents",
    "1": "Method and your model",
    "2": "WorldReasoner",
    "3": "LiveAgentBench",
    "4": "Proof of Time",
    "9": "Audit",
}
"""First digit of a notebook's number -> heading of the navigation."""


def copy_page(path):
    """Copy a page of markdown with what it links to; a link that no page or file answers is kept as
    words."""
    text = (ROOT / path).read_text(encoding="utf-8")

    def answer(match):
        mark, words, target, _ = match.groups()
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        wanted = (ROOT / path).parent / target
        if wanted.is_file() and wanted.resolve().is_relative_to(ROOT):
            copy_file(wanted.resolve().relative_to(ROOT))
            return match[0]
        return match[0] if mark else words

    written = WORK / path
    written.parent.mkdir(parents=True, exist_ok=True)
    written.touch()  # pages that link to each other are copied once
    written.write_text(LINK.sub(answer, text), encoding="utf-8")


def copy_file(path):
    """Copy a file that a page links to to the same place of the site, once; notebooks come by
    themselves."""
    if (WORK / path).exists() or path.suffix == ".ipynb":
        return
    if path.suffix == ".md":
        copy_page(path)
        return
    (WORK / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / path, WORK / path)


def write_api():
    """Write one page a module of the helpers, which mkdocstrings fills; return their paths."""
    pages = []
    for module in sorted((ROOT / "src/helpers").glob("[a-z]*.py")):
        page = Path("api", f"{module.stem}.md")
        (WORK / page).parent.mkdir(parents=True, exist_ok=True)
        (WORK / page).write_text(
            f"# helpers.{module.stem}\n\n::: helpers.{module.stem}\n", encoding="utf-8"
        )
        pages.append(str(page))
    return pages


def write_gallery():
    """Write the page of all figures: a thumbnail, its title, and the figure behind it."""
    figures = pd.read_csv(ROOT / "figures/index.csv")
    lines = ["# All figures", "", "A click opens the figure; its numbers lie beside it as csv.", ""]
    lines += ["| figure | what it shows |", "|---|---|"]
    (WORK / "thumbnails").mkdir()
    for figure, title in zip(figures["figure"], figures["title"], strict=True):
        copy_file(Path("figures", f"{figure}.png"))
        with Image.open(ROOT / "figures" / f"{figure}.png") as image:
            image.thumbnail((480, 480))
            image.convert("RGB").save(WORK / "thumbnails" / f"{figure}.jpg", quality=80)
        words = html.escape(title).replace("|", "&#124;")
        lines.append(f"| [![{words}](thumbnails/{figure}.jpg)](figures/{figure}.png) | {words} |")
    (WORK / "gallery.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def list_notebooks():
    """Copy the executed notebooks; return them under the headings of the navigation."""
    (WORK / "notebooks").mkdir(parents=True, exist_ok=True)
    copy_file(Path("notebooks/README.md"))
    sections = {heading: [] for heading in SECTIONS.values()}
    for notebook in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")):
        shutil.copyfile(notebook, WORK / "notebooks" / notebook.name)
        label = notebook.stem.replace("_", " ")
        sections[SECTIONS[notebook.stem[0]]].append({label: f"notebooks/{notebook.name}"})
    return [
        {"All notebooks": "notebooks/README.md"},
        *({heading: pages} for heading, pages in sections.items()),
    ]


def main():
    """Stage the pages, write the navigation, and build; ends with mkdocs' own status."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    top = [Path(name) for name in PAGES if (ROOT / name).exists()]
    docs = sorted(path.relative_to(ROOT) for path in (ROOT / "docs").glob("*.md"))
    for page in [*top, *docs]:
        copy_file(page)
    for name in ("audit.html", "findings.html"):
        copy_file(Path("figures", name))
    write_gallery()
    settings = yaml.safe_load((ROOT / ".ci/mkdocs.yml").read_text(encoding="utf-8"))
    (WORK / "phone.css").write_text(
        ".highlight { overflow-x: auto } .md-container { overflow-x: hidden }\n", encoding="utf-8"
    )
    settings |= {"docs_dir": str(WORK), "site_dir": str(OUT)}
    settings["nav"] = [
        {"Daybefore": "README.md"},
        {"Findings": "FINDINGS.md"},
        {"Figures": "gallery.md"},
        {"Notebooks": list_notebooks()},
        {"Guides": [{path.stem.replace("-", " "): str(path)} for path in docs]},
        {"Helpers": [{Path(page).stem: page} for page in write_api()]},
        *({path.stem.capitalize(): str(path)} for path in top[2:]),
    ]
    written = WORK.parent / "mkdocs.yml"
    written.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", written],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    if done.returncode == 0:
        shutil.copyfile(
            OUT / "assets/images/favicon.png", OUT / "favicon.ico"
        )  # for the pages that are no theme's
        print(f"the site is {OUT.relative_to(ROOT)}; open index.html there, or serve the folder")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
