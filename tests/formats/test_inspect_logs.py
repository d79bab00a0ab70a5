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
BIG = "x" * 10_000
ATTACHED = "attachment://0123456789abcdef"
CALL = MESSAGES[2]["tool_calls"][0] | {"arguments": {"cmd": BIG}}


def write_log(path, sample=SAMPLE, header=HEADER, compression=zipfile.ZIP_DEFLATED, more=None):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("samples/0_epoch_1.json", json.dumps(sample))
        if more is not None:
            archive.writestr("samples/9_epoch_1.json", more)
    return path


def refuse(path, words):
    with pytest.raises(ValueError, match=words) as caught:
        inspect_logs.read_log(path)
    text = str(caught.value)
    assert path.name in text and str(path.parent) not in text
    assert "\n" not in text and len(text) < 400


@pytest.mark.parametrize("method", [inspect_logs.DEFLATED, inspect_logs.ZSTANDARD])
def test_a_log_of_either_compression_becomes_our_tables(tmp_path, method):
    path = write_log(tmp_path / "a.eval", compression=method)
    assert {entry.compress_type for entry in zipfile.ZipFile(path).infolist()} == {method}
    assert take_like(inspect_logs.read_log(path)._asdict(), LOG["tables"]) == LOG["tables"]
    data = bytearray(path.read_bytes())
    data[60:70] = bytes(10)
    path.write_bytes(data)
    refuse(path, "a.eval cannot be read as a log")


def test_logs_of_several_runs_join_and_one_run_twice_is_refused(tmp_path):
    first, other = write_log(tmp_path / "a.eval"), HEADER["eval"] | {"task_id": "T2"}
    second = write_log(tmp_path / "b.eval", header=HEADER | {"eval": other})
    assert len(inspect_logs.read_logs([first, second]).traces) == 14
    with pytest.raises(ValueError, match="repeat a key"):
        inspect_logs.read_logs([first, first])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"header": [1]}, "no JSON object"),
        ({"sample": SAMPLE | {"messages": "none"}}, "as a log of inspect_ai"),
        ({"more": "[" * 200_000}, "nested too deep"),
        ({"compression": zipfile.ZIP_BZIP2}, "only the compressions Deflate and Zstandard"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path, given, words):
    refuse(write_log(tmp_path / "a.eval", **given), words)
    (tmp_path / "text.eval").write_bytes(b"no zip")
    refuse(tmp_path / "text.eval", "not a zip")
    refuse(tmp_path / "absent.eval", "No such file")


@pytest.mark.parametrize("method", [inspect_logs.DEFLATED, inspect_logs.ZSTANDARD])
def test_a_zip_that_grows_is_refused_whatever_it_says_of_its_size(tmp_path, monkeypatch, method):
    monkeypatch.setattr(inspect_logs, "MAX_ENTRY", 1 << 20)
    more = json.dumps({"a": "x" * (30 << 20)})
    bomb = write_log(tmp_path / "b.eval", compression=method, more=more)
    with hold_memory(10 << 20):
        refuse(bomb, "larger than 1 MB")
    data = bytearray(bomb.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 10)  # its list of contents says ten bytes
    bomb.write_bytes(data)
    refuse(bomb, "b.eval")


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        (
            [{"content": f"{ATTACHED} " * 2000}],
            "a message with its attachments is larger than 1 MB",
        ),
        ([{"content": ATTACHED}] * 2000, "its messages with their attachments are larger than 4"),
        ([{"tool_calls": [CALL]}] + MESSAGES[3:4] * 2000, "its messages with their attachments"),
    ],
)
def test_attachments_and_calls_named_again_and_again_are_bounded(
    tmp_path, monkeypatch, turns, said
):
    monkeypatch.setattr(inspect_logs, "MAX_ENTRY", 1 << 20)
    monkeypatch.setattr(inspect_logs, "MAX_TOTAL", 4 << 20)
    attached = {"events": [], "attachments": {"0123456789abcdef": BIG}}
    turns = [{"role": "assistant"} | turn for turn in turns]
    refuse(write_log(tmp_path / "a.eval", SAMPLE | attached | {"messages": turns}), said)
