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


def list_faults(page, base, name):
    """Return what is wrong with a page of the site, as sentences."""
    faults = []

    def note(line):
        if line.type == "error":
            faults.append(f"console: {line.text}")

    page.on("console", note)
    page.on("pageerror", lambda error: faults.append(f"script: {error}"))
    page.goto(base + name, wait_until="load")
    width = page.evaluate("document.documentElement.scrollWidth")
    if width > WIDTH:
        faults.append(f"{width} pixels wide on a screen of {WIDTH}")
    links = (link.split("#")[0] for link in page.evaluate(LINKS) if link.startswith(base))
    paths = {link.removeprefix(base) for link in links}
    lost = sorted(path for path in paths if not (SITE / path).exists())
    return faults + [f"leads nowhere: {path}" for path in lost]


def main(chromium):
    """Open all pages, print what is wrong with each, and return 1 where anything is."""
    SimpleHTTPRequestHandler.log_message = lambda *_: None
    serve = functools.partial(SimpleHTTPRequestHandler, directory=SITE)
    server = ThreadingHTTPServer(("127.0.0.1", 0), serve)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    names = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
    wrong = []
    with sync_playwright() as play:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = play.chromium.launch(executable_path=chromium, args=arguments)
        for name in names:
            page = browser.new_page(viewport={"width": WIDTH, "height": 844})
            wrong += [f"{name}: {fault}" for fault in list_faults(page, base, name)]
            page.close()
        browser.close()
    print("\n".join([*wrong, f"{len(names)} pages opened, {len(wrong)} faults"]))
    return bool(wrong)


if __name__ == "__main__":
    chromium = next(iter(sys.argv[1:]), None)
    chromium = chromium or shutil.which("chromium") or shutil.which("google-chrome")
    sys.exit(main(chromium) if chromium else "no Chromium here: apt install chromium")
