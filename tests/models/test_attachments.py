"""Files beside a prompt: what a server is sent of them, and what is kept."""

import base64
from io import BytesIO

import pytest
from PIL import Image

from daybefore.models.attachments import list_taken
from daybefore.models.costs import bound_cost
from daybefore.models.grammars import make_schema
from daybefore.models.judges import build_consult

SCHEMA = make_schema(answer={"type": "string"})


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / name for name in ("chart.png", "photo.jpg", "clip.gif", "speech.mp3")]
    frames = [Image.new("L", (8, 8), grey) for grey in (0, 128, 255)]
    for path in paths[:2]:
        frames[1].save(path)
    frames[0].save(paths[2], save_all=True, append_images=frames[1:])
    paths[3].write_bytes(b"\xff\xf3 sound")
    return paths


def test_a_server_gets_the_files_and_a_recording_their_digests(files, knock, provider):
    provider.answer = lambda asked: {"content": '{"answer": "grey"}'}
    door = knock(takes=("image", "audio"))
    consult = build_consult(door, "openai/mock-1", False)
    assert consult("What is it?", SCHEMA, attachments=files).value == {"answer": "grey"}
    words, png, jpg, *clip, sound = provider.asked[0]["messages"][0]["content"]
    assert words == {"type": "text", "text": "What is it?"}
    for part, path, kind in ((png, files[0], "png"), (jpg, files[1], "jpeg")):
        head, data = part["image_url"]["url"].split(",")
        assert head == f"data:image/{kind};base64" and base64.b64decode(data) == path.read_bytes()
    pictures = [
        Image.open(BytesIO(base64.b64decode(part["image_url"]["url"].split(",")[1])))
        for part in clip
    ]
    assert [picture.getpixel((0, 0)) for picture in pictures] == [(0,) * 3, (128,) * 3, (255,) * 3]
    assert sound["input_audio"]["format"] == "mp3"
    assert base64.b64decode(sound["input_audio"]["data"]) == files[3].read_bytes()
    (row,) = door.recordings.rows.values()
    kept = row["request"]["messages"][0]["content"]
    assert [part["type"] for part in kept] == ["text"] + ["attachment"] * 4 and kept[1][
        "name"
    ] == "chart.png"
    assert (
        consult("What is it?", SCHEMA, attachments=files).status == "ok"
        and len(provider.asked) == 1
    )
    files[0].write_bytes(
        files[1].read_bytes()
    )  # another file under the same name is another request
    assert (
        consult("What is it?", SCHEMA, attachments=files).status == "ok"
        and len(provider.asked) == 2
    )


def test_what_a_model_does_not_take_is_not_sent(files, knock, provider):
    consult = build_consult(knock(takes=("image",)), "openai/mock-1", False)
    verdict = consult("What is it?", SCHEMA, attachments=files)
    assert (verdict.status, verdict.reason) == (
        "lacking",
        "the model takes no audio",
    ) and not provider.asked


def test_a_clip_that_is_none_is_told(files, knock, provider):
    files[2].write_bytes(b"GIF89a")
    verdict = build_consult(knock(takes=("image", "audio")), "openai/mock-1", False)(
        "?", SCHEMA, attachments=files
    )
    assert (verdict.status, provider.asked) == ("lacking", []) and "clip.gif" in verdict.reason


def test_the_bytes_of_files_count_in_the_bound(files, knock):
    door = knock(takes=("image", "audio"), prices=(1.0, 0.0))
    build_consult(door, "openai/mock-1", False)("What is it?", SCHEMA, attachments=files)
    (row,) = door.recordings.rows.values()
    n_bytes = sum(len(base64.b64encode(path.read_bytes())) for path in files)
    assert bound_cost(door, row["request"]) > n_bytes


@pytest.mark.parametrize(
    "entry, takes",
    [
        ({"model": "openai/gpt-4o"}, ("image",)),
        ({"model": "openai/gpt-3.5-turbo"}, ()),
        ({"model": "openai/mine", "takes": ["image", "audio"]}, ("image", "audio")),
        ({"model": "openai/gpt-4o", "takes": []}, ()),
        ({"model": "local/qwen"}, ()),
    ],
)
def test_kinds_are_what_an_entry_says_or_litellm_knows(entry, takes):
    assert list_taken(entry) == takes
