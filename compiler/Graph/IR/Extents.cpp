//===- Extents.cpp - Which sizes of a graph are equal ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/IR/Extents.h"

#include "compiler/Graph/IR/Graph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera::graph;

namespace {

/// Where an extent comes from: an axis of a tensor, or (axis -1) a size.
struct Origin {
  Value value;
  int64_t axis = -1;
};

} // namespace

/// The size operand for a dynamic axis of a result with explicit sizes.
static Origin sizeOperand(OperandRange sizes, RankedTensorType type,
                          int64_t axis) {
  return {sizes[type.getDynamicDimIndex(axis)]};
}

/// One step from a result of an op towards the origin of its extent `axis`;
/// nothing if the op decides the extent itself.
static std::optional<Origin> step(OpResult result, int64_t axis) {
  using Result = std::optional<Origin>;
  return llvm::TypeSwitch<Operation *, Result>(result.getOwner())
      .Case<BroadcastOp, ReshapeOp, SliceOp>([&](auto sized) -> Result {
        return sizeOperand(sized.getSizes(), sized.getType(), axis);
      })
      .Case([&](ArangeOp arange) -> Result { return Origin{arange.getSize()}; })
      .Case([&](TransposeOp transpose) -> Result {
        return Origin{transpose.getInput(), transpose.getPermutation()[axis]};
      })
      .Case([&](ReduceOp reduce) -> Result {
        int64_t from = 0;
        for (int64_t left = axis;; ++from)
          if (!llvm::is_contained(reduce.getAxes(), from) && left-- == 0)
            return Origin{reduce.getInput(), from};
      })
      .Case([&](GemmOp gemm) -> Result {
        int64_t rank = gemm.getType().getRank();
        if (axis == rank - 1)
          return Origin{gemm.getRhs(),
                        gemm.getTransposeRhs() ? rank - 2 : rank - 1};
        if (axis == rank - 2 && gemm.getTransposeLhs())
          return Origin{gemm.getLhs(), rank - 1};
        return Origin{gemm.getLhs(), axis};
      })
      .Case([&](AttentionOp attention) -> Result {
        bool last = axis == attention.getType().getRank() - 1;
        return Origin{last ? attention.getV() : attention.getQ(), axis};
      })
      .Case([&](ConcatOp concat) -> Result {
        if (axis == int64_t(concat.getAxis()))
          return std::nullopt;
        return Origin{concat.getInputs().front(), axis};
      })
      .Case([&](TakeOp take) -> Result {
        int64_t first = take.getAxis();
        int64_t count =
            cast<RankedTensorType>(take.getIndices().getType()).getRank();
        if (axis < first)
          return Origin{take.getInput(), axis};
        if (axis < first + count)
          return Origin{take.getIndices(), axis - first};
        return Origin{take.getInput(), axis - count + 1};
      })
      .Case([&](GatherOp gather) -> Result {
        return Origin{gather.getIndices(), axis};
      })
      .Case([&](LayerNormOp norm) -> Result {
        return Origin{norm.getInput(), axis};
      })
      .Case([&](CrossEntropyOp loss) -> Result {
        return Origin{loss.getLogits(), axis};
      })
      .Case<ForOp, WhileOp>([&](auto loop) -> Result {
        return Origin{loop.getInits()[result.getResultNumber()], axis};
      })
      .Case([&](IfOp branch) -> Result {
        unsigned before = 0;
        for (OpResult other : branch.getResults())
          if (other.getResultNumber() < result.getResultNumber())
            before +=
                cast<RankedTensorType>(other.getType()).getNumDynamicDims();
        auto type = cast<RankedTensorType>(result.getType());
        return Origin{
            branch.getSizes()[before + type.getDynamicDimIndex(axis)]};
      })
      .Case([&](SelectOp select) -> Result {
        return Origin{select.getA(), axis};
      })
      .Default([&](Operation *other) -> Result {
        if (isa<GraphDialect>(other->getDialect()) &&
            other->getNumOperands() > 0 &&
            (other->hasTrait<OpTrait::SameOperandsAndResultShape>() ||
             other->hasTrait<OpTrait::SameOperandsAndResultType>())) {
          // A scalar that was spread to the shape names the sizes: without it,
          // a chain of ops is walked to its beginning for each of them.
          for (Value operand : other->getOperands())
            if (auto spread = operand.getDefiningOp<BroadcastOp>();
                spread && spread.getInput().getType().getRank() == 0)
              return Origin{operand, axis};
          return Origin{other->getOperand(0), axis};
        }
        return std::nullopt;
      });
}

llvm::StringRef tessera::graph::getDimName(Value value, int64_t axis) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return "";
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!function || !argument.getOwner()->isEntryBlock())
    return "";
  auto names =
      function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "gir.dims");
  if (!names || axis >= int64_t(names.size()))
    return "";
  auto name = dyn_cast<StringAttr>(names[axis]);
  return name ? name.getValue() : "";
}

/// The first axis among the function's arguments that has the name of this one.
static Origin firstOfName(Value argument, int64_t axis) {
  llvm::StringRef name = getDimName(argument, axis);
  if (name.empty())
    return {argument, axis};
  for (BlockArgument other :
       cast<BlockArgument>(argument).getOwner()->getArguments()) {
    auto type = dyn_cast<RankedTensorType>(other.getType());
    for (int64_t i = 0, e = type ? type.getRank() : 0; i < e; ++i)
      if (getDimName(other, i) == name)
        return {other, i};
  }
  return {argument, axis};
}

static Extent resolve(Origin origin) {
  while (true) {
    if (origin.axis < 0) {
      DenseElementsAttr number;
      if (matchPattern(origin.value, m_Constant(&number)))
        return Extent::get(number.getSplatValue<APInt>().getSExtValue());
      auto dim = origin.value.getDefiningOp<DimOp>();
      if (!dim)
        return {Extent::Kind::Scalar, 0, origin.value, 0};
      origin = {dim.getInput(), int64_t(dim.getAxis())};
    }
    auto type = cast<ShapedType>(origin.value.getType());
    if (!type.isDynamicDim(origin.axis))
      return Extent::get(type.getDimSize(origin.axis));
    Extent extent{Extent::Kind::Axis, 0, origin.value, origin.axis};
    if (auto argument = dyn_cast<BlockArgument>(origin.value)) {
      // A carried value has the extents it had before the loop.
      if (Value init = getInit(argument)) {
        origin = {init, origin.axis};
        continue;
      }
      Origin first = firstOfName(origin.value, origin.axis);
      if (first.value == origin.value && first.axis == origin.axis)
        return extent;
      origin = first;
      continue;
    }
    std::optional<Origin> next =
        step(cast<OpResult>(origin.value), origin.axis);
    if (!next)
      return extent;
    origin = *next;
  }
}

Extent tessera::graph::getExtent(Value tensor, int64_t axis) {
  return resolve({tensor, axis});
}

Extent tessera::graph::getExtent(Value size) { return resolve({size}); }

Value tessera::graph::materialize(OpBuilder &builder, Location loc,
                                  const Extent &extent) {
  switch (extent.kind) {
  case Extent::Kind::Constant: {
    auto type = cast<ShapedType>(DimOp::sizeType(builder.getContext()));
    return ConstantOp::create(
        builder, loc,
        cast<ElementsAttr>(DenseElementsAttr::get(type, extent.constant)));
  }
  case Extent::Kind::Axis:
    return DimOp::create(builder, loc, extent.value, extent.axis);
  case Extent::Kind::Scalar:
    return extent.value;
  }
  llvm_unreachable("unknown kind of extent");
}
