"""Secrets in what is written: keys are found in every form that a text may hold them in, and
hidden."""

import base64
import json
import re
from functools import lru_cache
from urllib.parse import quote, quote_plus

SECRET_NAMES = re.compile(r"(^|_)(KEYS?|TOKENS?|SECRETS?|PASSWORDS?|CREDENTIALS?)$", re.IGNORECASE)
"""How an environment variable that holds a secret ends."""

MIN_SECRET = 8
"""Shorter values are not taken for secrets, nor looked for in base64: hiding "1" everywhere would
spoil every text."""


def list_secrets(environment):
    """Return the values of all environment variables whose name says that they hold a key, token or
    password.

    >>> list_secrets({"OPENAI_API_KEY": "sk-123456789", "HOME": "/home/me", "N_TOKENS": "4"})
    ('sk-123456789',)
    """
    return tuple(
        sorted(
            {v for k, v in environment.items() if SECRET_NAMES.search(k) and len(v) >= MIN_SECRET}
        )
    )


@lru_cache(maxsize=64)
def compile_secrets(secrets):
    """Return a pattern that finds every form of some secrets (a tuple), the longest first; None
    without secrets.

    A text may hold one as it is, in JSON, URL-encoded, in hex, in base64: of a longer text that
    holds it this depends on where it starts (3 cases), so the part that only the secret decides is
    looked for.
    """
    forms = set()
    for secret in filter(None, secrets):
        data = secret.encode()
        forms |= {
            secret,
            json.dumps(secret)[1:-1],
            quote(secret, safe=""),
            quote(secret),
            quote_plus(secret),
        }
        forms |= {data.hex(), data.hex().upper()} if len(data) >= MIN_SECRET else set()
        for shift in range(3) if len(data) >= MIN_SECRET else ():
            text = base64.b64encode(b"\0" * shift + data).decode()[
                -(-8 * shift // 6) : 8 * (shift + len(data)) // 6
            ]
            forms |= {text, text.translate(str.maketrans("+/", "-_"))}
    ordered = map(re.escape, sorted(forms, key=lambda form: (-len(form), form)))
    return (
        re.compile("|".join(re.sub("%[0-9A-F]{2}", r"(?i:\g<0>)", form) for form in ordered))
        if forms
        else None
    )


def hide_secrets(value, secrets):
    """Return a value (text, or lists and dicts of them) with "<secret>" for every form of the
    secrets."""
    pattern = compile_secrets(tuple(secrets))
    if pattern is None:
        return value
    if isinstance(value, str):
        return pattern.sub("<secret>", value)
    if isinstance(value, dict):
        return {
            hide_secrets(key, secrets): hide_secrets(part, secrets) for key, part in value.items()
        }
    return (
        [hide_secrets(part, secrets) for part in value]
        if isinstance(value, list | tuple)
        else value
    )


def redact(text, secrets=()):
    """Return a text on one line without secrets, this machine's paths and memory addresses, at most
    500 characters.

    >>> redact("no /home/me/data.csv for key sk-12 at 0x7f3a2b1c at http://a.replay/b/c", secrets=["sk-12"])
    'no <path> for key <secret> at <address> at http://a.replay/b/c'
    """
    text = re.sub(r"(?<![\w:/.])(?:/[\w.@+-]+){2,}/?", "<path>", hide_secrets(text, secrets))
    return " ".join(re.sub(r"\b0x[0-9a-f]{6,}\b", "<address>", text).split())[:500]
