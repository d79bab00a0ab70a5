"""Servers of ours on loopback: in a thread of this process, or in a process of their own that ends with this one."""

import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

from helpers.limits import call_within

START_S = 120
"""Seconds within which a server has to be up."""


class Server(ThreadingHTTPServer):
    """A server with a thread a request; that a client hangs up, as one that is killed does, is no news."""

    daemon_threads = True

    def handle_error(self, request, client_address):
        """Tell of an error, unless it is a closed connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def run_server(server):
    """Run a server in a thread of this process until the block ends; yields its address.

    A server that has a `token` wants it with each request; it stands in the address, as http://gateway:token@127.0.0.1:port,
    from where clients that take the address as their proxy send it (RFC 9110, Proxy-Authorization).
    """
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        token = f"gateway:{server.token}@" if getattr(server, "token", "") else ""
        yield f"http://{token}127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def start_server(module, *arguments, hint="run it by hand to see why", **settings):
    """Run a module of ours that prints its server's address and serves until its standard input ends; yields that.

    Ctrl-C does not reach it, so that it serves until we are done. `settings` are those of subprocess.Popen. Raises
    RuntimeError, with the hint, when no address comes.
    """
    command, pipes = [sys.executable, "-m", module, *arguments], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, start_new_session=True, **pipes | settings) as process:
        try:
            address = read_address(process)
            if not address.startswith("http://"):
                raise RuntimeError(f"{module} did not start; {hint}")
            yield address
        finally:
            process.kill()


def read_address(process):
    """Return the first line that a server's process prints, "" when none comes within START_S."""
    try:
        return call_within(process.stdout.readline, START_S).strip()
    except TimeoutError:
        return ""
