// wgmma: products of a warp group, in flight until somebody waits.
//
// Every warp of the group multiplies its own 16 of the 64 rows with all of B,
// so a warp's share needs nothing of the other three. But they are shares of
// one operation, which ends for all four at once: a wait of one warp also tells
// that the others' shares have read their matrices (CUTLASS lets a thread of
// one warp release a tile to a block of the cluster). A share is computed
//  * without checking, when it is issued;
//  * with checking, as late as possible: at a wgmma.wait_group;
//  * in adversarial runs, at a moment the seed picks, in the order of issue.
// Until the wait, the registers of D and A belong to the product. Compilers
// move registers where the source has no access: a copy of an accumulator in
// flight is taken as another name of it (Triton), and a move between
// wgmma.fence and the product is a remark (nvcc; ptxas then lets one product
// wait for another). SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Warp.h"
#include <array>
#include <unordered_map>

namespace tessera::sim {

struct WgmmaPlan {
  unsigned n = 0, k = 0;
  ptx::Type aType, bType;
  unsigned elementBits = 16; // b1: words of 32
  bool halfD = false, integer = false, saturate = false, bits = false;
  bool aSigned = false, bSigned = false;
  bool aNegated = false, bNegated = false;
  bool aKMajor = true, bKMajor = true;
  bool aInRegisters = false, sparse = false, ring = false;
  std::vector<Ref> d;
  Ref a[4] = {noRef, noRef, noRef, noRef};
  Ref aDescriptor = noRef, bDescriptor = noRef, accumulates = noRef;
  Ref metadata = noRef;
  unsigned selector = 0;
  /// The same registers as the function numbers them.
  std::vector<unsigned> dNumbers, aNumbers;

  /// Elements of K that A holds.
  unsigned storedK() const { return sparse ? k / 2 : k; }
};

/// One warp's share of a product.
struct WgmmaOp {
  const Inst *inst = nullptr;
  const Code *code = nullptr;
  uint8_t *base[2] = {nullptr, nullptr}; // registers and constants
  uint64_t a = 0, b = 0;                 // descriptors
  bool accumulates = false;
  std::array<uint32_t, 32> metadata = {};
  uint32_t group = 0; // of the warp, from 1
  bool done = false;
};

/// Reads the matrices and writes D.
void multiply(Warp &w, const WgmmaOp &op);
/// The 16-byte chunks of shared memory that the warp's share reads.
std::vector<uint32_t> chunksOf(Warp &w, const WgmmaOp &op);

/// The products of one warp that nobody waited for, and their registers.
class WgmmaQueue {
public:
  explicit WgmmaQueue(Warp &warp) : warp(warp) {}
  void issue(WgmmaOp op);
  void fence() { ++fences; }
  void commit() { ++committed; }
  /// At most `left` groups stay in flight.
  void wait(uint32_t left);
  /// Another warp of the warp group waited for these groups: they are computed,
  /// but the registers are this warp's only after a wait of its own.
  void completeUpTo(uint32_t group);
  /// An instruction other than wgmma is about to use registers.
  void touch(const Inst &inst, const Code &code, uint32_t pc, uint32_t active);
  /// Adversarial runs: perhaps the oldest product is computed.
  void poll();
  /// The warp has exited.
  void exited();

private:
  /// Of a register that holds a fragment of A or D.
  struct Register {
    uint32_t written = 0, read = 0; // the last group that does so
    const Inst *writer = nullptr;   // wgmma
    const Inst *reader = nullptr;   // wgmma
    uint32_t writerFence = 0;       // fences before it
    bool isCopy = false;            // of an accumulator in flight
    const Inst *accessed = nullptr, *modified = nullptr; // not by wgmma
    uint32_t accessedFence = 0, modifiedFence = 0;
  };
  std::vector<Register> &registersOf(const Code &code);
  void useRegisters(const WgmmaOp &op);
  void complete(WgmmaOp &op);
  void report(const Inst &inst, uint32_t active, const Inst *other,
              const std::string &message, const char *kind = "async-register");
  std::string nameOf(const Code &code, unsigned number) const;

  Warp &warp;
  std::vector<WgmmaOp> ops; // in the order of issue
  std::unordered_map<const Code *, std::vector<Register>> registers;
  uint32_t committed = 0, waited = 0, fences = 0;
};

} // namespace tessera::sim
