"""A headless Chromium for tests of pages, driven by its DevTools protocol over two pipes (no port, no package)."""

import contextlib
import itertools
import json
import os
import shutil
import subprocess

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
"""Where the browser is, None where there is none."""


class Tab:
    """One page of the browser: `call` sends a command of the protocol, `run` evaluates an expression in the page."""

    def __init__(self, out, back):
        self.out, self.back, self.ids, self.session = out, back, itertools.count(1), None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def call(self, method, **params):
        """Return a command's result. Raises RuntimeError with what the browser says against it."""
        message = {"id": next(self.ids), "method": method, "params": params}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = json.loads(b"".join(iter(lambda: self.back.read(1), b"\0")))
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def run(self, expression):
        """Return the value of an expression in the page, a promise's when it is kept. Raises RuntimeError."""
        told = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            raise RuntimeError(told["exceptionDetails"]["exception"].get("description", "threw"))
        return told["result"].get("value")

    def open(self, url, width=1280, height=900, scheme="light"):
        """Open an address at a window's size and wait until it is loaded."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def wait(self, condition, seconds=10):
        """Wait until an expression in the page is true. Raises RuntimeError when it does not become so in time."""
        self.run(
            f"new Promise((kept, broken) => {{ const end = Date.now() + {1000 * seconds}; const look = () => "
            f"({condition}) ? kept() : Date.now() > end ? broken(new Error('never: ' + {json.dumps(condition)})) "
            ": setTimeout(look, 20); look(); })"
        )

    def press(self, key, code, text=""):
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)


@contextlib.contextmanager
def open_browser(folder):
    """Start Chromium with its settings under a folder; yields a Tab."""
    told_read, told_write = os.pipe()
    back_read, back_write = os.pipe()

    def place_pipes():
        os.dup2(told_read, 3), os.dup2(back_write, 4)

    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    command += ["--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={folder}"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    process = subprocess.Popen(command, preexec_fn=place_pipes, pass_fds=(3, 4), **quiet)
    os.close(told_read), os.close(back_write)
    with open(back_read, "rb", buffering=0) as back:
        try:
            yield Tab(told_write, back)
        finally:
            os.close(told_write)
            process.terminate()
            process.wait(10)
