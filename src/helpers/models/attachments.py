"""Files that go with a prompt, pictures and sound, as the parts of a message that a provider takes.

A recorded request names a file by its digest (`refer`); its bytes stand in what is sent alone (`put_in`).
"""

import base64
import hashlib
from io import BytesIO

from PIL import Image, ImageSequence

from helpers.models.local import get_local_name
from helpers.models.transport import load_litellm

KINDS = {"png": "image", "jpg": "image", "jpeg": "image", "gif": "image", "wav": "audio", "mp3": "audio"}
"""Ending of a file's name -> what a model must take for it."""


def list_taken(entry):
    """Return the kinds of files that an agent's model takes: what its entry says, else what litellm knows of it."""
    if entry.get("takes") is not None or get_local_name(entry):
        return tuple(entry.get("takes") or ())
    litellm = load_litellm()
    knows = {"image": litellm.supports_vision, "audio": litellm.supports_audio_input}
    return tuple(kind for kind, ask in knows.items() if ask(entry["model"]))


def refer(door, paths):
    """Return the parts of a message that stand for files, and let the door know where their bytes are."""
    parts = []
    for path in paths:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        door.files[digest] = path
        parts.append({"type": "file", "name": path.name, "sha256": digest})
    return parts


def put_in(messages, files):
    """Return messages with files in place of the parts that stand for them; `files`: {digest: path}."""
    return [
        message | {"content": [new for part in message["content"] for new in write_parts(part, files)]}
        if isinstance(message.get("content"), list)
        else message
        for message in messages
    ]


def write_parts(part, files):
    """Return the parts, in OpenAI's form, that one part of a message is sent as: of a clip its frames, in order."""
    if part["type"] != "file":
        return [part]
    path = files[part["sha256"]]
    form, body = path.suffix[1:].lower(), path.read_bytes()
    if KINDS[form] == "audio":
        return [{"type": "input_audio", "input_audio": {"data": base64.b64encode(body).decode(), "format": form}}]
    if form == "gif":
        with Image.open(path) as clip:
            pictures = [write_png(frame) for frame in ImageSequence.Iterator(clip)]
    else:
        pictures = [(form.replace("jpg", "jpeg"), body)]
    pairs = [(kind, base64.b64encode(picture).decode()) for kind, picture in pictures]
    return [{"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{data}"}} for kind, data in pairs]


def write_png(frame):
    """Return a clip's frame as ("png", its bytes)."""
    frame.convert("RGB").save(out := BytesIO(), "PNG")
    return "png", out.getvalue()
