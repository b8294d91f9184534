"""Large results come from the runtime's pool and go back to it when they die.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import gc
import os
import pickle
import resource
import threading

import ml_dtypes
import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor

torch = pytest.importorskip("torch")


@tsr.function
def double(x):
    return x + x


@tsr.function
def both(x: Tensor["M", "N"]):
    return x + x, x * x


@tsr.kernel
def copied(x: Tensor["M", "N"], y: Out["M", "N"]):
    for i, j in tsr.grid(tsr.tile(x.shape[0], 32), tsr.tile(x.shape[1], 64)):
        y[i, j] = x[i, j]


@pytest.fixture(autouse=True)
def clean():
    """Each test begins with an empty pool."""
    gc.collect()
    tsr.release_cached_memory()
    yield
    gc.collect()
    tsr.release_cached_memory()


def in_use() -> int:
    return tsr.memory_stats()["bytes_in_use"]


def address(value) -> int:
    return value.data_ptr() if isinstance(value, torch.Tensor) else value.__array_interface__["data"][0]


def numpy_ones(*shape):
    return np.ones(shape, np.float32)


def torch_ones(*shape):
    return torch.ones(shape)


both_libraries = pytest.mark.parametrize("ones", [numpy_ones, torch_ones])


@both_libraries
def test_memory_returns_and_is_used_again(ones):
    x = ones(512, 512)
    double(x)  # compiles
    double(x)
    before = in_use()
    y = double(x)
    assert in_use() - before == y.nbytes  # a size class of its own
    where, hits = address(y), tsr.memory_stats()["pool_hits"]
    del y
    assert in_use() == before
    y = double(x)
    assert address(y) == where and tsr.memory_stats()["pool_hits"] == hits + 1


@both_libraries
def test_the_first_call_is_pooled_too(ones):
    @tsr.function
    def fresh(x):
        return x * 3

    before = in_use()
    y = fresh(ones(300, 1000))
    assert in_use() > before
    del y
    assert in_use() == before


@both_libraries
def test_small_results_are_the_librarys(ones):
    x = ones(8)
    double(x)
    allocations = tsr.memory_stats()["allocations"]
    kept = [double(x) for _ in range(10)]
    assert tsr.memory_stats()["allocations"] == allocations and len(kept) == 10


@both_libraries
def test_a_view_outlives_the_result(ones):
    x = ones(512, 512)
    double(x)
    before = in_use()
    view = double(x)[100:200, ::2].T
    gc.collect()
    assert in_use() > before
    others = [double(x * (k + 2)) for k in range(4)]  # would write over it
    assert (view == 2).all() and len(others) == 4
    del view, others
    gc.collect()
    assert in_use() == before


@both_libraries
def test_results_never_share_memory(ones):
    x = ones(256, 256)
    double(x)
    alive = [double(x * k) for k in range(50)]
    spans = sorted((address(y), address(y) + y.nbytes) for y in alive)
    assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:]))
    for k, y in enumerate(alive):
        assert (y == 2 * k).all()


@both_libraries
def test_two_results_of_one_call(ones):
    x = ones(256, 256) * 3
    for _ in range(3):
        a, b = both(x)
        assert (a == 6).all() and (b == 9).all() and address(a) != address(b)


@both_libraries
def test_a_result_is_valid_after_the_pool_is_emptied(ones):
    x = ones(1024, 1024)
    double(x)
    y, z = double(x), double(x)
    del z
    assert tsr.memory_stats()["bytes_cached"] > 0
    tsr.release_cached_memory()
    assert tsr.memory_stats()["bytes_cached"] == 0
    assert (y == 2).all()
    y[0, 0] = 7
    assert y[0, 0] == 7


@both_libraries
def test_the_limit_is_kept(ones):
    x = ones(512, 512)
    double(x)
    limit = 3 * x.nbytes
    tsr.set_memory_cache_limit(limit)
    try:
        kept = [double(x) for _ in range(10)]
        del kept
        assert 0 < tsr.memory_stats()["bytes_cached"] <= limit
        tsr.set_memory_cache_limit(0)
        assert tsr.memory_stats()["bytes_cached"] == 0
        double(x)
        assert tsr.memory_stats()["bytes_cached"] == 0
    finally:
        tsr.set_memory_cache_limit(1 << 30)


def resident() -> int:
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


@both_libraries
def test_thousands_of_calls_do_not_grow(ones):
    x = ones(512, 512)
    for _ in range(10):
        double(x)
    gc.collect()
    before = resident()
    for _ in range(3000):
        double(x)
    assert resident() - before < 4 << 20  # one leaked result of 1 MiB in 1,000 calls would show


@both_libraries
def test_a_steady_call_touches_no_new_page(ones):
    x = ones(1024, 1024)
    for _ in range(5):
        double(x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        double(x)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 100  # 1,024 pages of 4 KiB each, or 2 huge ones


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int8", "int32", "int64", "bool"])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_dtypes(library, dtype):
    theirs = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    values = (np.arange(300 * 700) % 60).reshape(300, 700)
    x = torch.from_numpy(values).to(getattr(torch, dtype)) if library == "torch" else values.astype(theirs)

    before = in_use()
    for _ in range(3):
        y = copied(x)
        assert in_use() > before and y.dtype == x.dtype and tuple(y.shape) == (300, 700)
        assert (y == x).all()


def test_a_numpy_result_is_an_array_like_any():
    y = double(numpy_ones(256, 1024))
    assert y.flags.owndata and y.base is None and y.flags.writeable and y.flags.c_contiguous
    assert address(y) % 64 == 0
    assert (pickle.loads(pickle.dumps(y)) == y).all()
    y.resize((512, 1024), refcheck=False)  # larger: moves to another block, zeros behind
    assert (y[:256] == 2).all() and (y[256:] == 0).all()
    y.resize((16, 16), refcheck=False)
    assert (y == 2).all()
    z = np.add(y, 1, out=y)
    assert z is y and (y == 3).all()


def test_resizing_gives_memory_back():
    before = in_use()
    y = double(numpy_ones(256, 1024))
    first = in_use()
    y.resize((1024, 1024), refcheck=False)
    assert in_use() > first
    y.resize((10,), refcheck=False)
    assert in_use() < first
    del y
    assert in_use() == before


def test_arrays_of_numpy_itself_are_not_ours():
    """The memory handler holds for our result only."""
    double(numpy_ones(256, 1024))
    allocations = tsr.memory_stats()["allocations"]
    y = double(numpy_ones(256, 1024))
    copies = [y.copy(), np.empty(1 << 20), y + 1]
    assert tsr.memory_stats()["allocations"] == allocations + 1 and len(copies) == 3
    threads = []

    def elsewhere():
        np.empty(1 << 20)

    for _ in range(4):
        threads.append(threading.Thread(target=elsewhere))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert tsr.memory_stats()["allocations"] == allocations + 1


def test_a_torch_result_is_a_tensor_like_most():
    y = double(torch_ones(256, 1024))
    assert type(y) is torch.Tensor and y.is_contiguous() and not y.requires_grad and y.is_leaf and y.storage_offset() == 0
    assert y.stride() == (1024, 1) and address(y) % 64 == 0
    y.requires_grad_()
    (y * y).sum().backward()
    assert (y.grad == 4).all()
    y = y.detach()
    assert (y.view(1024, 256) == 2).all() and (y.numpy() == 2).all()
    assert (pickle.loads(pickle.dumps(y)) == y).all() and (y.clone() == 2).all()
    y.resize_(16, 16)  # smaller is fine
    assert (y == 2).all()
    with pytest.raises(RuntimeError, match="resiz"):  # docs/python.md: as tensors of torch.from_numpy
        double(torch_ones(256, 1024)).resize_(4096, 4096)


def test_a_numpy_view_of_a_torch_result_keeps_it():
    before = in_use()
    view = double(torch_ones(256, 1024)).numpy()
    gc.collect()
    assert in_use() > before
    others = [double(torch_ones(256, 1024)) for _ in range(3)]
    assert (view == 2).all() and len(others) == 3
    del view, others
    gc.collect()
    assert in_use() == before


@both_libraries
def test_results_die_on_other_threads(ones):
    x = ones(256, 256)
    double(x)
    before = in_use()
    wrong = []

    def work(k):
        mine = x * k
        for _ in range(200):
            y = double(mine)
            if not bool((y == 2 * k).all()):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = [double(x) for _ in range(8)]
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    assert not wrong and in_use() == before


def test_after_a_fork():
    x = numpy_ones(512, 512)
    kept = double(x)
    double(x)
    child = os.fork()
    if child == 0:
        try:
            y = double(x * 5)
            good = (y == 10).all() and (kept == 2).all()
            del y
            tsr.release_cached_memory()
            os._exit(0 if good and (double(x) == 2).all() else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert (kept == 2).all() and (double(x) == 2).all()


def test_no_memory_is_an_error_not_a_crash():
    huge = np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (1 << 30, 1 << 20), (0, 0))
    with pytest.raises((MemoryError, tsr.TesseraError)):
        double(huge)
