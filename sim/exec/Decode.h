// From parsed instructions to Inst records.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Link.h"
#include "sim/exec/Warp.h"

namespace tessera::sim {

std::unique_ptr<Program> decodeKernel(LinkedModule &module,
                                      const std::string &kernel, bool ring);

/// What the families' decode functions work with.
class Decoder {
public:
  Decoder(LinkedModule &module, Program &program, Code &code,
          const ptx::Function &function);
  void run();

  using Operand = ptx::Operand;
  using Type = ptx::Type;

  const ptx::Instruction *source = nullptr;
  Program &program;
  const ptx::Function &function;
  unsigned moduleArch = 0;
  unsigned moduleVersion = 0; // 805 for PTX 8.5

  [[noreturn]] void fail(const std::string &what) const;
  [[noreturn]] void fail(const Operand &at, const std::string &what) const;
  const Operand &operand(size_t i) const { return source->operands[i]; }
  size_t operandCount() const { return source->operands.size(); }
  bool has(std::string_view modifier) const { return source->has(modifier); }
  /// The i-th type of the opcode, or None.
  Type type(size_t i = 0) const {
    return i < source->types.size() ? source->types[i] : Type::None;
  }

  /// A destination register of exactly `bits`; `_` gives a scratch register.
  Ref dst(const Operand &o, unsigned bits);
  /// A source of exactly the width of `type`: register, number, address.
  Ref src(const Operand &o, Type type);
  Ref pred(const Operand &o);    // predicate source, may be negated
  Ref predDst(const Operand &o); // predicate destination or sink
  /// A register of any width; sets `bytes` to its width in the file.
  Ref anyReg(const Operand &o, uint8_t &bytes);
  Ref scratch(unsigned bits);
  Ref constant(uint64_t value, unsigned bits);
  /// An offset in shared memory; blocks of a cluster see their own address.
  Ref sharedAddress(uint64_t offset, unsigned bits);
  Ref ringConstant(double value, unsigned bits);
  Ref constantPair(uint64_t low, uint64_t high);
  unsigned regBits(const Operand &o) const;
  /// Fills space, ops[slot], addressWidth and imm of a memory instruction.
  void address(const Operand &o, Inst &inst, ptx::Space space, unsigned slot);
  /// The state space the modifiers name.
  ptx::Space spaceModifier() const;
  /// Semantics and scope of a memory access (see check/Semantics.h).
  uint8_t semantics() const;
  /// Adds an instruction before the current one that no counter sees.
  void before(Inst inst);
  int64_t immediate(const Operand &o) const;
  unsigned label(const Operand &o) const { return function.labels[o.reg]; }
  uint32_t localOffset(const ptx::Variable *v);
  unsigned calleeNumber(const ptx::Function *f);
  uint32_t sharedOffset(const ptx::Variable *v);
  const Code &currentCode() const { return code; }

private:
  LinkedModule &module;
  Code &code;
  std::vector<Ref> registers;
  std::unordered_map<uint64_t, Ref> constants[3];
  std::unordered_map<unsigned, Ref> specials;
  std::unordered_map<uint64_t, Ref> sharedAddresses[2]; // of 32, 64 bits
  std::unordered_map<const ptx::Variable *, Ref> localAddresses;
  std::unordered_map<const ptx::Variable *, uint32_t> localOffsets;
  std::vector<uint32_t> firstInst; // per source instruction

  Ref allocate(unsigned bits);
  Ref registerRef(unsigned index);
  Ref specialRef(unsigned special);
  Ref symbol(const Operand &o, unsigned bits);
  void instruction(const ptx::Instruction &source);
};

/// Sets fn, ops and whatever else the instruction needs; throws ptx::Error.
using DecodeFn = void (*)(Decoder &, Inst &);
DecodeFn findDecoder(std::string_view base);

/// Fill Code::wgmmaTouches and Code::loadTouches.
void findWgmmaTouches(Code &code);
void findLoadTouches(Code &code);
/// Adds the registers of an operand.
void collectTouches(const ptx::Operand &o, bool isWritten,
                    std::vector<RegisterTouch> &into);
/// From source instructions to those of `code`; tracked registers only.
void placeTouches(const Code &code, std::vector<std::vector<RegisterTouch>> all,
                  const std::vector<uint8_t> &isTracked,
                  std::vector<std::vector<RegisterTouch>> &into);

// One per family, each in the file that executes it.
void decodeInteger(Decoder &, Inst &);
void decodeBits(Decoder &, Inst &);
void decodeFloat(Decoder &, Inst &);
void decodeCompare(Decoder &, Inst &);
void decodeConvert(Decoder &, Inst &);
void decodeMove(Decoder &, Inst &);
void decodeLoadStore(Decoder &, Inst &);
void decodeAtomic(Decoder &, Inst &);
void decodeFence(Decoder &, Inst &);
void decodeBarrier(Decoder &, Inst &);
void decodeMbarrier(Decoder &, Inst &);
void decodeWarp(Decoder &, Inst &);
void decodeControl(Decoder &, Inst &);
void decodeMma(Decoder &, Inst &);
void decodeWmma(Decoder &, Inst &);
void decodeWgmma(Decoder &, Inst &);
void decodeRegisters(Decoder &, Inst &);
void decodeLaunchControl(Decoder &, Inst &);
void decodeMatrixMove(Decoder &, Inst &);
void decodeAsyncCopy(Decoder &, Inst &);
void decodeBulkCopy(Decoder &, Inst &);
void decodeTensorCopy(Decoder &, Inst &);
void decodeTensorMap(Decoder &, Inst &);
void decodeCluster(Decoder &, Inst &);
void decodeClusterBarrier(Decoder &, Inst &);
void decodeAsyncStore(Decoder &, Inst &);
void decodeVideo(Decoder &, Inst &);
void decodeTcgen05(Decoder &, Inst &);

} // namespace tessera::sim
