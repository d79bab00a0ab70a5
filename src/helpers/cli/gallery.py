"""A page of figures that opens from disk: what was drawn, each with the numbers it shows, and tables above it."""

from jinja2 import ChainableUndefined, Environment, PackageLoader, select_autoescape
from PIL import Image


def open_templates():
    """Return the templates of this room; what a model or a page said is escaped."""
    loader, is_html = PackageLoader(__package__, "pages"), select_autoescape(["html"])
    return Environment(autoescape=is_html, undefined=ChainableUndefined, loader=loader, trim_blocks=True)


def list_figures(folder):
    """Return the figures of a folder, sorted by name: each with name, title and what it rests on, as the image says."""
    found = []
    for path in sorted(folder.glob("*.png")):
        with Image.open(path) as picture:
            found.append({"name": path.stem, "title": picture.text.get("Title", path.stem)})
    return found


def write_markdown(table):
    """Return a table of texts as markdown.

    >>> import pandas as pd
    >>> print(write_markdown(pd.DataFrame({"agent": ["a|b"], "score": ["0.5"]})))
    | agent | score |
    | --- | --- |
    | a\\|b | 0.5 |
    """
    rows = [list(table), ["---"] * table.shape[1], *table.to_numpy().tolist()]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows)


def write_gallery(folder, title, figures, tables=None, notes=(), refused=(), files=None):
    """Write folder/index.html: tables by heading, sentences, links to `files`, and the figures of folder/figures."""
    facts = {"title": title, "figures": figures, "tables": tables or {}, "notes": notes, "refused": refused}
    page = open_templates().get_template("gallery.html").render(**facts, files=files or {})
    (folder / "index.html").write_text(page, encoding="utf-8")
