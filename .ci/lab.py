"""JupyterLab's settings (`make lab`): a notebook is saved in the form in which the notebook runner keeps it."""

import sys
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).parent))
from form import put_in_form  # noqa: E402


def save_in_form(model, **_):
    """Put a notebook that is about to be saved in form."""
    if model["type"] == "notebook":
        model["content"] = nbformat.from_dict(model["content"])
        put_in_form(model["content"])


get_config().ContentsManager.pre_save_hook = save_in_form  # noqa: F821  (traitlets hands it in)
