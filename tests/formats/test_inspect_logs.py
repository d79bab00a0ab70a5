"""Logs of inspect_ai: what is in a small one comes out; a zip that is wrong or hostile is refused
in one sentence."""

import json
import struct
from pathlib import Path

import pytest
from builders import hold_memory, take_like

from daybefore.formats import inspect_logs

zipfile = inspect_logs.zipfile  # the one that packs both ways, where there is one

LOG = json.loads(Path(__file__).with_name("log.json").read_text(encoding="utf-8"))
HEADER, SAMPLE = LOG["header"], LOG["sample"]
MESSAGES = SAMPLE["messages"]
CALL = MESSAGES[2]["tool_calls"][0]


def write_log(path, sample=SAMPLE, header=HEADER, compression=zipfile.ZIP_DEFLATED, more=None):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("samples/0_epoch_1.json", json.dumps(sample))
        if more is not None:
            archive.writestr("samples/9_epoch_1.json", more)
    return path


def test_a_log_becomes_our_tables(tmp_path):
    log = inspect_logs.read_log(write_log(tmp_path / "a.eval"))
    assert take_like(log._asdict(), LOG["tables"]) == LOG["tables"]


def test_logs_of_several_runs_join_and_one_run_twice_is_refused(tmp_path):
    first = write_log(tmp_path / "a.eval")
    second = write_log(
        tmp_path / "b.eval", header=HEADER | {"eval": HEADER["eval"] | {"task_id": "T2"}}
    )
    assert len(inspect_logs.read_logs([first, second]).traces) == 14
    with pytest.raises(ValueError, match="repeat a key"):
        inspect_logs.read_logs([first, first])


def refuse(path, words):
    with pytest.raises(ValueError, match=words) as caught:
        inspect_logs.read_log(path)
    text = str(caught.value)
    assert (
        path.name in text and str(path.parent) not in text and "\n" not in text and len(text) < 400
    )


def test_both_compressions_are_read(tmp_path):
    methods = (zipfile.ZIP_DEFLATED, zipfile.ZIP_ZSTANDARD)
    logs = [
        inspect_logs.read_logs([write_log(tmp_path / f"{n}.eval", compression=n)]) for n in methods
    ]
    assert (
        zipfile.ZipFile(tmp_path / "93.eval").infolist()[0].compress_type == inspect_logs.ZSTANDARD
    )
    assert all(one.equals(other) for one, other in zip(*logs, strict=True))
    data = bytearray((tmp_path / "93.eval").read_bytes())
    at = data.index(b"\x28\xb5\x2f\xfd")
    data[at + 6 : at + 12] = bytes(6)
    (tmp_path / "broken.eval").write_bytes(data)
    refuse(tmp_path / "broken.eval", "broken.eval cannot be read as a log")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"header": [1]}, "no JSON object"),
        ({"sample": SAMPLE | {"messages": "none"}}, "as a log of inspect_ai"),
        ({"more": "[" * 200_000}, "nested too deep"),
        ({"compression": zipfile.ZIP_BZIP2}, "only the compressions Deflate and Zstandard"),
        ({"compression": zipfile.ZIP_LZMA}, "only the compressions Deflate and Zstandard"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path, given, words):
    refuse(write_log(tmp_path / "a.eval", **given), words)


def test_what_is_no_zip_is_refused(tmp_path):
    (tmp_path / "text.eval").write_bytes(b"no zip")
    refuse(tmp_path / "text.eval", "not a zip")
    refuse(tmp_path / "absent.eval", "No such file")


@pytest.mark.parametrize("method", [inspect_logs.DEFLATED, inspect_logs.ZSTANDARD])
def test_a_zip_that_grows_is_refused_whatever_it_says_of_its_size(tmp_path, monkeypatch, method):
    monkeypatch.setattr(inspect_logs, "MAX_ENTRY", 1 << 20)
    bomb = write_log(
        tmp_path / "b.eval", compression=method, more=json.dumps({"a": "x" * (30 << 20)})
    )
    with hold_memory(10 << 20):
        refuse(bomb, "larger than 1 MB")
    data = bytearray(bomb.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 10)  # its list of contents says ten bytes
    bomb.write_bytes(data)
    refuse(bomb, "b.eval")


@pytest.mark.parametrize(
    ("content", "calls", "n", "said"),
    [
        (
            "attachment://0123456789abcdef " * 2000,
            [],
            1,
            "a message with its attachments is larger than 1 MB",
        ),
        (
            "attachment://0123456789abcdef",
            [],
            2000,
            "its messages with their attachments are larger than 4 MB",
        ),
        ("", [CALL], 2000, "its messages with their attachments are larger than 4 MB"),
    ],
)
def test_attachments_and_calls_named_again_and_again_are_bounded(
    tmp_path, monkeypatch, content, calls, n, said
):
    monkeypatch.setattr(inspect_logs, "MAX_ENTRY", 1 << 20)
    monkeypatch.setattr(inspect_logs, "MAX_TOTAL", 4 << 20)
    big = "x" * 10_000
    calls = [call | {"arguments": {"cmd": big}} for call in calls]
    turns = [{"role": "assistant", "content": content, "tool_calls": calls}] + MESSAGES[
        3:4
    ] * n * bool(calls)
    sample = SAMPLE | {
        "attachments": {"0123456789abcdef": big},
        "messages": turns if calls else turns * n,
    }
    refuse(write_log(tmp_path / "a.eval", sample | {"events": []}), said)
