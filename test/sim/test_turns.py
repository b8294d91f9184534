# What real kernels leave open at barriers: told as remarks, unlike what is wrong.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
import pytest

import tessera.sim as sim

# Two warps take turns; the first gives itself the first turn, the last turn stays open (FlashAttention-3 and -4).
TURNS = """
.version 8.8
.target sm_90a
.address_size 64
.visible .entry turns(.param .u64 out) {{
  .reg .pred %p;
  .reg .b32 %w, %own, %other, %i;
  .reg .b64 %o;
  mov.u32 %w, %tid.x;
  shr.u32 %w, %w, 5;
  add.u32 %own, %w, 1;
  sub.u32 %other, 2, %w;
  setp.ne.u32 %p, %w, 0;
  @%p bra LOOP;
  {first}
LOOP:
  {rounds}
  ld.param.u64 %o, [out];
  st.global.u32 [%o], 1;
  ret;
}}
"""
ROUND = "bar.sync %own, 64; bar.arrive %other, 64;"

# A producer expects bytes for a slot that it will not fill.
EXPECT = """
.version 8.8
.target sm_90a
.address_size 64
.visible .entry expects(.param .u64 in, .param .u64 out) {{
  .reg .pred %p;
  .reg .b32 %t, %v;
  .reg .b64 %i, %o;
  .shared .align 8 .b64 full;
  .shared .align 16 .b8 slot[64];
  mov.u32 %t, %tid.x;
  setp.ne.u32 %p, %t, 0;
  @%p bra END;
  ld.param.u64 %i, [in];
  mbarrier.init.shared::cta.b64 [full], {count};
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 64;
  {copy}
END:
  ret;
}}
"""
COPY = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [slot], [%i], 32, [full];"


def kinds(ptx, kernel, args, block):
    report = sim.launch(ptx, kernel, 1, block, args, arch="sm_90a", check=True)
    return {e["kind"] for e in report.errors}


def test_warps_take_turns():
    text = TURNS.format(first="bar.arrive 1, 64;", rounds=3 * ROUND)
    assert kinds(text, "turns", [np.zeros(1, np.uint32)], 64) == {"remark"}


@pytest.mark.parametrize("first, rounds", [
    ("bar.arrive 1, 128; bar.arrive 1, 128;", ""),  # twice without a wait
    ("bar.arrive 1, 64;", ""),                      # nobody ever waits
], ids=["twice", "open"])
def test_misuse_stays_misuse(first, rounds):
    assert "barrier-misuse" in kinds(TURNS.format(first=first, rounds=rounds), "turns", [np.zeros(1, np.uint32)], 64)


def test_expectations_without_a_copy():
    data, out = np.zeros(64, np.uint8), np.zeros(64, np.uint8)
    assert kinds(EXPECT.format(count=1, copy=""), "expects", [data, out], 32) == {"remark"}
    assert "expect-tx" in kinds(EXPECT.format(count=1, copy=COPY), "expects", [data, out], 32)
