"""The disk cache: what is in its key, what it survives, whose folders it uses. The long runs: tools/cache_stress.py.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import dataclasses
import errno
import math
import os
import pathlib
import random
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import tessera as tsr
from tessera import Tensor, _runtime, arguments, disk, fp16, fp32, keys, machine_code, options
from tessera.errors import CacheWarning

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import cache_stress  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    """A cache that is on, whatever CI has switched."""
    before = {name: tsr.knobs._knobs[name].value for name in ("cache", "verify", "dump", "cache_size", "opt_level", "debug")}
    tsr.knobs.cache, tsr.knobs.verify, tsr.knobs.dump = str(tmp_path / "cache"), False, ""
    yield str(tmp_path / "cache")
    for name, value in before.items():
        tsr.knobs._knobs[name].value = value


def schedule(**values):
    return options.Schedule(None, values)


SCALE = 3.0


def scaled(x: Tensor["N"]):
    return x * SCALE


@tsr.kernel
def rows(X: Tensor["M", "N"], Y: tsr.Out["M", "N"], BLOCK: tsr.const = 4):
    for m in tsr.grid(tsr.tile(M, BLOCK)):
        Y[m, :] = X[m, :] * 2.0


def calls(x: Tensor["M", "N"]):
    return rows(x)


# ---- values --------------------------------------------------------------------------------------

VALUES = [None, True, False, 0, 1, -1, 2**70, 0.0, -0.0, 1.0, float("inf"), "", "1", "Ünï\ud800", b"", b"1", fp16, (), [], (1,), [1], ((1,), 2), (1, (2,)), {}, {"a": 1}, {"a": 1.0}]


def test_values_have_one_form_each():
    packed = [disk.pack(value) for value in VALUES]
    assert len(set(packed)) == len(VALUES)
    for value, data in zip(VALUES, packed):
        again = disk.unpack(data)
        assert type(again) is type(value) and again == value
    assert math.isnan(disk.unpack(disk.pack(math.nan)))
    assert math.copysign(1, disk.unpack(disk.pack(-0.0))) == -1
    with pytest.raises(TypeError):
        disk.pack(object())


def test_reading_values_survives_anything():
    data, rng = disk.pack(VALUES), random.Random(5)
    for _ in range(3000):
        damaged = bytearray(data[: rng.randrange(len(data) + 1)])
        for _ in range(rng.randrange(4)):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            disk.unpack(bytes(damaged))
        except ValueError:
            pass
    with pytest.raises(ValueError):
        disk.unpack(b"(\x01\0\0\0" * 5000 + b"n")


# ---- the key -------------------------------------------------------------------------------------


def spec_of(fn, target="cpu", **words):
    return arguments.spec_from_words(fn, target, words)


def test_every_input_changes_the_key(folder, monkeypatch):
    fn = tsr.function(scaled)
    base_spec = spec_of(fn)
    base = keys.version(fn, base_spec)
    assert base == keys.version(fn, spec_of(fn)), "the key is not stable"
    assert base == keys.version(tsr.function(scaled), base_spec), "the key depends on the object, not on its source"
    found = {}

    def note(name, key):
        assert name not in found
        found[name] = key

    def with_spec(**changes):
        spec = arguments.Spec(changes.get("arguments", base_spec.arguments), changes.get("captured", base_spec.captured),
                              changes.get("target", base_spec.target), changes.get("tuned", base_spec.tuned))
        return keys.version(fn, spec)

    # The program.
    text = fn.source.text
    with monkeypatch.context() as patch:
        patch.setattr(fn.source, "text", text.replace("*", "+"))
        note("source", keys.version(fn, base_spec))
    with monkeypatch.context() as patch:
        patch.setattr(fn, "kind", "kernel")
        note("kind", keys.version(fn, base_spec))
    for name, value in {"another value": 4.0, "an int": 3, "a bool": True, "a dtype": fp16, "negative zero": -0.0, "None": None}.items():
        note(f"captured {name}", with_spec(captured={**base_spec.captured, "SCALE": ("const", value)}))
    note("captured array", with_spec(captured={**base_spec.captured, "SCALE": ("array", "SCALE", "fp32", (-1,), 0)}))
    # Arguments.
    for name, argument in {
        "dtype": ("tensor", "fp16", (-1,), 0), "size": ("tensor", "fp32", (64,), 0), "size one": ("tensor", "fp32", (1,), 0),
        "strides": ("tensor", "fp32", (-1,), -1), "rank": ("tensor", "fp32", (-1, -1), 1), "left out": ("omitted",),
        "None-ness": ("const", None), "scalar": ("scalar", "fp64"), "scalar type": ("scalar", "i64"),
    }.items():
        note(f"argument {name}", with_spec(arguments=[argument]))
    # Policies and schedules.
    for name, change in {"policy": {"policy": "strict"}, "accum": {"accum": fp32}, "precision": {"precision": "tf32"},
                         "schedule": {"schedules": [schedule(threads=2)]}, "constant": {"schedules": [schedule(BLOCK=64)]},
                         "tile": {"schedules": [schedule(tile={"N": 64})]}}.items():
        with monkeypatch.context() as patch:
            patch.setattr(fn, "options", dataclasses.replace(fn.options, **change))
            note(name, keys.version(fn, base_spec))
    note("tuned", with_spec(tuned={"BLOCK": 32}))
    # Knobs and targets.
    for name, value in {"opt_level": 2, "debug": True}.items():
        before = tsr.knobs._knobs[name].value
        setattr(tsr.knobs, name, value)
        note(f"knob {name}", keys.version(fn, base_spec))
        tsr.knobs._knobs[name].value = before
    note("target avx2", with_spec(target="cpu:avx2"))
    note("target avx512", with_spec(target="cpu:avx512"))
    with monkeypatch.context() as patch:
        patch.setattr(keys._runtime, "cpu_signature", lambda: "another processor")
        note("processor", keys.version(fn, base_spec))
        assert with_spec(target="cpu:avx2") == found["target avx2"], "a named processor's code does not depend on this one"
    with monkeypatch.context() as patch:
        patch.setenv("TESSERA_HIDE_CPU_FEATURES", "amx-tile")
        note("hidden feature", keys.version(fn, base_spec))
    # The compiler.
    build = keys.build()
    assert len(build) >= 4
    for i in range(1, len(build)):
        with monkeypatch.context() as patch:
            patch.setattr(keys, "build", lambda i=i: (*build[:i], build[i] + "0", *build[i + 1 :]))
            note(f"build {i}", keys.version(fn, base_spec))
    with monkeypatch.context() as patch:
        patch.setattr(keys, "FORMAT", disk.FORMAT + 1)
        note("format", keys.version(fn, base_spec))
    same = [name for name, key in found.items() if key == base]
    print(f"{len(found)} inputs, {len(set(found.values()))} keys")
    assert not same, f"not in the key: {same}"
    assert len(set(found.values())) == len(found), "two changes have one key"


def test_called_functions_are_in_the_key(folder, monkeypatch):
    fn = tsr.function(calls)
    spec = spec_of(fn)
    base, found = keys.version(fn, spec), []
    with monkeypatch.context() as patch:
        patch.setattr(rows.source, "text", rows.source.text.replace("2.0", "3.0"))
        found.append(keys.version(fn, spec))
    for change in ({"policy": "strict"}, {"accum": fp32}, {"schedules": [schedule(BLOCK=8)]}, {"schedules": [schedule(unroll=2)]}):
        with monkeypatch.context() as patch:
            patch.setattr(rows, "options", dataclasses.replace(rows.options, **change))
            found.append(keys.version(fn, spec))
    assert base not in found and len(set(found)) == len(found)


def test_kernels_belong_to_one_plan():
    base = keys.kernel(b"inputs", "plan", "kernel_0")
    assert len({base, keys.kernel(b"other", "plan", "kernel_0"), keys.kernel(b"inputs", "other", "kernel_0"), keys.kernel(b"inputs", "plan", "kernel_1")}) == 4


def test_external_tools_are_in_the_key(tmp_path):
    tool = tmp_path / "ptxas"
    tool.write_bytes(b"one")
    found = [keys.assembled(b"ptx", str(tool), ["-arch", "sm_80"]), keys.assembled(b"ptx2", str(tool), ["-arch", "sm_80"]), keys.assembled(b"ptx", str(tool), ["-arch", "sm_90"])]
    tool.write_bytes(b"two, with another length")
    found.append(keys.assembled(b"ptx", str(tool), ["-arch", "sm_80"]))
    assert len(set(found)) == 4


def test_what_an_assembler_makes_is_kept(folder, tmp_path, monkeypatch):
    tool = tmp_path / "ptxas"
    tool.write_text('#!/bin/sh\nif [ "$1" = --version ]; then echo V99.0; exit; fi\necho run >> "$0.log"\nwhile [ "$1" != -o ]; do shift; done\nprintf cubin > "$2"\necho said\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    version = tsr.function(scaled).compile(target="sm_80")
    assert version._assemble() == version._assemble() == {"cubin": b"cubin", "said": "said\n"}
    assert (tmp_path / "ptxas.log").read_text() == "run\n"
    tool.write_text(tool.read_text() + "# another version\n")
    assert tsr.function(scaled).compile(target="sm_80").cubin == b"cubin" and (tmp_path / "ptxas.log").read_text() == "run\nrun\n"


def test_a_library_is_known_by_its_build_id(tmp_path):
    ours = pathlib.Path(_runtime.__file__).read_bytes()
    known = keys.build_id(_runtime.__file__)
    at = ours.index(bytes.fromhex(known))
    other = tmp_path / "other.so"
    other.write_bytes(ours[:at] + b"\x00\x01" + ours[at + 2 :])
    assert keys.build_id(str(other)) != known and keys.build_id(str(other))[4:] == known[4:]
    with pytest.raises(keys.NoKey):
        keys.build_id(str(tmp_path / "missing.so"))


# ---- a warm process ------------------------------------------------------------------------------

PROGRAM = '''
import sys
import warnings
import numpy as np
import tessera as tsr
from tessera import Tensor, disk
{above}
SCALE = {scale}

@tsr.function
def softmax(x):
    return tsr.softmax(x * SCALE, axis=-1)

@tsr.kernel
def double(X: Tensor["M", "N"], Y: tsr.Out["M", "N"], BLOCK: tsr.const = 4):
    for m in tsr.grid(tsr.tile(M, BLOCK)):
        Y[m, :] = X[m, :] * 2.0

@tsr.function
def twice(x: Tensor["M", "N"]):
    return double(x) + 1.0

x = np.arange(60, dtype=np.float32).reshape(4, 15) / 7
out = softmax(x).tobytes() + twice(x).tobytes() + twice(x.T.copy()).tobytes()
store = disk.store()
print(out.hex(), store.stats["compiles"] if store else -1, "tessera._core" in sys.modules)
'''


def run(folder, text=PROGRAM, above="", scale="0.5", path=None, **environment):
    env = {k: v for k, v in os.environ.items() if not k.startswith("TESSERA_") or k == "TESSERA_BIN"}
    env.update(TESSERA_CACHE=str(folder), **environment)
    env["PYTHONPATH"] = os.pathsep.join([str(pathlib.Path(tsr.__file__).parents[1]), env.get("PYTHONPATH", "")])
    path = path or pathlib.Path(folder).parent / "program.py"
    path.write_text(text.format(above=above, scale=scale))
    done = subprocess.run([sys.executable, str(path)], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    bits, compiles, loaded = done.stdout.split()
    return bits, int(compiles), loaded == "True", done.stderr


def test_a_second_process_neither_compiles_nor_loads_llvm(tmp_path):
    cache = tmp_path / "cache"
    cold = run(cache)
    assert cold[1] > 0 and cold[2]
    warm = run(cache)
    assert warm[1:3] == (0, False) and warm[0] == cold[0]
    moved = run(cache, above="# one line more\n")
    assert moved[1:3] == (0, False) and moved[0] == cold[0], "where the source stands does not matter"
    changed = run(cache, scale="0.25")
    assert changed[1] > 0 and changed[0] != cold[0]
    off = run("off", path=tmp_path / "program.py")
    assert off[1:3] == (-1, True) and off[0] == cold[0]
    for switch in ({"TESSERA_VERIFY": "1"}, {"TESSERA_DUMP": str(tmp_path / "dump")}):
        assert run(cache, **switch)[2], "who wants to see the compiler work gets the compiler"
    other = run(cache, TESSERA_OPT_LEVEL="1")
    assert other[1] > 0


def test_a_new_compiler_does_not_use_old_code(tmp_path, folder, monkeypatch):
    build = keys.build()
    fn = tsr.function(scaled)
    fn(np.ones(5, np.float32))
    before = disk.store().stats["compiles"]
    monkeypatch.setattr(keys, "build", lambda: ("build", "0" * 40, *build[2:]))
    tsr.function(scaled)(np.ones(5, np.float32))
    assert disk.store().stats["compiles"] == before + 2


def test_remarks_are_said_again(tmp_path):
    text = '''
import sys, warnings
import numpy as np
import tessera as tsr
from tessera import disk
warnings.simplefilter("always")
@tsr.function.schedule(num_warps=4)
@tsr.function
def add(x):
    return x + 1.0
assert add(np.ones(4, np.float32))[0] == 2
print("{above}{scale}", disk.store().stats["compiles"], "tessera._core" in sys.modules)
'''
    first, second = (run(tmp_path / "cache", text, path=tmp_path / "p.py") for _ in range(2))
    assert second[1:3] == (0, False)
    assert "num_warps" in first[3] and first[3] == second[3]


def test_an_error_in_a_warm_process_is_the_same(folder):
    for _ in range(2):
        fn = tsr.function(scaled)
        fn(np.ones(4, np.float32))
        with pytest.raises(tsr.ArgumentError) as error:
            fn(np.ones((4, 4), np.float32))
        assert "x has 1 axis (N), but the array has 2 (4 x 4)" in str(error.value)


def test_a_plan_from_disk_compiles_a_kernel_that_is_not(folder):
    fn = tsr.function(scaled)
    fn(np.ones(5, np.float32))
    (version,) = fn._versions.values()
    store = disk.store()
    name = disk.sha256(keys.kernel(version.artifact._inputs, version.plan, "scaled_0")).hexdigest()
    os.unlink(name, dir_fd=store.fd)
    before = store.stats["compiles"]
    again = tsr.function(scaled)
    assert again(np.ones(5, np.float32))[0] == 3 and store.stats["compiles"] == before + 1
    (version,) = again._versions.values()
    assert any(row[0].startswith("llvm @") for row in version.artifact.times) and version.artifact.times[0][0] == "disk cache"


def test_what_the_small_loader_refuses_is_linked_by_llvm(folder, monkeypatch):
    def refuse(_):
        raise ValueError("a relocation of kind 42")

    monkeypatch.setattr(machine_code._runtime, "load_code", refuse)
    assert tsr.function(scaled)(np.ones(5, np.float32))[0] == 3


def test_the_small_loader_survives_anything(folder):
    fn = tsr.function(scaled)
    fn(np.ones(5, np.float32))
    (version,) = fn._versions.values()
    data, rng, loaded = version.artifact.compiled.emit("scaled_0"), random.Random(3), 0
    assert _runtime.load_code(data).address("scaled_0") and not _runtime.load_code(data).address("other")
    for _ in range(5000):
        damaged = bytearray(data[: rng.choice((len(data), rng.randrange(1, len(data))))])
        for _ in range(rng.randrange(1, 6)):
            # Headers and tables matter more than code, which is never run here.
            at = rng.randrange(len(damaged)) if rng.random() < 0.3 else min(len(damaged) - 1, rng.choice((rng.randrange(64), max(0, len(damaged) - 1 - rng.randrange(1200)))))
            damaged[at] = rng.choice((0, 1, 0x7F, 0xFF, rng.randrange(256)))
        try:
            _runtime.load_code(bytes(damaged))
            loaded += 1
        except ValueError:
            pass
    assert loaded < 5000


# ---- what it survives ----------------------------------------------------------------------------


def test_kill_during_publish(tmp_path):
    found = cache_stress.kills(40, str(tmp_path / "cache"), 60, seed=random.randrange(1000))
    assert found["kills"] == 40 and found["whole reads"] > 0 and found["torn reads"] == 0


def test_the_kill_test_sees_torn_entries(tmp_path):
    def naively(store, name, inputs, fields):
        opened = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=store.fd)
        data = disk._encode(inputs, fields)
        for begin in range(0, len(data), 4096):
            os.write(opened, data[begin : begin + 4096])
        os.close(opened)

    assert cache_stress.kills(60, str(tmp_path / "cache"), 60, 1, naively)["torn reads"] > 0


def test_bit_flips(folder):
    found = cache_stress.flips(60, folder, 120, seed=random.randrange(1000))
    assert found == {"flips": 60, "undetected": 0, "not replaced": 0, "wrong results": 0}


def test_every_byte_is_covered_by_the_digest(folder):
    disk_store = disk.store()
    disk_store.write("a" * 64, b"inputs", {"value": [1, 2.5, "text"]})
    path = pathlib.Path(disk_store.folder, "a" * 64)
    whole = path.read_bytes()
    assert disk_store.read("a" * 64, b"inputs") == {"value": [1, 2.5, "text"]}
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        assert disk_store.read("a" * 64, b"inputs") is None
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert disk_store.read("a" * 64, b"inputs") is None
    path.write_bytes(whole)
    assert disk_store.read("a" * 64, b"other inputs") is None, "an entry under another key's name"


def test_many_processes_compile_once(folder):
    found = cache_stress.processes(8, 3, folder, 240, seed=random.randrange(1000))
    assert found["failed"] == 0 and found["compiles per key"] <= 1.1, found


def test_the_process_test_sees_double_compiles(folder, monkeypatch):
    import contextlib

    monkeypatch.setattr(disk.Store, "lock", lambda self, name: contextlib.nullcontext())
    # Everybody is made to look before anybody compiles.
    get = disk.Store.get

    def slow(self, inputs, make):
        return get(self, inputs, lambda: (time.sleep(0.3), make())[1])

    monkeypatch.setattr(disk.Store, "get", slow)
    assert cache_stress.processes(4, 2, folder, 240, 1)["compiles per key"] > 1.1


def test_threads_compile_once(folder):
    fns = [tsr.function(scaled) for _ in range(6)]
    results = []
    threads = [threading.Thread(target=lambda fn=fn: results.append(fn(np.ones(5, np.float32))[0])) for fn in fns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [3.0] * 6 and disk.store().stats["compiles"] == 2  # the plan and its kernel


def test_forked_children_compile_and_run(folder):
    found = cache_stress.forks(8, folder, 120, seed=1)
    assert found == {"children": 8, "failed or hung": 0}


def test_a_stopped_compiler_is_not_waited_for_for_long(folder, monkeypatch):
    store = disk.store()
    monkeypatch.setattr(disk, "_LEASE", 0.3)
    with store.lock("k"):
        begin = time.monotonic()
        with store.lock("k"):
            assert 0.25 < time.monotonic() - begin < 5
    monkeypatch.setattr(disk, "_LEASE", 60)
    begin = time.monotonic()
    with store.lock("k"):
        pass
    assert time.monotonic() - begin < 30 and not os.path.exists(os.path.join(store.folder, "k.lock"))


def test_a_dead_compiler_lets_go(folder, monkeypatch):
    store = disk.store()
    monkeypatch.setattr(disk, "_LEASE", 60)
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        with store.lock("k"):
            os.write(told, b"x")
            time.sleep(60)
        os._exit(0)
    os.read(ready, 1)
    os.kill(child, 9)
    os.waitpid(child, 0)
    begin = time.monotonic()
    with store.lock("k"):
        assert time.monotonic() - begin < 30


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_disk_that_fails_costs_nothing_but_time(folder, monkeypatch, code):
    store = disk.store()
    real = os.write

    def failing(opened, data):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(disk.os, "write", failing)
    result = tsr.function(scaled)(np.ones(5, np.float32))
    monkeypatch.setattr(disk.os, "write", real)
    assert result[0] == 3 and store.stats["failed"] > 0
    assert not os.listdir(store.folder), "something is left behind"


def test_the_least_recently_used_goes_first(folder):
    tsr.knobs.cache_size = 1
    store = disk.Store(folder)
    names = [disk.sha256(b"%d" % i).hexdigest() for i in range(40)]
    for i, name in enumerate(names):
        store.write(name, b"k", {"object": bytes(60_000)})
        os.utime(os.path.join(store.folder, name), (i + 1000, i + 1000))
        if i >= 2:
            assert store.read(names[0], b"k") is not None, "the first is used all the time"
            os.utime(os.path.join(store.folder, names[0]), (i + 1000.5, i + 1000.5))
    assert sum(entry[1] for entry in store.entries()) <= (1 << 20) + 61_000
    assert store.stats["evicted"] > 10 and store.read(names[1], b"k") is None and store.read(names[-1], b"k") is not None


def test_what_was_left_behind_is_removed(folder):
    store = disk.Store(folder)
    for name, age in (("x.tmp", 120), ("young.tmp", 1), ("x.lock", 120)):
        path = pathlib.Path(store.folder, name)
        path.write_bytes(b"")
        os.utime(path, (time.time() - age,) * 2)
    store.entries()
    assert os.listdir(store.folder) == ["young.tmp"]


# ---- whose folder --------------------------------------------------------------------------------


def refused(folder) -> str:
    tsr.knobs.cache = str(folder)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            assert tsr.function(scaled)(np.ones(4, np.float32))[0] == 3
    (warning,) = [w for w in seen if w.category is CacheWarning]
    assert warning.filename == __file__ and "fix:  TESSERA_CACHE" in str(warning.message)
    return str(warning.message)


@pytest.mark.parametrize("inside", [False, True])
def test_folders_that_are_not_ours_alone(folder, tmp_path, inside):
    def place(name):
        path = tmp_path / name / "jit" if inside else tmp_path / name
        path.mkdir(parents=True)
        (tmp_path / name).chmod(0o700)
        return path, tmp_path / name

    path, root = place("open")
    path.chmod(0o777)
    assert "is open to other users (mode 0777)" in refused(root) and not [f for f in path.iterdir() if f.is_file()]
    path, root = place("link")
    path.rmdir()
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    path.symlink_to(real)
    assert "symbolic link" in refused(root) and not list(real.iterdir())
    path, root = place("file")
    path.rmdir()
    path.write_text("")
    assert "not a folder" in refused(root)
    if os.geteuid() == 0:
        path, root = place("foreign")
        path.chmod(0o700)
        os.chown(path, 12345, 12345)
        assert "belongs to user 12345" in refused(root) and not list(path.iterdir())


def test_entries_that_are_no_files(folder):
    store = disk.Store(folder)
    target = pathlib.Path(folder, "target")
    target.write_bytes(disk._encode(b"k", {"value": 1}))
    os.symlink(target, os.path.join(store.folder, "link"))
    os.mkfifo(os.path.join(store.folder, "pipe"))
    os.mkdir(os.path.join(store.folder, "folder"))
    for name in ("link", "pipe", "folder"):
        assert store.read(name, b"k") is None
    store.write("link", b"k", {"value": 2})
    assert store.read("link", b"k") == {"value": 2} and b"\x02" not in target.read_bytes()[-4:]


def test_a_folder_is_made_for_its_user_alone(folder):
    tsr.function(scaled)(np.ones(4, np.float32))
    for path in (folder, os.path.join(folder, "jit")):
        assert os.stat(path).st_mode & 0o777 == 0o700
    for name in os.listdir(os.path.join(folder, "jit")):
        assert os.stat(os.path.join(folder, "jit", name)).st_mode & 0o777 == 0o600


def test_where_the_folder_is(monkeypatch, folder):
    tsr.knobs._knobs["cache"].value = None
    monkeypatch.delenv("TESSERA_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert disk.folder() == "/somewhere/tessera"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the standard says: ignore it
    monkeypatch.setenv("HOME", "/home/user")
    assert disk.folder() == "/home/user/.cache/tessera"
    monkeypatch.setenv("TESSERA_CACHE", "off")
    assert disk.folder() == "" and disk.store() is None
