"""Open every page of the site as a phone would:  .ci/look.py [CHROMIUM]  (after `make site`; needs a Chromium)

Serves .make/site on loopback and opens each page in a headless browser 390 pixels wide. Ends with
1, and a sentence each, where the console has an error, a link or picture leads nowhere, or the page
is wider than the screen.
"""

import functools
import shutil
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import sync_playwright

SITE = Path(__file__).resolve().parents[1] / ".make/site"
WIDTH = 390
LINKS = "[...document.querySelectorAll('a[href], img[src]')].map(one => one.href || one.src)"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and prints nothing."""

    def log_message(self, *args):
        """Print nothing."""


def open_page(browser, address):
    """Return a page's faults, as sentences, and the addresses it links to."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 844})
    faults = []
    page.on(
        "console",
        lambda line: faults.append(f"console: {line.text}") if line.type == "error" else None,
    )
    page.on("pageerror", lambda error: faults.append(f"script: {error}"))
    page.goto(address, wait_until="load")
    width = page.evaluate("document.documentElement.scrollWidth")
    if width > WIDTH:
        faults.append(f"{width} pixels wide on a screen of {WIDTH}")
    links = page.evaluate(LINKS)
    page.close()
    return faults, links


def main(chromium):
    """Open all pages, print what is wrong with each, and return 1 where anything is."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    wrong, pages = [], sorted(SITE.rglob("*.html"))
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        for path in pages:
            name = path.relative_to(SITE).as_posix()
            faults, links = open_page(browser, base + name)
            lost = {link for link in links if link.startswith(base)}
            lost = {
                link for link in lost if not (SITE / link.split("#")[0].removeprefix(base)).exists()
            }
            faults += [f"leads nowhere: {link.removeprefix(base)}" for link in sorted(lost)]
            wrong += [f"{name}: {fault}" for fault in faults]
        browser.close()
    print("\n".join([*wrong, f"{len(pages)} pages opened, {len(wrong)} faults"]))
    return bool(wrong)


if __name__ == "__main__":
    found = (
        sys.argv[1]
        if len(sys.argv) > 1
        else shutil.which("chromium") or shutil.which("google-chrome")
    )
    if not found:
        sys.exit("no Chromium here: apt install chromium, or give its path")
    sys.exit(main(found))
