"""Files that go with a prompt, pictures and sound, as the parts of a message that a provider takes.

A recorded request names a file by its digest; its bytes stand in what is sent alone.
"""

import base64
import hashlib
from io import BytesIO

from PIL import Image, ImageSequence

from daybefore.models.local_server import get_local_name
from daybefore.models.transport import load_litellm

KINDS = {
    "png": "image",
    "jpg": "image",
    "jpeg": "image",
    "gif": "image",
    "wav": "audio",
    "mp3": "audio",
}
"""Ending of a file's name -> what a model must take for it."""


def list_taken(entry):
    """Return the kinds of files that an agent's model takes: what its entry says, else what litellm
    knows of it."""
    if "takes" in entry or get_local_name(entry):
        return tuple(entry.get("takes") or ())
    litellm = load_litellm()
    knows = {"image": litellm.supports_vision, "audio": litellm.supports_audio_input}
    return tuple(kind for kind, ask in knows.items() if ask(entry["model"]))


def find_kind(path):
    """Return what a model must take for a file, None for one that is no picture and no sound."""
    return KINDS.get(path.suffix[1:].lower())


def refer(door, paths):
    """Return the parts of a message that stand for files; the door gets what is sent in their
    place.

    Raises OSError for a file that cannot be read, or a clip that is none.
    """
    parts = []
    for path in paths:
        body = path.read_bytes()
        digest = hashlib.sha256(body).hexdigest()
        door.files[digest] = write_parts(path.suffix[1:].lower(), body)
        parts.append({"type": "attachment", "name": path.name, "sha256": digest})
    return parts


def write_parts(form, body):
    """Return the parts, in OpenAI's form, that a file is sent as: of a clip its frames, in order,
    as PNG."""
    if KINDS[form] == "audio":
        sound = {"data": base64.b64encode(body).decode(), "format": form}
        return [{"type": "input_audio", "input_audio": sound}]
    pictures = [body]
    if form == "gif":
        form = "png"
        pictures = []
        with Image.open(BytesIO(body)) as clip:
            for frame in ImageSequence.Iterator(clip):
                frame.convert("RGB").save(out := BytesIO(), "PNG")
                pictures.append(out.getvalue())
    head = f"data:image/{form.replace('jpg', 'jpeg')};base64,"
    return [
        {"type": "image_url", "image_url": {"url": head + base64.b64encode(picture).decode()}}
        for picture in pictures
    ]


def put_in(messages, files):
    """Return messages with files in place of the parts that stand for them; `files`: {digest:
    parts}."""

    filled = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            parts = [
                files[part["sha256"]] if part["type"] == "attachment" else [part]
                for part in content
            ]
            message = message | {"content": sum(parts, [])}
        filled.append(message)
    return filled
