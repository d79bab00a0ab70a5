"""Servers of tests on loopback, in a thread of this process."""

import sys
import threading
from contextlib import contextmanager
from http.server import ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """A server with a thread a request; that a client hangs up, as one that is killed does, is no
    news."""

    daemon_threads = True

    def handle_error(self, request, client_address):
        """Tell of an error, unless it is a closed connection."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


@contextmanager
def run_server(server):
    """Run a server in a thread of this process until the block ends; yields its address."""
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
