"""JupyterLab's settings (`make lab`): a notebook is saved in the form in which the notebook runner
keeps it."""

import os
import secrets
import sys
import threading
import time
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

# Whoever reaches the server may run any code: it listens on loopback, wants its token, and answers
# no page of another site. These stand above what a user's own jupyter_server_config says; the
# command line (ARGS) stands above these.
get_config().ServerApp.update(  # noqa: F821
    {
        "ip": "127.0.0.1",
        "allow_remote_access": False,
        "allow_origin": "",
        "allow_origin_pat": "",
        "disable_check_xsrf": False,
    }
)
if not os.environ.get(
    "JUPYTER_TOKEN"
):  # the server shows the address of a token that was set without it
    os.environ["JUPYTER_TOKEN"] = secrets.token_hex(24)
    print(
        f"daybefore: the token of this JupyterLab is {os.environ['JUPYTER_TOKEN']}", file=sys.stderr
    )
get_config().IdentityProvider.token = os.environ["JUPYTER_TOKEN"]  # noqa: F821


def show_address():
    """Print the whole address, key included, once the server listens: the last line that it
    prints."""
    from jupyter_server.serverapp import list_running_servers

    for _ in range(120):
        time.sleep(1)
        for server in list_running_servers():
            if server["pid"] == os.getpid():
                time.sleep(2)  # after the server's own words
                print(
                    f"\ndaybefore: open {server['url']}lab?token={server['token']}",
                    file=sys.stderr,
                    flush=True,
                )
                return


threading.Thread(target=show_address, daemon=True).start()
