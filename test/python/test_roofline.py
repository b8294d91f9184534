"""The measured roofline: numbers that can be true, kept on disk as JSON, refused when damaged.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import dataclasses
import json
import os
import subprocess
import sys

import pytest

import tessera as tsr
from tessera import _runtime, roofline


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(roofline, "_measured", {})
    folder = tmp_path / "cache"
    monkeypatch.setattr(tsr.knobs, "cache", str(folder))
    return folder


def file_of(cache):
    (found,) = cache.glob("roofline-*.json")
    return found


def test_is_measured_once_per_machine(cache, monkeypatch):
    first = tsr.roofline.measure(seconds=0.1, threads=(1,))
    assert roofline.measure(threads=(1,)) is first
    assert file_of(cache).stat().st_mode & 0o777 == 0o600
    # Another process reads what this one wrote, and measures nothing.
    monkeypatch.setattr(roofline, "_measured", {})
    monkeypatch.setattr(_runtime, "roof_measure", None)
    assert roofline.measure(threads=(1,)) == first


def test_fresh_measures_again(cache, monkeypatch):
    first = roofline.measure(seconds=0.1, threads=(1,))
    calls = []
    real = _runtime.roof_measure
    monkeypatch.setattr(_runtime, "roof_measure", lambda *args: calls.append(args) or real(*args))
    assert roofline.measure(seconds=0.0, threads=(1,), fresh=True) is not first
    assert len(calls) == 2 * len(_runtime.ROOFS)


@pytest.mark.parametrize("damage", [
    lambda tree: tree.update(format=99),
    lambda tree: tree["roofs"].pop(),
    lambda tree: tree["roofs"][0].update(best="fast"),
    lambda tree: tree["roofs"][0].update(best=-1.0),
    lambda tree: tree["roofs"][0].update(best=float("nan")),
    lambda tree: tree["roofs"][0].update(unit="furlong/s"),
    lambda tree: tree["roofs"][0].update(colour="red"),
    lambda tree: tree["roofs"][0].update(threads=7),
])
def test_a_damaged_file_is_a_miss(cache, damage):
    found = roofline.measure(seconds=0.0, threads=(1,))
    text = file_of(cache).read_text()
    assert roofline._parse(text.encode(), (1,)) == found
    tree = json.loads(text)
    damage(tree)
    assert roofline._parse(json.dumps(tree).encode(), (1,)) is None
    assert roofline._parse(text.encode()[:-9], (1,)) is None


def test_an_old_file_is_a_miss(cache, monkeypatch):
    first = roofline.measure(seconds=0.0, threads=(1,))
    monkeypatch.setattr(roofline, "_measured", {})
    os.utime(file_of(cache), (0, 0))
    assert roofline.measure(seconds=0.0, threads=(1,)) is not first


def test_a_linked_file_is_not_read(cache, tmp_path, monkeypatch):
    roofline.measure(seconds=0.0, threads=(1,))
    real = file_of(cache)
    real.rename(tmp_path / "elsewhere.json")
    real.symlink_to(tmp_path / "elsewhere.json")
    monkeypatch.setattr(roofline, "_measured", {})
    key = ((1,), _runtime.cpu_signature())
    assert roofline._read(key) is None


def test_the_roof_bounds_time():
    def roof(name, best, bytes=0, missing=""):
        return roofline.Roof(name, dict(_runtime.ROOFS)[name], 1, best, best, 3, bytes, missing)

    rates = {"fma_f32_avx2": 1e9, "fma_f32_avx512": 2e9, "fma_f16_avx512": 4e9, "amx_bf16": 0.0, "amx_i8": 32e9, "read_l1": 8e9, "read_l2": 4e9,
             "read_l3": 2e9, "read_dram": 1e9, "copy": 1e9, "copy_stream": 2e9}
    sets = {"read_l1": 1000, "read_l2": 10000, "read_l3": 100000, "read_dram": 10**6}
    machine = roofline.Roofline("test", "2026-01-01", tuple(roof(name, rate, sets.get(name, 0)) for name, rate in rates.items()))
    assert machine.peak("fp32") == 2e9 and machine.peak(tsr.fp16) == 4e9 and machine.peak("torch.int8") == 32e9
    assert machine.peak_name("bf16") == "fma_f32_avx512"  # no AMX here
    assert machine.time(flops=4e9, bytes=2e9) == 2.0 and machine.time(flops=1e9, bytes=8e9) == 4.0
    assert machine.time(bytes=8e9, level="l1") == 1.0
    assert [machine.level(n) for n in (2000, 2001, 200000, 200001)] == ["read_l1", "read_l2", "read_l3", "read_dram"]
    with pytest.raises(tsr.ArgumentError, match="no roof is called 'l9'"):
        machine.find("l9")
    with pytest.raises(tsr.ArgumentError, match="not measured with 2 threads"):
        machine.rate("copy", 2)
    with pytest.raises(tsr.ArgumentError, match="no register peak for fp64"):
        machine.peak("fp64")
    gone = dataclasses.replace(machine, roofs=(*machine.roofs[:3], roof("amx_bf16", 0.0, missing="this processor has no amx-tile"), *machine.roofs[4:]))
    assert "not measured  (this processor has no amx-tile)" in str(gone)


def test_the_better_of_two_is_remembered(cache, monkeypatch):
    first = roofline.measure(seconds=0.0, threads=(1,))
    fast = dataclasses.replace(first, roofs=(dataclasses.replace(first.roofs[0], best=9e15), *first.roofs[1:]))
    both = first.better(fast)
    assert both == fast.better(first) and both.roofs[0].best == 9e15 and both.roofs[1:] == first.roofs[1:]
    roofline.remember(both)
    monkeypatch.setattr(roofline, "_measured", {})
    assert roofline.measure(threads=(1,)) == both


def test_refuses_threads_that_kernels_have_not(cache):
    most = tsr.num_threads()
    with pytest.raises(tsr.ArgumentError, match=f"threads must be 1 to {most}"):
        roofline.measure(threads=(most + 1,))
    with pytest.raises(tsr.ArgumentError, match="seconds must be"):
        roofline.measure(seconds=-1)


def test_the_command(tmp_path):
    environment = {**os.environ, "TESSERA_CACHE": str(tmp_path / "c"), "TESSERA_HIDE_CPU_FEATURES": "amx-tile"}
    run = [sys.executable, "-m", "tessera", "roofline", "--seconds", "0.1", "--threads", "1"]
    shown = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout
    assert "copy_stream" in shown and "GB/s" in shown
    assert "not measured  (this processor has no amx-tile)" in shown
    tree = json.loads(subprocess.run([*run, "--json"], env=environment, capture_output=True, text=True, check=True).stdout)
    assert {roof["name"] for roof in tree["roofs"]} == {name for name, _ in _runtime.ROOFS}
    bad = subprocess.run([*run[:-1], "999"], env=environment, capture_output=True, text=True)
    assert bad.returncode == 2 and "threads must be 1 to" in bad.stderr


def test_amx_probe_is_of_this_moment():
    rate = roofline.amx_probe()
    if _runtime.missing_cpu_feature("amx-bf16"):
        assert rate == 0
    else:
        assert 1e10 < rate < 1e13
