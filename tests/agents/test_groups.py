"""Control groups of version 2, on a made-up tree: where a group is made, how its time is read."""

from pathlib import Path

import pytest

from daybefore.agents import groups


@pytest.mark.parametrize("own", ["", "user.slice/kit.service"])
def test_a_group_of_version_2_is_made_below_this_process_and_read(own, tmp_path, monkeypatch):
    base = tmp_path / "sys/fs/cgroup" / own
    base.mkdir(parents=True)
    (base / "cpu.stat").write_text("usage_usec 9\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(f"0::/{own}\n")

    def redirect(first, *more):
        inside = str(first).startswith(str(tmp_path))
        return Path(first if inside else f"{tmp_path}{first}", *more)

    monkeypatch.setattr(groups, "Path", redirect)
    with groups.open_cgroup() as made:
        procs, usage, unit = made
        assert procs.parent.parent == base and procs.name == "cgroup.procs"
        usage.write_text(
            "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n"
        )  # the kernel's file
        assert groups.read_usage(made) == 2.5 and unit == 1e6
    (base / "cpu.stat").unlink()
    with groups.open_cgroup() as made:
        assert made is None and groups.read_usage(made) == 0.0, "the kernel has no such group here"
