// Reading instruction descriptors, and the shapes of PTX ISA 9.7.16.2.1.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/InstructionDescriptor.h"

namespace tessera::sim {

using ptx::Type;

namespace {

/// Element types by kind and field; None is reserved.
Type elementType(ProductKind kind, unsigned field) {
  constexpr Type none = Type::None;
  constexpr Type small[8] = {Type::E4M3, Type::E5M2, none, Type::E2M3,
                             Type::E3M2, Type::E2M1, none, none};
  switch (kind) {
  case ProductKind::F16:
    return field == 0 ? Type::F16 : field == 1 ? Type::BF16 : none;
  case ProductKind::TF32:
    return field == 2 ? Type::TF32 : none;
  case ProductKind::I8:
    return field == 0 ? Type::U8 : field == 1 ? Type::S8 : none;
  case ProductKind::MXF4:
  case ProductKind::MXF4NVF4:
    return field == 1 ? Type::E2M1 : none;
  default:
    return small[field];
  }
}

/// K of a dense product.
unsigned denseK(ProductKind kind) {
  switch (kind) {
  case ProductKind::F16:
    return 16;
  case ProductKind::TF32:
    return 8;
  case ProductKind::MXF4:
  case ProductKind::MXF4NVF4:
    return 64;
  default:
    return 32;
  }
}

bool isPowerAtLeast64(unsigned n) { return n == 64 || n == 128 || n == 256; }

std::string checkShape(const ProductForm &form,
                       const InstructionDescriptor &d) {
  auto wrong = [&](const std::string &why) {
    return "M = " + std::to_string(d.m) + ", N = " + std::to_string(d.n) +
           " is not possible: " + why;
  };
  bool isInteger = form.kind == ProductKind::I8;
  if (d.isSparse && d.m == 64 * form.blocks && !form.isWeightStationary)
    return "not supported: M = " + std::to_string(d.m) +
           " with a sparse A, the lanes of whose metadata "
           "are in a figure only";
  if (form.isWeightStationary) {
    if (form.scaleCount)
      return ".ws has no block scaling";
    if (d.m != 32 && d.m != 64 && d.m != 128)
      return wrong("M of .ws is 32, 64 or 128");
    if (!isPowerAtLeast64(d.n) || (d.isSparse && d.n == 256))
      return wrong("N of .ws is 64, 128 or, dense, 256");
    return "";
  }
  unsigned each = form.blocks;
  bool isHalf = d.m == 64 * each && !(form.scaleCount && each == 1) &&
                !(form.scaleCount && d.isSparse);
  if (d.m != 128 * each && !isHalf)
    return wrong(each == 1 ? "M is 64 or 128, with block scaling 128"
                           : "M is 128 or 256, sparse with block scaling 256");
  unsigned step = (isInteger && each == 2)               ? 32
                  : each == 2 || (isInteger && d.n > 32) ? 16
                                                         : 8;
  if (!d.n || d.n > 256 || d.n % step)
    return wrong("N is a multiple of " + std::to_string(step) + " up to 256");
  // Table 52, 8 bits transposed
  bool is8Bit = isInteger || form.kind == ProductKind::F8F6F4 ||
                form.kind == ProductKind::MXF8F6F4;
  if (is8Bit && !d.bKMajor && d.n % (16 * each))
    return wrong("N is a multiple of " + std::to_string(16 * each) +
                 " for a transposed B of 8 bits");
  return "";
}

} // namespace

std::string readDescriptor(const ProductForm &form, uint32_t word,
                           InstructionDescriptor &d) {
  auto field = [&](unsigned bit, unsigned bits) {
    return word >> bit & ((1u << bits) - 1);
  };
  bool isScaled = form.scaleCount != 0;
  bool isPacked =
      form.kind == ProductKind::MXF4 || form.kind == ProductKind::MXF4NVF4;
  d.aType = elementType(form.kind, field(7, 3));
  d.bType = elementType(form.kind, field(10, isPacked ? 2 : 3));
  if (d.aType == Type::None || d.bType == Type::None)
    return std::string("the type of matrix ") +
           (d.aType == Type::None ? "A" : "B") + " is " +
           std::to_string(d.aType == Type::None ? field(7, 3) : field(10, 3)) +
           ", which its kind does not have";
  d.isSparse = field(2, 1);
  if (d.isSparse != form.isSparse)
    return std::string("it says ") + (d.isSparse ? "sparse" : "dense") +
           ", the instruction " + (form.isSparse ? "sparse" : "dense");
  d.aNegated = field(13, 1);
  d.bNegated = field(14, 1);
  d.aKMajor = !field(15, 1);
  d.bKMajor = !field(16, 1);
  d.n = field(17, 6) * 8;
  d.k = denseK(form.kind) * (d.isSparse ? 2 : 1);
  if (isScaled) {
    d.dType = Type::F32;
    d.scaleB = field(4, 2);
    d.scaleA = field(29, 2);
    d.m = field(27, 2) * 128;
    // CUTLASS has M >> 4 from bit 24 on, which is the same.
    if (field(0, 2) || field(3, 1) || field(6, 1) || field(24, 3))
      return "a reserved bit is not 0";
    if (field(31, 1))
      return "not supported: K = 96";
    bool isE8 = field(23, 1);
    d.scaleType = isE8 ? Type::UE8M0 : Type::UE4M3;
    if (isE8 ? false
             : form.kind != ProductKind::MXF4NVF4 || form.scaleCount != 4)
      return "scale factors of ue4m3 need .kind::mxf4nvf4 with four of them";
    for (unsigned id : {d.scaleA, d.scaleB})
      if (form.scaleCount == 4   ? id != 0
          : form.scaleCount == 2 ? id & 1
                                 : false)
        return "the id of the scale factors is " + std::to_string(id) +
               ", which does not go with their number";
  } else {
    unsigned type = field(4, 2);
    bool isInteger = form.kind == ProductKind::I8;
    d.dType = type == 0 ? Type::F16 : type == 1 ? Type::F32 : Type::S32;
    bool fits = isInteger   ? type == 2
                : type == 0 ? form.kind != ProductKind::TF32 &&
                                  d.aType != Type::BF16 && d.bType != Type::BF16
                            : type == 1;
    if (!fits)
      return "the type of matrix D is " + std::to_string(type) +
             ", which does not go with those of A and B";
    d.selector = field(0, 2);
    d.saturates = field(3, 1);
    d.m = field(24, 5) * 16;
    if (field(6, 1) || field(23, 1) || field(29, 1))
      return "a reserved bit is not 0";
    if (d.saturates && !isInteger)
      return "saturation is for integers";
    if (isInteger && (d.aNegated || d.bNegated))
      return "integers are not negated";
    if (form.kind == ProductKind::F16 && d.aType != d.bType)
      return "A and B have different types";
    if (d.selector && d.isSparse)
      return "not supported: sparsity selectors other than 0";
  }
  if (isPacked && (!d.aKMajor || !d.bKMajor))
    return "matrices of 4 bits are not transposed";
  auto isSmall = [](Type t) { return ptx::typeBits(t) < 8; };
  if ((isSmall(d.aType) && !d.aKMajor) || (isSmall(d.bType) && !d.bKMajor))
    return "matrices of 4 and 6 bits are not transposed";
  return checkShape(form, d);
}

} // namespace tessera::sim
