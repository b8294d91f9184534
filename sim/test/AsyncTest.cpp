// Parts of asynchronous copies that no kernel is needed for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/Mbarrier.h"
#include "sim/exec/TensorMap.h"
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace tessera::sim;

namespace {

TEST(Mbarrier, WordKeepsItsCounts) {
  for (int64_t tx : {0l, 1l, -1l, (1l << 20) - 1, -((1l << 20) - 1)})
    for (bool parity : {false, true}) {
      MbarrierWord w(0);
      w.pending = 5;
      w.expected = MbarrierWord::countMask;
      w.tx = tx;
      w.live = true;
      w.parity = parity;
      MbarrierWord r(w.word());
      EXPECT_EQ(r.pending, 5u);
      EXPECT_EQ(r.expected, MbarrierWord::countMask);
      EXPECT_EQ(r.tx, tx);
      EXPECT_TRUE(r.live);
      EXPECT_EQ(r.parity, parity);
    }
}

TEST(Clock, AgentsAreKnownOneByOne) {
  using namespace check;
  Clock a, b;
  a.blocks[3].know(mbarrierAgent | 2, 5);
  a.blocks[3].know(bulkReadAgent | 7, 1);
  b.blocks[3].know(mbarrierAgent | 1, 9);
  b.blocks[3].know(mbarrierAgent | 2, 4);
  b.blocks[3].uniform = 100; // a barrier of the block says nothing of copies
  a.join(b);
  EXPECT_EQ(a.of(3, mbarrierAgent | 1), 9u);
  EXPECT_EQ(a.of(3, mbarrierAgent | 2), 5u);
  EXPECT_EQ(a.of(3, bulkReadAgent | 7), 1u);
  EXPECT_EQ(a.of(3, bulkWriteAgent | 7), 0u);
  EXPECT_EQ(a.of(4, mbarrierAgent | 2), 0u);
  EXPECT_EQ(a.of(3, 12), 100u);
}

TEST(TensorMap, SwizzlesArePermutations) {
  for (unsigned s = 0; s <= 4; ++s)
    for (unsigned atom = 0; atom <= (s == 3 ? 3 : 0); ++atom) {
      TensorMap map;
      map.swizzle = Swizzle(s);
      map.atom = SwizzleAtom(atom);
      std::set<uint32_t> seen;
      for (uint32_t a = 0; a < 4096; ++a) {
        uint32_t b = swizzled(map, a);
        EXPECT_EQ(b / 128, a / 128);
        EXPECT_EQ(swizzled(map, b), a);
        seen.insert(b);
      }
      EXPECT_EQ(seen.size(), 4096u);
    }
}

/// Any 128 bytes: refused, or pieces that stay inside of box and tensor.
/// The words that CuTe DSL's host code writes for a tensor mean what
/// cuTensorMapEncodeTiled makes of it.
TEST(TensorMap, ForeignBits) {
  uint64_t dims[] = {64, 48, 40, 24, 20}, strides[] = {256, 12288, 491520, 0};
  strides[3] = strides[2] * dims[3];
  uint32_t box[] = {32, 8, 4, 2, 1}, steps[] = {1, 1, 1, 1, 1};
  uint64_t words[16] = {
      0x123456780000,     0x00000010002463c2, // f32, rank 5, 128 bytes swizzled
      0x0000780000000300, 0x00000000000b4000, 0x0000002f0000003f,
      0x0000001700000027, 0x1f00000000000013, 0x0000000000010307};
  TiledTensor t{7, 5, words[0], dims, strides, box, steps, 0, 3};
  TensorMap want, map;
  ASSERT_EQ(encodeTiled(t, want), "");
  std::memcpy(static_cast<void *>(&map), words, sizeof map);
  EXPECT_EQ(readForeignBits(map), "");
  EXPECT_FALSE(std::memcmp(&map, &want, sizeof map));
  // Ours stays as it is; what nobody has seen is refused.
  EXPECT_EQ(readForeignBits(map), "");
  EXPECT_FALSE(std::memcmp(&map, &want, sizeof map));
  words[1] |= 1 << 11;
  std::memcpy(static_cast<void *>(&map), words, sizeof map);
  EXPECT_NE(readForeignBits(map), "");
}

TEST(TensorMap, RandomBytes) {
  std::mt19937_64 random(1);
  unsigned accepted = 0;
  for (unsigned n = 0; n < 200000; ++n) {
    TensorMap map;
    map.base = (random() & 0xffff0) + 32;
    map.rank = uint8_t(random() % 6);
    map.type = TensorType(random() % 17);
    map.swizzle = Swizzle(random() % 6);
    map.atom = SwizzleAtom(random() % 4 ? 0 : random() % 5);
    map.interleave = uint8_t(random() % 8 ? 0 : random() % 4);
    map.fillNaN = uint8_t(random() % 3 % 2);
    for (unsigned d = 0; d < 5; ++d) {
      map.dim[d] = uint32_t(random() % 40);
      map.box[d] = uint8_t(d ? random() % 4 : random() % 64);
      map.step[d] = uint8_t(random() % 9 ? 0 : random() % 9);
      if (d < 4)
        map.stride[d] = random() % 64 * 16;
    }
    if (!checkTensorMap(map).empty())
      continue;
    ++accepted;
    TensorBox box;
    box.isStore = random() % 2;
    box.shared = uint32_t(random() % 8 * 128);
    for (int64_t &c : box.at)
      c = int64_t(random() % 64) - 16;
    uint64_t end = map.base;
    for (unsigned d = 1; d <= map.rank; ++d)
      end += map.dim[d] * map.stride[d - 1];
    end += ((map.dim[0] + 1ull) * elementBits(map.type) + 7) / 8;
    // A swizzle may leave the box, but not its last 1024 bytes.
    uint64_t limit = (box.shared + boxBytes(map, false) + 1023) / 1024 * 1024;
    for (const AsyncOp::Piece &p : boxPieces(map, box)) {
      uint64_t global = box.isStore ? p.to : p.from;
      uint64_t shared = box.isStore ? p.from : p.to;
      EXPECT_LE(shared + p.bytes, limit);
      if (global == AsyncOp::fill) {
        EXPECT_FALSE(box.isStore);
        continue;
      }
      EXPECT_GE(global, map.base);
      EXPECT_LE(global + p.bytes, end);
    }
  }
  EXPECT_GT(accepted, 1000u);
}

} // namespace
