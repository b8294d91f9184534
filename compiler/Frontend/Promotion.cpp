//===- Promotion.cpp - dtypes and how they combine ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Promotion.h"

#include "mlir/IR/BuiltinTypes.h"

#include <limits>

using namespace mlir;

namespace tessera::frontend {
namespace {

struct DTypeInfo {
  DType dtype;
  const char *name;
  DTypeKind kind;
  unsigned bits;
  bool supported;
};

constexpr DTypeInfo dtypes[] = {
    {DType::Bool, "bool", DTypeKind::Bool, 8, true},
    {DType::I8, "i8", DTypeKind::Int, 8, true},
    {DType::I16, "i16", DTypeKind::Int, 16, false},
    {DType::I32, "i32", DTypeKind::Int, 32, true},
    {DType::I64, "i64", DTypeKind::Int, 64, true},
    {DType::U8, "u8", DTypeKind::Int, 8, false},
    {DType::U16, "u16", DTypeKind::Int, 16, false},
    {DType::U32, "u32", DTypeKind::Int, 32, false},
    {DType::U64, "u64", DTypeKind::Int, 64, false},
    {DType::FP4_E2M1, "fp4_e2m1", DTypeKind::Float, 4, false},
    {DType::FP6_E2M3, "fp6_e2m3", DTypeKind::Float, 6, false},
    {DType::FP6_E3M2, "fp6_e3m2", DTypeKind::Float, 6, false},
    {DType::FP8_E4M3, "fp8_e4m3", DTypeKind::Float, 8, true},
    {DType::FP8_E4M3FNUZ, "fp8_e4m3fnuz", DTypeKind::Float, 8, false},
    {DType::FP8_E5M2, "fp8_e5m2", DTypeKind::Float, 8, true},
    {DType::FP16, "fp16", DTypeKind::Float, 16, true},
    {DType::BF16, "bf16", DTypeKind::Float, 16, true},
    {DType::TF32, "tf32", DTypeKind::Float, 32, false},
    {DType::FP32, "fp32", DTypeKind::Float, 32, true},
    {DType::FP64, "fp64", DTypeKind::Float, 64, true},
    {DType::Complex64, "complex64", DTypeKind::Complex, 64, false},
};

constexpr std::pair<const char *, DType> aliases[] = {
    {"float64", DType::FP64},
    {"double", DType::FP64},
    {"float32", DType::FP32},
    {"float", DType::FP32},
    {"single", DType::FP32},
    {"float16", DType::FP16},
    {"half", DType::FP16},
    {"bfloat16", DType::BF16},
    {"int8", DType::I8},
    {"int16", DType::I16},
    {"int32", DType::I32},
    {"int64", DType::I64},
    {"int", DType::I64},
    {"uint8", DType::U8},
    {"uint16", DType::U16},
    {"uint32", DType::U32},
    {"uint64", DType::U64},
    {"bool_", DType::Bool},
    {"boolean", DType::Bool},
    {"float8_e4m3fn", DType::FP8_E4M3},
    {"float8_e5m2", DType::FP8_E5M2},
    {"float8_e4m3fnuz", DType::FP8_E4M3FNUZ},
    {"float6_e2m3fn", DType::FP6_E2M3},
    {"float6_e3m2fn", DType::FP6_E3M2},
    {"float4_e2m1fn", DType::FP4_E2M1},
    {"complex64", DType::Complex64},
};

const DTypeInfo &getInfo(DType dtype) { return dtypes[size_t(dtype)]; }

const char *getKindName(DType dtype) {
  switch (getDTypeKind(dtype)) {
  case DTypeKind::Bool:
    return "bool";
  case DTypeKind::Int:
    return "int";
  case DTypeKind::Float:
    return "float";
  case DTypeKind::Complex:
    return "complex";
  }
  return "";
}

Promotion makeConflict(std::string what, int side, DType to) {
  Promotion result;
  result.conflict = std::move(what);
  result.convertSide = side;
  result.convertTo = to;
  return result;
}

} // namespace

const char *getDTypeName(DType dtype) { return getInfo(dtype).name; }

std::optional<DType> parseDType(std::string_view name) {
  for (const DTypeInfo &info : dtypes)
    if (name == info.name)
      return info.dtype;
  for (auto [alias, dtype] : aliases)
    if (name == alias)
      return dtype;
  return std::nullopt;
}

DTypeKind getDTypeKind(DType dtype) { return getInfo(dtype).kind; }
unsigned getDTypeBits(DType dtype) { return getInfo(dtype).bits; }
bool isSupportedDType(DType dtype) { return getInfo(dtype).supported; }

const char *getSupportedInstead(DType dtype) {
  if (isSupportedDType(dtype))
    return getDTypeName(dtype);
  if (isFloat(dtype))
    return getDTypeBits(dtype) < 16 ? "fp16" : "fp32";
  return getDTypeBits(dtype) > 16 ? "i64" : "i32";
}

Type getStorageType(MLIRContext *context, DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return IntegerType::get(context, 1);
  case DType::I8:
    return IntegerType::get(context, 8);
  case DType::FP8_E4M3:
    return Float8E4M3FNType::get(context);
  case DType::FP8_E5M2:
    return Float8E5M2Type::get(context);
  case DType::I32:
    return IntegerType::get(context, 32);
  case DType::I64:
    return IntegerType::get(context, 64);
  case DType::FP16:
    return Float16Type::get(context);
  case DType::BF16:
    return BFloat16Type::get(context);
  case DType::FP32:
    return Float32Type::get(context);
  case DType::FP64:
    return Float64Type::get(context);
  default:
    return nullptr;
  }
}

std::optional<DType> getDType(Type type) {
  if (type.isIndex() || type.isInteger(64))
    return DType::I64;
  if (type.isInteger(1))
    return DType::Bool;
  if (type.isInteger(32))
    return DType::I32;
  if (type.isInteger(8))
    return DType::I8;
  if (isa<Float8E4M3FNType>(type))
    return DType::FP8_E4M3;
  if (isa<Float8E5M2Type>(type))
    return DType::FP8_E5M2;
  if (type.isF16())
    return DType::FP16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isF32())
    return DType::FP32;
  if (type.isF64())
    return DType::FP64;
  return std::nullopt;
}

DType getAccumulateDType(DType dtype) {
  switch (dtype) {
  case DType::FP64:
  case DType::I32:
  case DType::I64:
  case DType::Bool:
    return dtype;
  case DType::I8:
    return DType::I32;
  default:
    return isFloat(dtype) ? DType::FP32 : dtype;
  }
}

DType getWiderDType(DType dtype) {
  if (!isFloat(dtype))
    return DType::I64;
  return getDTypeBits(dtype) < 32 ? DType::FP32 : DType::FP64;
}

double getOverflow(DType dtype) {
  // The largest number and half a unit in its last place.
  switch (dtype) {
  case DType::FP8_E4M3:
    return 464.0;
  case DType::FP8_E5M2:
    return 61440.0;
  case DType::FP16:
    return 65520.0;
  case DType::BF16:
    return 0x1.FFp127;
  case DType::FP32:
    return 0x1.FFFFFFp127;
  default:
    return std::numeric_limits<double>::infinity();
  }
}

Promotion promote(PromotionOperand left, PromotionOperand right) {
  Promotion result;
  DTypeKind leftKind = getDTypeKind(left.dtype);
  DTypeKind rightKind = getDTypeKind(right.dtype);
  if (left.weak && right.weak) {
    // Python's own rule: bool < int < float.
    result.weak = true;
    result.dtype = leftKind > rightKind ? left.dtype : right.dtype;
    return result;
  }
  if (left.weak != right.weak) {
    const PromotionOperand &strong = left.weak ? right : left;
    const PromotionOperand &weak = left.weak ? left : right;
    DTypeKind strongKind = getDTypeKind(strong.dtype);
    DTypeKind weakKind = getDTypeKind(weak.dtype);
    result.dtype = strong.dtype;
    bool fits = weakKind == strongKind ||
                (weakKind == DTypeKind::Int && strongKind == DTypeKind::Float);
    if (fits)
      return result;
    // The side with a dtype is the one that can be converted.
    DType to = weakKind == DTypeKind::Float ? DType::FP32
               : weakKind == DTypeKind::Int ? DType::I32
                                            : DType::Bool;
    return makeConflict(std::string(getDTypeName(strong.dtype)) + " with a " +
                            getKindName(weak.dtype),
                        left.weak ? 1 : 0, to);
  }
  if (left.dtype == right.dtype) {
    result.dtype = left.dtype;
    return result;
  }
  std::string both = std::string(getDTypeName(left.dtype)) + " with " +
                     getDTypeName(right.dtype);
  if (leftKind != rightKind) {
    // The less general kind is converted: bool < int < float.
    int side = leftKind < rightKind ? 0 : 1;
    return makeConflict(both, side, side == 0 ? right.dtype : left.dtype);
  }
  unsigned leftBits = getDTypeBits(left.dtype);
  unsigned rightBits = getDTypeBits(right.dtype);
  if (leftBits == rightBits)
    return makeConflict(both, 0,
                        isFloat(left.dtype) ? DType::FP32 : DType::I64);
  result.dtype = leftBits > rightBits ? left.dtype : right.dtype;
  return result;
}

} // namespace tessera::frontend
