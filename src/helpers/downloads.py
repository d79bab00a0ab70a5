"""Files from elsewhere, fetched once and held to their sha256."""

import hashlib
import logging

TIMEOUT_S = 30


def hash_file(path):
    """Return the sha256 of a file in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_file(address, sha256, path):
    """Fetch a file from its address to `path`, unless it is there already; nothing is kept that has another sha256.

    Raises requests.RequestException when it does not arrive, ValueError when another file does.
    """
    import pooch  # here: on import it warns in a notebook without widgets

    pooch.get_logger().setLevel(logging.WARNING)
    options = {"fname": path.name, "path": path.parent, "downloader": pooch.HTTPDownloader(timeout=TIMEOUT_S)}
    pooch.retrieve(address, known_hash=f"sha256:{sha256}", **options)
