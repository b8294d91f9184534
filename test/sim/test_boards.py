# Graphics cards that a program may ask for.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import subprocess
import sys

import pytest

from conftest import CUDA_LIBRARY
from tessera.sim import boards
from tessera.sim._native import architectures
from tessera.sim.device import SimError
from tessera.sim.host import TensorHost


@pytest.mark.parametrize("board", boards.BOARDS, ids=lambda b: b.name)
def test_boards_answer_for_their_architecture(board):
    host = TensorHost(f"sm_{board.arch}", board=board.name.lower())
    assert host.board is board
    answers = board.attributes(host.arch)
    assert (answers[75], answers[76]) == divmod(board.arch, 10) and answers[16] == board.multiprocessors
    most = architectures()[f"sm_{board.arch}"]["cluster"]
    assert board.clusters(host.arch, most) == board.multiprocessors // most
    assert board.clusters(host.arch, 2 * most) == 0


def test_boards_are_refused_by_name():
    with pytest.raises(SimError, match="no board is called"):
        TensorHost("sm_90", board="H101")
    with pytest.raises(SimError, match="is a GPU of sm_100, not of sm_90"):
        TensorHost("sm_90", board="B200")


def test_triton_sees_the_board():
    triton = pytest.importorskip("tessera.sim.triton", reason="triton is not installed")
    board = boards.BOARDS[0]
    driver = triton.activate(f"sm_{board.arch}", board=board.name)
    assert driver.utils.get_device_properties(0)["multiprocessor_count"] == board.multiprocessors


ASK = """
import ctypes, sys
cuda = ctypes.CDLL(sys.argv[1])
number, size, name = ctypes.c_int(), ctypes.c_size_t(), ctypes.create_string_buffer(99)
print(cuda.cuInit(0))
for attribute in (75, 76, 16, 38):
    cuda.cuDeviceGetAttribute(ctypes.byref(number), attribute, 0)
    print(number.value)
cuda.cuDeviceTotalMem_v2(ctypes.byref(size), 0)
cuda.cuDeviceGetName(name, 99, 0)
print(size.value, name.value.decode(), sep="\\n")
for _ in range(3):
    cuda.cuGetExportTable(None, None)
"""


def ask(**environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TESSERA_SIM_")}
    done = subprocess.run([sys.executable, "-c", ASK, str(CUDA_LIBRARY / "libcuda.so.1")], env={**clean, **environment},
                          capture_output=True, text=True, check=True)
    return done.stdout.splitlines(), done.stderr.splitlines()


@pytest.mark.parametrize("board", boards.BOARDS, ids=lambda b: b.name)
def test_the_driver_is_the_board(board):
    said, problems = ask(TESSERA_SIM_BOARD=board.name.lower())
    assert said == ["0", str(board.arch // 10), str(board.arch % 10), str(board.multiprocessors), str(board.l2_bytes),
                    str(board.memory), f"Tessera simulator ({board.name})"]
    assert len(problems) == 1 and "private driver tables" in problems[0]  # three times asked, told once


def test_a_board_that_is_not_there():
    for environment, problem in [({"TESSERA_SIM_BOARD": "H101"}, "no board is called 'H101'; the simulator has H100, B200"),
                                 ({"TESSERA_SIM_BOARD": "B200", "TESSERA_SIM_ARCH": "sm_90"}, "B200 is a GPU of sm_100, not of sm_90")]:
        said, problems = ask(**environment)
        assert said[0] != "0" and problem in problems[0]
    assert ask(TESSERA_SIM_BOARD="B200", TESSERA_SIM_ARCH="sm_100a")[0][3] == "148"
