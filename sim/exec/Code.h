// The decoded form of a kernel: one compact record per instruction whose
// function works on the 32 lanes of a warp at once.
//
// A register is an array of 32 values, one per lane, at a fixed byte offset
// of the frame's register file: `pred` is one 32-bit mask, 8/16-bit registers
// are uint16_t[32], 32-bit ones uint32_t[32], 64-bit ones uint64_t[32] and
// 128-bit ones two uint64_t[32] (low halves, then high halves). Immediates are
// broadcast arrays in the constant pool, so that an instruction never asks
// what kind its operands are: a Ref is an offset, its top bit picks the pool.
// Special registers and addresses of local variables are ordinary registers
// that are filled in when a frame starts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/ptx/Spec.h"
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::sim {

struct Warp;
struct Inst;
struct Code;
using ExecFn = void (*)(Warp &, const Inst &, uint32_t mask);
using Ref = uint32_t;
constexpr Ref constantPool = 0x80000000u;
constexpr Ref noRef = ~0u;

/// How an instruction moves the program counter.
enum class Flow : uint8_t {
  Next,
  Branch,
  BranchIndexed,
  Call,
  Return,
  Exit,
  Trap,
  BlockBarrier,  // may wait for other warps
  WarpSync,      // waits for the lanes of a member mask
  Yield,         // lets others run first (nanosleep)
  MbarrierWait,  // may sleep until a phase is complete
  ClusterArrive, // barrier.cluster.arrive
  ClusterWait,   // barrier.cluster.wait
};

/// Classes for counting.
enum class OpClass : uint8_t {
  Integer,
  Float,
  Half,
  Double,
  Convert,
  Move,
  Load,
  Store,
  Atomic,
  Matrix,
  AsyncCopy,
  Barrier,
  Warp,
  Control,
  Other,
  Count
};
const char *opClassName(OpClass c);

struct Inst {
  ExecFn fn = nullptr;
  Ref guard = noRef;
  bool guardNegated = false;
  Flow flow = Flow::Next;
  OpClass opClass = OpClass::Other;
  ptx::Space space = ptx::Space::Generic;
  uint8_t width = 0;    // bytes of one memory element
  uint8_t elements = 1; // memory elements per lane
  uint8_t regWidth = 0; // bytes of the register operand, where it may differ
  /// The address may lie in another block of the cluster.
  bool reachesCluster = false;
  uint8_t flags = 0;     // meaning belongs to the instruction's family
  uint8_t semantics = 0; // check::Semantics of a memory access
  uint8_t addressWidth = 8;
  uint8_t round = 0;
  uint16_t aux = 0;
  uint32_t target = 0; // branch target, callee number, ...
  uint32_t id = 0;     // index in the program's counters
  uint32_t line = 0;
  uint32_t usedBytes = 0; // mask of bytes that matter; 0 is all
  Ref ops[9] = {noRef, noRef, noRef, noRef, noRef, noRef, noRef, noRef, noRef};
  int64_t imm = 0;
  std::shared_ptr<const void> extra; // data of rare instructions
  const ptx::Instruction *source = nullptr;
};

/// A register of a frame that is set when the frame starts.
struct FrameValue {
  enum Kind : uint8_t { Special, LocalAddress } kind;
  unsigned special = 0;
  uint64_t offset = 0;
  Ref ref = 0;
};

/// A register of wgmma or tcgen05.ld that an instruction uses.
struct RegisterTouch {
  uint32_t number; // in the function
  bool isWritten;
};

/// One decoded function.
struct Code {
  const ptx::Function *function = nullptr;
  std::vector<Inst> insts; // ends with an implicit ret
  uint32_t registerBytes = 0;
  std::vector<uint8_t> constants;
  /// Places in `constants` that hold 32 shared addresses, and their bytes.
  std::vector<std::pair<uint32_t, unsigned>> sharedConstants;
  /// `constants` as the blocks of rank 1 and above see them: with their shared
  /// addresses. Filled before the first launch that needs them.
  std::array<std::unique_ptr<std::vector<uint8_t>>, 16> rankConstants;
  std::vector<FrameValue> frameValues;
  /// By instruction; empty if the function has no wgmma.
  std::vector<std::vector<RegisterTouch>> wgmmaTouches;
  /// The same for tcgen05.ld.
  std::vector<std::vector<RegisterTouch>> loadTouches;
  uint32_t localBytes = 0; // local variables and call parameters
  std::vector<uint32_t> paramOffsets, returnOffsets; // in the local frame
};

/// Where a call finds its arguments and puts its results.
struct CallSite {
  struct Copy {
    uint32_t from, to, bytes; // local offsets: caller's, callee's frame
  };
  std::vector<Copy> arguments, results;
  enum Builtin : uint8_t { None, Vprintf, AssertFail, Malloc, Free, Indirect };
  Builtin builtin = None;
  std::vector<uint32_t> argumentOffsets, argumentBytes;
  std::vector<uint32_t> resultOffsets, resultBytes;
  Ref pointer = noRef; // of an indirect call
};

struct LinkedModule;

/// A kernel with everything it calls, ready to run.
struct Program {
  LinkedModule *module = nullptr;
  const ptx::Function *entry = nullptr;
  std::vector<std::unique_ptr<Code>> codes; // codes[0] is the entry
  uint32_t instructionCount = 0;
  uint32_t staticShared = 0; // bytes, static variables
  /// Where the static variables end as we place them: with gaps, so that an
  /// access that runs out of one does not fall into the next.
  uint32_t sharedEnd = 0;
  struct SharedVariable {
    std::string name;
    uint32_t offset, bytes;
  };
  std::vector<SharedVariable> sharedVariables; // by offset
  /// A gap is a multiple of 128 bytes: it moves no variable to other banks.
  static constexpr uint32_t sharedGap = 256;
  uint32_t dynamicAlign = 16; // of the extern shared array
  std::vector<uint32_t> paramOffsets, paramBytes;
  uint32_t paramSize = 0;
  bool usesLocal = false;
  bool ring = false; // decoded for ring mode
  bool usesReservedShared = false;
  bool usesGridControl = false; // griddepcontrol
  /// Code number of each entry of the module's function table, or ~0.
  std::vector<uint32_t> functionCodes;
};

/// Prepares `rankConstants` for clusters of so many blocks.
void addRankConstants(Program &program, unsigned blocks);

/// Where the block's dynamic shared memory starts.
uint32_t dynamicSharedOffset(const Program &program);

} // namespace tessera::sim
