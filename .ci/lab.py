"""JupyterLab's settings (`make lab`): a notebook is saved in the form in which the notebook runner
keeps it."""

import os
import secrets
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


# Whoever reaches the server may run any code: it listens on loopback, wants its token, and answers
# no page of another site. These stand above what a user's own jupyter_server_config says; the
# command line (ARGS) stands above these.
settings = get_config()  # noqa: F821  (traitlets hands it in)
settings.ContentsManager.pre_save_hook = save_in_form
settings.ServerApp.update(
    {
        "ip": "127.0.0.1",
        "allow_remote_access": False,
        "allow_origin": "",
        "allow_origin_pat": "",
        "disable_check_xsrf": False,
    }
)
settings.IdentityProvider.token = os.environ.get("JUPYTER_TOKEN") or secrets.token_hex(24)
told = f"daybefore: the address ends in ?token={settings.IdentityProvider.token}"
print(told, file=sys.stderr)  # the server shows it without
