# Graphics cards that a program may ask for.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pytest

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
