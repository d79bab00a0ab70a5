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


def copy_file(path):
    """Copy a file to the same place of the site, once; a page of markdown with what it links to.

    A link that no file answers is kept as words; notebooks come by themselves.
    """
    written = WORK / path
    if written.exists() or path.suffix == ".ipynb":
        return
    written.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / path, written)
    if path.suffix != ".md":
        return

    def answer(match):
        mark, words, target, _ = match.groups()
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        wanted = (ROOT / path).parent.joinpath(target).resolve()
        if wanted.is_file() and wanted.is_relative_to(ROOT):
            copy_file(wanted.relative_to(ROOT))
            return match[0]
        return match[0] if mark else words

    text = written.read_text(encoding="utf-8")
    written.write_text(LINK.sub(answer, text), encoding="utf-8")


def write_api():
    """Write one page a module of the helpers, which mkdocstrings fills; return their navigation."""
    pages = []
    (WORK / "api").mkdir()
    for module in sorted((ROOT / "src/helpers").glob("[a-z]*.py")):
        name = f"helpers.{module.stem}"
        (WORK / f"api/{module.stem}.md").write_text(f"# {name}\n\n::: {name}\n", encoding="utf-8")
        pages.append({module.stem: f"api/{module.stem}.md"})
    return pages


def write_gallery():
    """Write the page of all figures: a thumbnail, its title, and the figure behind it."""
    lines = ["# All figures", "", "A click opens the figure; its numbers lie beside it as csv.", ""]
    lines += ["| figure | what it shows |", "|---|---|"]
    (WORK / "thumbnails").mkdir()
    for row in pd.read_csv(ROOT / "figures/index.csv").itertuples():
        copy_file(Path("figures", f"{row.figure}.png"))
        small = f"thumbnails/{row.figure}.jpg"
        with Image.open(ROOT / f"figures/{row.figure}.png") as image:
            image.thumbnail((480, 480))
            image.convert("RGB").save(WORK / small, quality=80)
        words = html.escape(row.title).replace("|", "&#124;")
        lines.append(f"| [![{words}]({small})](figures/{row.figure}.png) | {words} |")
    (WORK / "gallery.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def list_notebooks():
    """Copy the executed notebooks; return them under the headings of the navigation."""
    copy_file(Path("notebooks/README.md"))
    sections = {heading: [] for heading in SECTIONS.values()}
    for notebook in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")):
        shutil.copyfile(notebook, WORK / "notebooks" / notebook.name)
        page = {notebook.stem.replace("_", " "): f"notebooks/{notebook.name}"}
        sections[SECTIONS[notebook.stem[0]]].append(page)
    headings = [{heading: pages} for heading, pages in sections.items()]
    return [{"All notebooks": "notebooks/README.md"}, *headings]


def main():
    """Stage the pages, write the navigation, and build; ends with mkdocs' own status."""
    shutil.rmtree(WORK, ignore_errors=True)
    guides = sorted(path.relative_to(ROOT) for path in (ROOT / "docs").glob("*.md"))
    for page in [*PAGES, *guides, "figures/audit.html", "figures/findings.html"]:
        copy_file(Path(page))
    write_gallery()
    style = ".highlight { overflow-x: auto } .md-container { overflow-x: hidden }\n"
    (WORK / "phone.css").write_text(style, encoding="utf-8")
    settings = yaml.safe_load((ROOT / ".ci/mkdocs.yml").read_text(encoding="utf-8"))
    settings |= {"docs_dir": str(WORK), "site_dir": str(OUT)}
    settings["nav"] = [
        {"Daybefore": "README.md"},
        {"Findings": "FINDINGS.md"},
        {"Figures": "gallery.md"},
        {"Notebooks": list_notebooks()},
        {"Guides": [{path.stem.replace("-", " "): str(path)} for path in guides]},
        {"Helpers": write_api()},
        {"Changelog": "CHANGELOG.md"},
        {"Contributing": "CONTRIBUTING.md"},
    ]
    written = WORK.parent / "mkdocs.yml"
    written.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", written]
    done = subprocess.run(command, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=False)
    if done.returncode == 0:
        # For the pages that are no theme's.
        shutil.copyfile(OUT / "assets/images/favicon.png", OUT / "favicon.ico")
        print(f"the site is {OUT.relative_to(ROOT)}; open index.html there, or serve the folder")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
