//===- Bytecode.h - Writes NVIDIA's CUDA Tile IR bytecode -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Version 13.1, the oldest that is frozen; newer tileiras read it. A file is
//
//   7f "TileIR" 00, major, minor, tag (2 bytes)
//   sections: id | 0x80, length, alignment, 0xCB padding, bytes
//     2 functions   name, signature, flags, debug info, length, code
//     4 constants   5 types   1 strings   (tables: count, offsets, bytes)
//   0
//
// Code is a sequence of ops: opcode, result types, flags, attributes, operands,
// regions. Values are numbered as they appear; numbers used in a region are
// given back at its end. All numbers are LEB128 unless said otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_CUDATILE_BYTECODE_H
#define TESSERA_COMPILER_TARGET_CUDATILE_BYTECODE_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tessera::target::cudatile {

/// Opcodes of the frozen table that we write.
enum Opcode : uint8_t {
  AbsF = 0,
  AbsI = 1,
  AddF = 2,
  AddI = 3,
  AndI = 4,
  Bitcast = 9,
  Broadcast = 11,
  Ceil = 13,
  CmpF = 14,
  CmpI = 15,
  Constant = 16,
  Continue = 17,
  DivF = 20,
  DivI = 21,
  ExtI = 37,
  Floor = 39,
  Fma = 40,
  For = 41,
  FToF = 42,
  FToI = 43,
  GetTileBlockId = 48,
  If = 50,
  Iota = 58,
  IToF = 59,
  LoadViewTko = 62,
  MakePartitionView = 66,
  MakeTensorView = 67,
  MakeToken = 68,
  MaxF = 69,
  MaxI = 70,
  MinF = 71,
  MinI = 72,
  MmaF = 73,
  MulF = 76,
  MulI = 78,
  NegF = 79,
  NegI = 80,
  OrI = 82,
  Permute = 83,
  Reduce = 88,
  RemI = 90,
  Reshape = 91,
  Return = 92,
  Select = 95,
  ShLI = 96,
  ShRI = 97,
  Sqrt = 100,
  StoreViewTko = 102,
  SubF = 103,
  SubI = 104,
  TruncI = 107,
  XOrI = 108,
  Yield = 109
};

/// Element types: their tags in the type table.
enum Scalar : uint8_t {
  I1 = 0,
  I8 = 1,
  I16 = 2,
  I32 = 3,
  I64 = 4,
  F16 = 5,
  BF16 = 6,
  F32 = 7,
  F64 = 9,
  Token = 17
};

using Bytes = std::string;
using Shape = std::vector<int64_t>;
/// Numbers in the type table and of values.
using TypeId = unsigned;
using ValueId = unsigned;

void writeVarint(Bytes &bytes, uint64_t value);

/// Distinct byte strings, numbered as they come.
class Table {
public:
  unsigned get(const Bytes &item);
  Bytes write(int offsetBytes) const;

private:
  std::map<Bytes, unsigned> numbers;
  std::vector<Bytes> items;
};

/// A module of entry functions.
class Module {
public:
  static constexpr int64_t dynamic = INT64_MIN;

  Module();

  TypeId scalar(Scalar tag);
  TypeId pointer(Scalar element);
  TypeId tile(TypeId element, const Shape &shape);
  TypeId tensorView(Scalar element, const Shape &sizes, const Shape &strides);
  /// Tiles of `shape`; elements outside the tensor are read as 0.
  TypeId partitionView(const Shape &shape, TypeId tensorView);
  TypeId function(const std::vector<TypeId> &parameters);

  /// One entry; `body` writes its code with the parameters numbered from 0.
  void entry(const std::string &name, const std::vector<TypeId> &parameters,
             const std::function<void()> &body);
  Bytes write() const;

  // Ops, into the entry or region that is being written.
  /// Opcode and one result type; then attributes and operands by the caller.
  void begin(Opcode code) { writeVarint(code_, code), ++ops; }
  void number(uint64_t value) { writeVarint(code_, value); }
  void byte(uint8_t value) { code_ += char(value); }
  void integers(const Shape &values, int bytesEach);
  void attribute(const Bytes &tagged) { code_ += tagged; }
  ValueId result() { return next++; }
  /// A plain op: result type, one-byte attributes, operands.
  ValueId op(Opcode code, TypeId type, const std::vector<uint8_t> &attributes,
             const std::vector<ValueId> &operands);
  ValueId constant(TypeId type, const Bytes &element);
  /// A region of one block with arguments of these types.
  void region(const std::vector<TypeId> &arguments,
              const std::function<void(ValueId first)> &body);

private:
  Table types, strings, constants;
  Bytes functions, code_;
  unsigned functionCount = 0, ops = 0;
  ValueId next = 0;
};

} // namespace tessera::target::cudatile

#endif // TESSERA_COMPILER_TARGET_CUDATILE_BYTECODE_H
