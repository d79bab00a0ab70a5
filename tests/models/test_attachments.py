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


def test_a_server_gets_the_files_and_a_recording_their_digests(files, knock, provider):
    provider.answer = lambda asked: {"content": '{"answer": "grey"}'}
    door = knock(takes=("image", "audio"), prices=(1.0, 0.0))

    def judge():
        consult = build_consult(door, "openai/mock-1", False)
        assert consult("What is it?", SCHEMA, attachments=files).value == {"answer": "grey"}

    judge()
    words, *pictures, sound = provider.asked[0]["messages"][0]["content"]
    assert words == {"type": "text", "text": "What is it?"}
    parts = [part["image_url"]["url"].split(",") for part in pictures]
    heads = [head.removeprefix("data:image/") for head, _ in parts]
    assert heads == ["png;base64", "jpeg;base64", *["png;base64"] * 3]
    sent = [base64.b64decode(data) for _, data in parts]
    assert sent[:2] == [path.read_bytes() for path in files[:2]]
    assert [Image.open(BytesIO(one)).getpixel((0, 0))[0] for one in sent[2:]] == [0, 128, 255]
    assert sound["input_audio"]["format"] == "mp3"
    assert base64.b64decode(sound["input_audio"]["data"]) == files[3].read_bytes()
    (row,) = door.recordings.rows.values()
    kept = row["request"]["messages"][0]["content"]
    assert [part["type"] for part in kept] == ["text"] + ["attachment"] * 4
    n_bytes = sum(len(base64.b64encode(path.read_bytes())) for path in files)
    assert bound_cost(door, row["request"]) > n_bytes, "a file's bytes count in the bound"
    judge()
    assert len(provider.asked) == 1
    files[0].write_bytes(files[1].read_bytes())  # under the same name: another request
    judge()
    assert len(provider.asked) == 2


def test_what_a_model_does_not_take_or_cannot_be_read_is_not_sent(files, knock, provider):
    files[2].write_bytes(b"GIF89a")
    for takes, told in (("image",), "the model takes no audio"), (("image", "audio"), "clip.gif"):
        consult = build_consult(knock(takes=takes), "openai/mock-1", False)
        verdict = consult("What is it?", SCHEMA, attachments=files)
        assert verdict.status == "lacking" and told in verdict.reason and not provider.asked
