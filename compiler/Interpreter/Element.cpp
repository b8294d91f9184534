//===- Element.cpp - Rounding to the element types, and their bits --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's APFloat knows the formats; the types that the processor has are
// rounded by it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Interpreter/Element.h"

#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "mlir/IR/BuiltinTypes.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <immintrin.h>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;
using llvm::APFloat;
using llvm::APInt;

static_assert(std::numeric_limits<long double>::digits == 64,
              "the reference is x86's 80-bit real");

static constexpr struct {
  unsigned bits;
  llvm::StringLiteral name;
} table[] = {{1, "bool"},  {8, "i8"},     {16, "i16"},   {32, "i32"},
             {64, "i64"},  {8, "f8e4m3"}, {8, "f8e5m2"}, {16, "f16"},
             {16, "bf16"}, {32, "tf32"},  {32, "f32"},   {64, "f64"}};

unsigned interpreter::bitsOf(Element e) { return table[unsigned(e)].bits; }
llvm::StringRef interpreter::nameOf(Element e) {
  return table[unsigned(e)].name;
}

std::optional<Element> interpreter::elementNamed(llvm::StringRef name) {
  for (unsigned i = 0; i < std::size(table); ++i)
    if (table[i].name == name)
      return Element(i);
  return std::nullopt;
}

std::optional<Element> interpreter::elementOf(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    type = shaped.getElementType();
  else if (auto buffer = dyn_cast<tile::BufferType>(type))
    type = buffer.getElementType();
  if (type.isIndex())
    return Element::I64;
  if (auto integer = dyn_cast<IntegerType>(type))
    switch (integer.getWidth()) {
    case 1:
      return Element::I1;
    case 8:
      return Element::I8;
    case 16:
      return Element::I16;
    case 32:
      return Element::I32;
    case 64:
      return Element::I64;
    default:
      return std::nullopt;
    }
  if (isa<Float8E4M3FNType>(type))
    return Element::F8E4M3;
  if (isa<Float8E5M2Type>(type))
    return Element::F8E5M2;
  if (type.isF16())
    return Element::F16;
  if (type.isBF16())
    return Element::BF16;
  if (type.isTF32())
    return Element::TF32;
  if (type.isF32())
    return Element::F32;
  if (type.isF64())
    return Element::F64;
  return std::nullopt;
}

static const llvm::fltSemantics &semanticsOf(Element e) {
  switch (e) {
  case Element::F8E4M3:
    return APFloat::Float8E4M3FN();
  case Element::F8E5M2:
    return APFloat::Float8E5M2();
  case Element::F16:
    return APFloat::IEEEhalf();
  case Element::BF16:
    return APFloat::BFloat();
  case Element::TF32:
    return APFloat::FloatTF32();
  case Element::F32:
    return APFloat::IEEEsingle();
  default:
    return APFloat::IEEEdouble();
  }
}

static APFloat toAPFloat(long double value) {
  uint64_t words[2] = {};
  std::memcpy(words, &value, 10);
  return APFloat(APFloat::x87DoubleExtended(), APInt(80, words));
}

static long double toReal(APFloat value) {
  bool lost;
  value.convert(APFloat::x87DoubleExtended(), APFloat::rmNearestTiesToEven,
                &lost);
  APInt bits = value.bitcastToAPInt();
  long double result = 0;
  std::memcpy(&result, bits.getRawData(), 10);
  return result;
}

static APFloat convert(Element e, long double value,
                       APFloat::roundingMode how) {
  APFloat number = toAPFloat(value);
  bool lost;
  number.convert(semanticsOf(e), how, &lost);
  return number;
}

// By instructions that every x86-64-v3 has: for _Float16 the compiler would
// call functions of a libgcc that is newer than what the wheel may ask for.
__attribute__((target("f16c"))) static uint16_t toHalf(float value) {
  return uint16_t(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
}
__attribute__((target("f16c"))) static float fromHalf(uint16_t bits) {
  return _cvtsh_ss(bits);
}

long double interpreter::roundTo(Element e, long double value) {
  switch (e) {
  case Element::F64:
    return double(value);
  case Element::F32:
    return float(value);
  case Element::F16:
    // Two roundings are one where the first loses nothing.
    if (float(value) == value)
      return fromHalf(toHalf(float(value)));
    break;
  case Element::BF16:
    if (float(value) == value) {
      uint32_t bits = std::bit_cast<uint32_t>(float(value));
      bits += 0x7fff + (bits >> 16 & 1);
      return std::bit_cast<float>(bits & 0xffff0000u);
    }
    break;
  default:
    if (!isFloat(e))
      return value;
  }
  return toReal(convert(e, value, APFloat::rmNearestTiesToEven));
}

long double interpreter::roundTowardZero(Element e, long double value) {
  if (!isFloat(e) || !std::isfinite(value))
    return roundTo(e, value);
  return toReal(convert(e, value, APFloat::rmTowardZero));
}

long double interpreter::saturateTo(Element e, long double value) {
  if (e != Element::F8E4M3 && e != Element::F8E5M2)
    return roundTo(e, value);
  long double most = toReal(APFloat::getLargest(semanticsOf(e)));
  if (value > most)
    return most;
  return value < -most ? -most : roundTo(e, value);
}

int64_t interpreter::wrapTo(Element e, int64_t bits) {
  switch (e) {
  case Element::I1:
    return bits & 1;
  case Element::I8:
    return int8_t(bits);
  case Element::I16:
    return int16_t(bits);
  case Element::I32:
    return int32_t(bits);
  default:
    return bits;
  }
}

uint64_t interpreter::encode(Element e, long double value) {
  switch (e) {
  case Element::F64:
    return std::bit_cast<uint64_t>(double(value));
  case Element::F32:
    return std::bit_cast<uint32_t>(float(value));
  case Element::F16:
    if (float(value) == value)
      return toHalf(float(value));
    break;
  case Element::BF16:
    if (float(value) == value)
      return std::bit_cast<uint32_t>(float(roundTo(e, value))) >> 16;
    break;
  case Element::TF32: // kept in 32 bits
    return std::bit_cast<uint32_t>(float(roundTo(e, value)));
  default:
    break;
  }
  return convert(e, value, APFloat::rmNearestTiesToEven)
      .bitcastToAPInt()
      .getZExtValue();
}

long double interpreter::decode(Element e, uint64_t bits) {
  switch (e) {
  case Element::F64:
    return std::bit_cast<double>(bits);
  case Element::F32:
  case Element::TF32:
    return std::bit_cast<float>(uint32_t(bits));
  case Element::BF16:
    return std::bit_cast<float>(uint32_t(bits) << 16);
  case Element::F16:
    return fromHalf(uint16_t(bits));
  default:
    return toReal(APFloat(semanticsOf(e), APInt(bitsOf(e), bits)));
  }
}
