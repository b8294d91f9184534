//===- ElementwiseWriter.cpp - arith and math as CUDA Tile ops ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CudaTile/KernelWriter.h"
#include "compiler/Tile/Transforms/MaskAbsent.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;
using namespace tessera::target::cudatile;

static bool isHalf(Type type) {
  type = getElementTypeOrSelf(type);
  return type.isF16() || type.isBF16();
}

/// The bytes of a constant; a tile of one value is written as that value.
static Bytes constantBytes(Attribute value) {
  APInt bits(64, 0);
  if (auto number = dyn_cast<FloatAttr>(value))
    bits = number.getValue().bitcastToAPInt();
  else
    bits = cast<IntegerAttr>(value).getValue();
  unsigned width = isa<IndexType>(cast<TypedAttr>(value).getType())
                       ? 64
                       : bits.getBitWidth();
  if (width == 1)
    return Bytes(1, char(bits.isZero() ? 0 : 0xFF));
  Bytes bytes;
  uint64_t word = bits.getBitWidth() > 64 ? 0 : bits.getZExtValue();
  for (unsigned i = 0; i < width / 8; ++i)
    bytes += char(word >> (8 * i));
  return bytes;
}

namespace {
/// An op: its code and one-byte flags and attributes.
struct Form {
  Opcode code;
  std::vector<uint8_t> attributes;
};
} // namespace

/// Nearest even, no flushing; integers wrap; signed where it matters.
static std::optional<Form> formOf(Operation *op) {
  using Result = std::optional<Form>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([](arith::AddFOp) -> Result { return Form{AddF, {0, 0}}; })
      .Case([](arith::SubFOp) -> Result { return Form{SubF, {0, 0}}; })
      .Case([](arith::MulFOp) -> Result { return Form{MulF, {0, 0}}; })
      .Case([](arith::DivFOp) -> Result { return Form{DivF, {0, 0}}; })
      .Case([](arith::NegFOp) -> Result { return Form{NegF, {}}; })
      .Case([](arith::MaximumFOp) -> Result { return Form{MaxF, {1}}; })
      .Case([](arith::MinimumFOp) -> Result { return Form{MinF, {1}}; })
      .Case([](arith::AddIOp) -> Result { return Form{AddI, {0}}; })
      .Case([](arith::SubIOp) -> Result { return Form{SubI, {0}}; })
      .Case([](arith::MulIOp) -> Result { return Form{MulI, {0}}; })
      .Case([](arith::DivSIOp) -> Result { return Form{DivI, {1, 1}}; })
      .Case([](arith::DivUIOp) -> Result { return Form{DivI, {0, 1}}; })
      .Case([](arith::FloorDivSIOp) -> Result { return Form{DivI, {1, 2}}; })
      .Case([](arith::CeilDivSIOp) -> Result { return Form{DivI, {1, 3}}; })
      .Case([](arith::RemSIOp) -> Result { return Form{RemI, {1}}; })
      .Case([](arith::RemUIOp) -> Result { return Form{RemI, {0}}; })
      .Case([](arith::MaxSIOp) -> Result { return Form{MaxI, {1}}; })
      .Case([](arith::MinSIOp) -> Result { return Form{MinI, {1}}; })
      .Case([](arith::AndIOp) -> Result { return Form{AndI, {}}; })
      .Case([](arith::OrIOp) -> Result { return Form{OrI, {}}; })
      .Case([](arith::XOrIOp) -> Result { return Form{XOrI, {}}; })
      .Case([](arith::ShLIOp) -> Result { return Form{ShLI, {0}}; })
      .Case([](arith::ShRSIOp) -> Result { return Form{ShRI, {1}}; })
      .Case([](arith::ShRUIOp) -> Result { return Form{ShRI, {0}}; })
      .Case([](arith::SelectOp) -> Result { return Form{Select, {}}; })
      .Case([](arith::BitcastOp) -> Result { return Form{Bitcast, {}}; })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [](auto) -> Result { return Form{FToF, {0}}; })
      .Case([](arith::SIToFPOp) -> Result { return Form{IToF, {1, 0}}; })
      .Case([](arith::UIToFPOp) -> Result { return Form{IToF, {0, 0}}; })
      // Towards zero, as the conversion says.
      .Case([](arith::FPToSIOp) -> Result { return Form{FToI, {1, 6}}; })
      .Case([](arith::ExtSIOp) -> Result { return Form{ExtI, {1}}; })
      .Case([](arith::ExtUIOp) -> Result { return Form{ExtI, {0}}; })
      .Case([](arith::TruncIOp) -> Result { return Form{TruncI, {0}}; })
      .Case([](math::FmaOp) -> Result { return Form{Fma, {0, 0}}; })
      .Case([](math::SqrtOp) -> Result { return Form{Sqrt, {0, 0}}; })
      .Case([](math::FloorOp) -> Result { return Form{Floor, {}}; })
      .Case([](math::CeilOp) -> Result { return Form{Ceil, {}}; })
      .Case([](math::AbsFOp) -> Result { return Form{AbsF, {}}; })
      .Case([](math::AbsIOp) -> Result { return Form{AbsI, {}}; })
      .Case([](arith::CmpIOp compare) -> Result {
        using P = arith::CmpIPredicate;
        // equal, not equal, less, less or equal, greater, greater or equal
        switch (compare.getPredicate()) {
        case P::eq:
          return Form{CmpI, {0, 1}};
        case P::ne:
          return Form{CmpI, {1, 1}};
        case P::slt:
          return Form{CmpI, {2, 1}};
        case P::sle:
          return Form{CmpI, {3, 1}};
        case P::sgt:
          return Form{CmpI, {4, 1}};
        case P::sge:
          return Form{CmpI, {5, 1}};
        case P::ult:
          return Form{CmpI, {2, 0}};
        case P::ule:
          return Form{CmpI, {3, 0}};
        case P::ugt:
          return Form{CmpI, {4, 0}};
        case P::uge:
          return Form{CmpI, {5, 0}};
        }
        return std::nullopt;
      })
      .Case([](arith::CmpFOp compare) -> Result {
        using P = arith::CmpFPredicate;
        switch (compare.getPredicate()) { // ..., ordered
        case P::OEQ:
          return Form{CmpF, {0, 1}};
        case P::ONE:
          return Form{CmpF, {1, 1}};
        case P::OLT:
          return Form{CmpF, {2, 1}};
        case P::OLE:
          return Form{CmpF, {3, 1}};
        case P::OGT:
          return Form{CmpF, {4, 1}};
        case P::OGE:
          return Form{CmpF, {5, 1}};
        case P::UEQ:
          return Form{CmpF, {0, 0}};
        case P::UNE:
          return Form{CmpF, {1, 0}};
        case P::ULT:
          return Form{CmpF, {2, 0}};
        case P::ULE:
          return Form{CmpF, {3, 0}};
        case P::UGT:
          return Form{CmpF, {4, 0}};
        case P::UGE:
          return Form{CmpF, {5, 0}};
        default:
          return std::nullopt;
        }
      })
      .Default([](Operation *) -> Result { return std::nullopt; });
}

LogicalResult KernelWriter::writeElementwise(Operation *op) {
  Value result = op->getResult(0);
  TypeId type = typeOf(result.getType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    Attribute value = constant.getValue();
    if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
      if (!dense.isSplat())
        return refuse(op, "a tile of different constants");
      value = dense.getSplatValue<Attribute>();
    }
    values[result] = out.constant(type, constantBytes(value));
    return success();
  }
  std::vector<ValueId> operands;
  for (Value operand : op->getOperands())
    operands.push_back(values[operand]);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    Scalar from = scalarOf(op->getOperand(0).getType()),
           to = scalarOf(result.getType());
    if (from == to)
      values[result] = operands[0];
    else if (to == I64)
      values[result] =
          out.op(ExtI, type, {uint8_t(isa<arith::IndexCastOp>(op))}, operands);
    else
      values[result] = out.op(TruncI, type, {0}, operands);
    return success();
  }
  std::optional<Form> form = formOf(op);
  if (!form)
    return refuse(op, tile::wordFor(op));
  // A condition without axes chooses whole tiles there too, but must be spread.
  if (auto select = dyn_cast<arith::SelectOp>(op))
    if (!isa<RankedTensorType>(select.getCondition().getType())) {
      Shape shape = paddedShape(result.getType());
      operands[0] = spread(operands[0], I1, Shape(shape.size(), 1), shape);
    }
  // 16-bit floats are computed in f32 and rounded after each op.
  bool widen =
      isHalf(result.getType()) && !isa<arith::SelectOp, arith::BitcastOp>(op) &&
      llvm::all_of(op->getOperandTypes(), isHalf) && form->code != FToF;
  if (!widen) {
    values[result] = out.op(form->code, type, form->attributes, operands);
    return success();
  }
  TypeId wide = typeOf(F32, paddedShape(result.getType()));
  for (ValueId &operand : operands)
    operand = out.op(FToF, wide, {0}, {operand});
  ValueId computed = out.op(form->code, wide, form->attributes, operands);
  values[result] = out.op(FToF, type, {0}, {computed});
  return success();
}
