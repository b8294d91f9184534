"""`tessera gpu-selftest` on the simulator's driver, posing as this machine's GPU.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import tessera as tsr
from tessera import cuda, selftest, selftest_cases
from tessera.sim import driver


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    monkeypatch.setenv("TESSERA_CUDA_DRIVER", driver.library().path)
    cuda.device.cache_clear()
    yield cuda.device()
    cuda.device.cache_clear()


def command(*arguments, **variables):
    return subprocess.run([sys.executable, "-m", "tessera", "gpu-selftest", *arguments], capture_output=True, text=True, env={**os.environ, **variables})


def named(name):
    return next(case for case in selftest_cases.CASES if case.name == name)


def test_the_command(tmp_path):
    path = tmp_path / "out.json"
    done = command("--only", "transpose", "--output", str(path), TESSERA_SIM_ARCH="sm_89")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Tessera simulator (sm_89) (sm_89), driver 13.2, tessera ")
    assert lines[1].split() == ["kernel", "dtype", "extents", "result"]
    assert lines[2].split()[:5] == ["transpose", "fp32", "64", "x", "128"] and lines[2].endswith("equal bits")
    assert "6 ok; " in lines[-2] and "times: not measured" in lines[-2] and str(path) in lines[-1]
    assert "\033" not in done.stdout + done.stderr and "\r" not in done.stderr
    found = json.loads(path.read_text())
    assert found["format"] == "tessera.gpu-selftest 1" and found["is_simulator"] and found["capability"] == [8, 9] and found["target"] == "sm_89"
    assert found["summary"] == {"ok": 6, "wrong": 0, "error": 0, "not done": 0, "skipped": 0}
    assert {(entry["dtype"], *entry["extents"]) for entry in found["results"]} >= {("i32", 7, 65), ("fp16", 64, 128)}


def test_without_a_driver():
    done = command(TESSERA_CUDA_DRIVER="/nowhere.so")
    assert done.returncode == 2 and done.stderr.startswith("error: there is no CUDA driver: /nowhere.so: cannot open")


def test_what_is_not_reached_is_skipped(tmp_path):
    path = tmp_path / "out.json"
    done = command("--only", "softmax", "--seconds", "0", "--output", str(path))
    assert done.returncode == 0 and json.loads(path.read_text())["summary"]["skipped"] > 5


def test_a_check_and_the_simulator(machine):
    found = selftest.check(named("gemm"), "fp16", (65, 127, 33), machine, simulate=True)
    assert found["compared"] == "bounds" and found["wrong"] is None and 0 < found["error_over_bound"] <= 1
    assert found["simulator"] == "equal bits"
    assert selftest.check(named("gemm of small integers"), "bf16", (1, 200, 7), machine)["wrong"] is None


def test_a_time(machine):
    """The code that times kernels on a GPU, at a size for the simulator; what it measures says nothing."""
    found = selftest.measure(named("gemm"), "fp32", (16, 16, 16), machine)
    assert found["milliseconds"] > 0 and found["tflops"] == 2 * 16**3 / found["milliseconds"] / 1e9


@pytest.mark.parametrize("case", [case for case in selftest_cases.CASES if case.timed], ids=lambda case: case.name)
def test_everything_that_is_timed_can_be(machine, case):
    """Past Python's part of a call the same kernels write the same results."""
    extents = min(case.extents, key=np.prod)
    args = case.make(selftest_cases.Inputs(case.dtypes[0], extents), *extents)
    there = [cuda.array(a) for a in args]
    try:
        made = case.fn(*there, **case.constants)
    except tsr.CompileError as error:
        pytest.skip(str(error).splitlines()[0])
    before = [result.numpy() for result in selftest._flat(made)]
    fresh = tuple(cuda.array(np.zeros_like(result)) for result in before)
    selftest._launcher(case.fn, there, fresh, machine)()
    assert all(np.array_equal(a, b.numpy()) for a, b in zip(before, fresh))


def test_wrong_results_are_found(machine, monkeypatch):
    """One element that a GPU got wrong."""
    right = cuda.DeviceArray.numpy

    def wrong(self):
        values = right(self)
        values[-1, -1] += 0.01
        return values

    monkeypatch.setattr(cuda.DeviceArray, "numpy", wrong)
    found = selftest._answer((named("transpose"), "fp32", (64, 128), "check"), machine)
    assert found["status"] == "wrong" and "result 0[127, 63] is" in found["wrong"] and "1 of 8192 elements" in found["wrong"]
    found = selftest._answer((named("softmax"), "fp32", (7, 65), "check"), machine)
    assert found["status"] == "wrong" and found["error_over_bound"] > 1 and "result 0[6, 64] is" in found["wrong"]


def test_a_worker_that_dies_or_hangs_takes_nothing_with_it(machine):
    numbers = {(case.name, dtype, extents): i for i, (case, dtype, extents, _) in enumerate(selftest_cases.runs())}
    number = numbers["softmax", "fp32", (7, 65)]
    process = selftest._Worker(0)
    try:
        process.start()
        process.process.kill()
        assert process.ask(number, 60)["message"].startswith("the process ended with -9")
        assert process.ask(number, 0.01)["message"].startswith("no answer after 0 s")
        assert process.ask(number, 60)["status"] == "ok"
    finally:
        process.stop()


def test_table_and_progress(monkeypatch):
    results = [{"kernel": "a", "dtype": "fp32", "extents": [1, 2], "status": "wrong", "compared": "bits"},
               {"kernel": "b", "dtype": "fp16", "extents": [3], "status": "ok", "milliseconds": 1.25, "tflops": 9.04}]
    assert selftest.table(results, False).splitlines()[1:] == ["a       fp32   1 x 2    wrong   bits differ", "b       fp16   3        ok      1.250 ms, 9.0 TFLOP/s"]
    assert "\033[31mwrong" in selftest.table(results, True)

    class Terminal:
        text = ""

        def isatty(self):
            return True

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    for variable, colours in (("", True), ("1", False)):
        monkeypatch.delenv("NO_COLOR", raising=False)
        if variable:
            monkeypatch.setenv("NO_COLOR", variable)
        terminal = Terminal()
        progress = selftest.Progress(4, terminal)
        progress.show(2, "gemm")
        progress.end()
        assert "2/4 gemm" in terminal.text and ("\033[32m" in terminal.text) == colours and terminal.text.endswith("\r\033[K")


def test_every_extent_is_there():
    """Aligned and odd extents of every kernel."""
    for case in selftest_cases.CASES:
        assert any(any(n % 2 for n in extents) for extents in case.extents), case.name
    assert len({(case.name, dtype, extents, kind) for case, dtype, extents, kind in selftest_cases.runs()}) == len(selftest_cases.runs())
    assert np.array_equal(selftest_cases.Inputs("fp32", (3,)).normal(4), selftest_cases.Inputs("fp32", (3,)).normal(4))
