//===- Bytecode.cpp - Writes NVIDIA's CUDA Tile IR bytecode ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CudaTile/Bytecode.h"

using namespace tessera::target::cudatile;

void tessera::target::cudatile::writeVarint(Bytes &bytes, uint64_t value) {
  for (; value > 127; value >>= 7)
    bytes += char(value | 128);
  bytes += char(value);
}

static void writeFixed(Bytes &bytes, uint64_t value, int count) {
  for (; count--; value >>= 8)
    bytes += char(value);
}

static void pad(Bytes &bytes, size_t alignment) {
  while (bytes.size() % alignment)
    bytes += char(0xCB);
}

static void writeIntegers(Bytes &bytes, const Shape &values, int bytesEach) {
  writeVarint(bytes, values.size());
  for (int64_t value : values)
    writeFixed(bytes, uint64_t(value), bytesEach);
}

unsigned Table::get(const Bytes &item) {
  auto [found, isNew] = numbers.try_emplace(item, unsigned(items.size()));
  if (isNew)
    items.push_back(item);
  return found->second;
}

Bytes Table::write(int offsetBytes) const {
  Bytes bytes;
  writeVarint(bytes, items.size());
  pad(bytes, size_t(offsetBytes));
  uint64_t offset = 0;
  for (const Bytes &item : items) {
    writeFixed(bytes, offset, offsetBytes);
    offset += item.size();
  }
  for (const Bytes &item : items)
    bytes += item;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Types: a tag, then what it is made of
//===----------------------------------------------------------------------===//

Module::Module() {
  // The format gives these two fixed numbers.
  scalar(I1);
  scalar(I32);
}

TypeId Module::scalar(Scalar tag) { return types.get(Bytes(1, char(tag))); }

TypeId Module::pointer(Scalar element) {
  Bytes bytes(1, 12);
  writeVarint(bytes, scalar(element));
  return types.get(bytes);
}

TypeId Module::tile(TypeId element, const Shape &shape) {
  Bytes bytes(1, 13);
  writeVarint(bytes, element);
  writeIntegers(bytes, shape, 8);
  return types.get(bytes);
}

TypeId Module::tensorView(Scalar element, const Shape &sizes,
                          const Shape &strides) {
  Bytes bytes(1, 14);
  writeVarint(bytes, scalar(element));
  writeIntegers(bytes, sizes, 8);
  writeIntegers(bytes, strides, 8);
  return types.get(bytes);
}

TypeId Module::partitionView(const Shape &shape, TypeId view) {
  Bytes bytes(1, 15);
  writeIntegers(bytes, shape, 4);
  writeVarint(bytes, view);
  Shape order;
  for (size_t i = 0; i < shape.size(); ++i)
    order.push_back(int64_t(i));
  writeIntegers(bytes, order, 4);
  writeVarint(bytes, 1); // there is a padding value:
  bytes += char(0);      // zero
  return types.get(bytes);
}

TypeId Module::function(const std::vector<TypeId> &parameters) {
  Bytes bytes(1, 16);
  writeVarint(bytes, parameters.size());
  for (TypeId type : parameters)
    writeVarint(bytes, type);
  writeVarint(bytes, 0); // no results
  return types.get(bytes);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

void Module::integers(const Shape &values, int bytesEach) {
  writeIntegers(code_, values, bytesEach);
}

ValueId Module::op(Opcode code, TypeId type,
                   const std::vector<uint8_t> &attributes,
                   const std::vector<ValueId> &operands) {
  begin(code);
  number(type);
  for (uint8_t attribute : attributes)
    byte(attribute);
  for (ValueId operand : operands)
    number(operand);
  return result();
}

ValueId Module::constant(TypeId type, const Bytes &element) {
  Bytes data;
  writeVarint(data, element.size());
  data += element;
  begin(Constant);
  number(type);
  number(constants.get(data));
  return result();
}

void Module::region(const std::vector<TypeId> &arguments,
                    const std::function<void(ValueId)> &body) {
  byte(1); // blocks
  number(arguments.size());
  for (TypeId type : arguments)
    number(type);
  Bytes outer;
  outer.swap(code_);
  unsigned outerOps = ops;
  ValueId first = next;
  ops = 0;
  next += ValueId(arguments.size());
  body(first);
  writeVarint(outer, ops);
  outer += code_;
  code_.swap(outer);
  ops = outerOps;
  next = first;
}

void Module::entry(const std::string &name,
                   const std::vector<TypeId> &parameters,
                   const std::function<void()> &body) {
  code_.clear();
  next = ValueId(parameters.size());
  body();
  ++functionCount;
  writeVarint(functions, strings.get(name));
  writeVarint(functions, function(parameters));
  functions += char(2);      // an entry
  writeVarint(functions, 0); // no debug info
  writeVarint(functions, code_.size());
  functions += code_;
}

static void writeSection(Bytes &file, int id, int alignment,
                         const Bytes &bytes) {
  file += char(id | 0x80);
  writeVarint(file, bytes.size());
  writeVarint(file, uint64_t(alignment));
  pad(file, size_t(alignment));
  file += bytes;
}

Bytes Module::write() const {
  Bytes file("\x7fTileIR\0", 8);
  file += char(13);
  file += char(1);
  writeFixed(file, 0, 2);
  Bytes code;
  writeVarint(code, functionCount);
  code += functions;
  writeSection(file, 2, 8, code);
  writeSection(file, 4, 8, constants.write(8));
  writeSection(file, 5, 4, types.write(4));
  writeSection(file, 1, 4, strings.write(4));
  file += char(0);
  return file;
}
