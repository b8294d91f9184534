"""The wheel, in an empty environment with LLVM and the network out of sight.

    tools/build-wheel.sh && pytest test/install/test_wheel.py      # skipped if dist/ has no wheel

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import bz2
import importlib.util
import io
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
import zlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEELS = sorted((ROOT / "dist").glob("tessera_compiler-*.whl"), key=lambda p: p.stat().st_mtime)
pytestmark = pytest.mark.skipif(not WHEELS, reason="dist/ has no wheel: tools/build-wheel.sh")

# Where Debian has LLVM, and what to put there instead.
HIDE = """
mount -t tmpfs none /usr/lib/llvm-22
for library in /usr/lib/x86_64-linux-gnu/lib{LLVM,MLIR}*.so*; do
  if [ -f "$library" ] && [ ! -L "$library" ]; then mount --bind /dev/null "$library"; fi
done
cd "$1"; shift
exec "$@"
"""


def packages(*names):
    """The folders of installed packages, for links: the test needs no network."""
    for name in names:
        spec = importlib.util.find_spec(name)
        assert spec is not None, name
        folder = pathlib.Path(spec.origin).parent
        yield folder
        if (folder.parent / f"{name}.libs").exists():
            yield folder.parent / f"{name}.libs"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A virtual environment with the wheel, NumPy and ml_dtypes."""
    folder = tmp_path_factory.mktemp("wheel")
    venv.create(folder / "env", with_pip=True)
    (site,) = (folder / "env/lib").glob("python*/site-packages")
    for package in packages("numpy", "ml_dtypes"):
        (site / package.name).symlink_to(package)
    subprocess.run([folder / "env/bin/python", "-m", "pip", "install", "-q", "--no-index", "--no-deps", WHEELS[-1]], check=True)
    return folder


def hidden() -> list[str]:
    """The command that hides LLVM and the network; needs root."""
    script = ["unshare", "--mount", "--net", "bash", "-euc", HIDE, "hide"]
    if subprocess.run([*script, "/", "true"], capture_output=True).returncode != 0:
        pytest.skip("namespaces need root")
    return script


def run(place, *command, before=(), **environment):
    env = {"PATH": str(place / "env/bin"), "HOME": str(place), "NO_COLOR": "1", **environment}
    # `unshare` and the shell are not on the PATH that the command gets.
    if before:
        before = [shutil.which(before[0]), *(shutil.which("bash") if word == "bash" else word for word in before[1:]), str(place)]
        env["PATH"] += ":/usr/bin:/bin"  # mount
    done = subprocess.run([*before, *map(str, command)], cwd=place, env=env, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def libraries(place):
    (site,) = (place / "env/lib").glob("python*/site-packages")
    return sorted((site / "tessera").glob("*.so"))


def test_size_and_platform():
    wheel = WHEELS[-1]
    assert wheel.stat().st_size <= 80e6
    tag = re.search(r"manylinux_2_(\d+)_x86_64", wheel.name)
    assert tag and int(tag.group(1)) <= 34
    pytest.importorskip("auditwheel")
    shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", wheel], capture_output=True, text=True)
    allowed = [int(n) for n in re.findall(r'platform tag:\s+"manylinux_2_(\d+)_x86_64"', shown.stdout)]
    assert allowed and max(allowed) <= 34, shown.stdout + shown.stderr


def test_licences_are_inside():
    names = zipfile.ZipFile(WHEELS[-1]).namelist()
    assert any(n.endswith("LICENSE") for n in names) and any(n.endswith("THIRD_PARTY.md") for n in names)


def unpacked(name: str, data: bytes):
    """The bytes of a file, and of the gzip, xz, bzip2 and zip streams and zstd frames in it."""
    yield name, data
    for kind, magic in (("gzip", b"\x1f\x8b\x08"), ("xz", b"\xfd7zXZ\0"), ("bzip2", b"BZh91AY&SY"), ("zip", b"PK\3\4"), ("zstd", b"\x28\xb5\x2f\xfd")):
        at = data.find(magic)
        while at >= 0:
            try:
                if kind == "zip":
                    archive = zipfile.ZipFile(io.BytesIO(data[at:]))
                    for inner in archive.namelist():
                        yield from unpacked(f"{name}:{inner}", archive.read(inner))
                elif kind == "zstd":
                    # zstd knows the frames; its own code has the number in it, and no frame behind.
                    done = subprocess.run(["zstd", "-dcq"], input=data[at:], capture_output=True)
                    if done.stdout:
                        yield f"{name}:zstd at {at}", done.stdout
                else:
                    stream = {"gzip": lambda: zlib.decompressobj(31), "xz": lzma.LZMADecompressor, "bzip2": bz2.BZ2Decompressor}[kind]()
                    yield f"{name}:{kind} at {at}", stream.decompress(data[at:])
            except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile):
                pass  # not what it looked like
            at = data.find(magic, at + 1)


def test_no_path_of_the_build_machine():
    """Who can make such a folder on a user's machine must not decide what runs there."""
    folders = {ROOT, pathlib.Path.home(), pathlib.Path(sys.prefix), pathlib.Path(tempfile.gettempdir()) / "pip-"}
    folders = {f"{folder}".encode() + (b"" if folder.name == "pip-" else b"/") for folder in folders} | {str(ROOT).encode()}
    with zipfile.ZipFile(WHEELS[-1]) as wheel:
        for name in wheel.namelist():
            assert not name.endswith(".pyc"), name  # they name their sources
            for place, data in unpacked(name, wheel.read(name)):
                for folder in folders:
                    at = data.find(folder)
                    assert at < 0, f"{place} names {folder.decode()}: {data[max(0, at - 40):at + 120]!r}"


def test_libraries_are_looked_for_beside_them(place):
    (site,) = (place / "env/lib").glob("python*/site-packages")
    files = [f for f in (site / "tessera").rglob("*") if f.is_file() and f.read_bytes()[:4] == b"\x7fELF"]
    assert len(files) >= 6
    for file in files:
        shown = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
        for path in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", shown):
            assert all(part.startswith("$ORIGIN") for part in path.split(":")), (file, path)


def test_nothing_of_llvm_is_needed_or_seen(place):
    assert len(libraries(place)) == 2
    for library in libraries(place):
        needed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
        assert not re.search(r"LLVM|MLIR|libstdc\+\+|libz|python", needed), needed
        symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
        assert all(line.split()[-1].startswith("PyInit_") for line in symbols.splitlines()), symbols[:500]


def test_the_readme_runs(place):
    """Every Python block, as a stranger would paste it."""
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for number, block in enumerate(blocks):
        (place / f"readme{number}.py").write_text(block)
        run(place, "env/bin/python", f"readme{number}.py", before=hidden())


def test_doctor_and_examples(place):
    findings = json.loads(run(place, "env/bin/tessera", "doctor", "--json", before=hidden()))
    states = {f["name"]: f["state"] for f in findings}
    assert states["cpu"] == states["compiler"] == "ok"
    assert states["torch"] == "missing"
    listed = run(place, "env/bin/python", "-m", "tessera.examples")
    assert "gemm" in listed
    assert "03-gemm.py" in run(place, "env/bin/python", "-m", "tessera.examples", "all", before=hidden())


PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 data)
{
  .reg .u64 %rd<4>; .reg .u32 %r<2>; .reg .f32 %f<2>;
  ld.param.u64 %rd1, [data];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.f32 %f1, [%rd3];
  add.f32 %f1, %f1, %f1;
  st.global.f32 [%rd3], %f1;
  ret;
}
"""


def test_the_simulator(place):
    """`tessera-sim` and tessera.sim, as installed."""
    (site,) = (place / "env/lib").glob("python*/site-packages")
    for library in [*(site / "tessera/sim").glob("*.so"), *(site / "tessera/sim/cuda").iterdir(), site / "tessera/sim/tessera-sim"]:
        needed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
        assert not re.search(r"libstdc\+\+|libzstd|not found", needed), (library, needed)
    (place / "twice.ptx").write_text(PTX)
    shown = run(place, "env/bin/tessera-sim", "run", "twice.ptx", "--block", "32,1,1", "--arg", "range:f32:32", before=hidden())
    assert shown.splitlines()[0].startswith("ok:"), shown
    assert "libtessera_sim.so" in run(place, "env/bin/python", "-c", "import tessera.sim._native as n; print(n._load()[1])")


@pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is not on PATH")
def test_a_cuda_program(place):
    """Built by nvcc, whose kernels are compressed, on the wheel's libcuda and libcudart."""
    (site,) = (place / "env/lib").glob("python*/site-packages")
    subprocess.run(["nvcc", "-std=c++17", "-cudart", "shared", "-arch=sm_80", "-Xfatbin", "-compress-all",
                    ROOT / "test/sim/cuda/atomics.cu", "-o", place / "atomics"], check=True)
    assert run(place, "./atomics", LD_LIBRARY_PATH=str(site / "tessera/sim/cuda"), TESSERA_SIM_ARCH="sm_80").splitlines()[-1] == "ok"


def test_beside_torch_and_triton(place):
    """Three copies of LLVM in one process, each used."""
    for name in ("torch", "triton"):
        pytest.importorskip(name)
    others = place / "others"
    others.mkdir()
    here = pathlib.Path(importlib.util.find_spec("torch").origin).parents[1]
    for package in here.iterdir():
        if not package.name.startswith(("tessera", "numpy", "ml_dtypes", "__editable__", "_tessera")):
            (others / package.name).symlink_to(package)
    program = place / "beside.py"
    program.write_text(f"""
import sys
sys.path.append({str(others)!r})
ORDER
import numpy as np

@triton.jit
def copy(x, y, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(y + i, tl.load(x + i))

@tsr.function
def add(x, y):
    return x + y

def compiled_by_triton():
    source = triton.compiler.ASTSource(fn=copy, signature={{"x": "*fp32", "y": "*fp32", "n": "constexpr"}}, constexprs={{(2,): 64}})
    return triton.compile(source, target=GPUTarget("cuda", 80, 32)).asm["ptx"]

x = torch.arange(8.0)
assert (add(x, x) == 2 * x).all()
assert ".target sm_80" in compiled_by_triton()
assert (add(x.double(), x.double()) == 2 * x).all()
assert torch.equal(torch.compile(lambda a: a * 3, backend="eager")(x), x * 3)
print(tsr.__file__)
""")
    imports = ["import tessera as tsr", "import torch", "import triton, triton.language as tl; from triton.backends.compiler import GPUTarget"]
    text = program.read_text()
    for order in (imports, imports[::-1]):
        program.write_text(text.replace("ORDER", "\n".join(order)))
        assert str(place) in run(place, "env/bin/python", "beside.py", TRITON_CACHE_DIR=str(place / "triton"))


def test_a_strangers_cmake_project(place):
    """Ahead of time by the wheel, and against the runtime in it."""
    (site,) = (place / "env/lib").glob("python*/site-packages")
    shutil.copytree(ROOT / "test/install/library", place / "stranger")
    program = (ROOT / "test/python/test_aot.py").read_text()
    kernel = re.search(r"@tsr\.kernel\ndef flash_attention.*?\n\n\n", program, re.DOTALL).group(0)
    (place / "build.py").write_text(
        "import tessera as tsr\nfrom tessera import Out, Tensor, const\n\n\n" + kernel +
        'print("\\n".join(flash_attention.aot("attention", name="attention", D=[64, 128])))\n')
    files = run(place, "env/bin/python", "build.py", before=hidden()).splitlines()
    assert {pathlib.Path(f).name for f in files} == {"attention.h", "libattention.a", "libattention.so", "attentionConfig.cmake"}, files
    prefix = f"-DCMAKE_PREFIX_PATH={site / 'tessera'};{place / 'attention'}"
    run(place, "cmake", "-S", "stranger", "-B", "built", prefix, "-DCMAKE_BUILD_TYPE=Release", before=hidden())
    run(place, "cmake", "--build", "built", before=hidden())
    assert "worst error" in run(place, "built/server", before=hidden())
    needed = subprocess.run(["ldd", place / "built/server"], capture_output=True, text=True, check=True).stdout.lower()
    assert not re.search("llvm|mlir|python", needed), needed


def test_on_a_processor_of_2013(place):
    """No AVX-512, no AMX: kernels are compiled for what CPUID says."""
    qemu = shutil.which("qemu-x86_64")
    if qemu is None:
        pytest.skip("needs qemu-user")
    text = run(place, qemu, "-cpu", "Haswell", "env/bin/python", "-m", "tessera", "doctor", "--json")
    findings = {f["name"]: f for f in json.loads(text)}
    assert findings["cpu"]["text"] == "avx2" and findings["compiler"]["state"] == "ok"
    for name in ("vector-add", "softmax"):
        run(place, qemu, "-cpu", "Haswell", "env/bin/python", "-m", "tessera.examples", name)
