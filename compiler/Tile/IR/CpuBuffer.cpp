//===- CpuBuffer.cpp - How a scratch buffer lies in memory ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/IR/CpuBuffer.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using layout::Layout;

int64_t tessera::tile::scratchBytesOf(Type elementType) {
  if (elementType.isIndex())
    return 8;
  return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
}

bool tessera::tile::isAmxProduct(Type operand, Type sum) {
  return (operand.isBF16() && sum.isF32()) ||
         (operand.isInteger(8) && sum.isInteger(32));
}

layout::RegisterTile tessera::tile::registerTileFor(int64_t m, int64_t n,
                                                    Type element,
                                                    int64_t vectorBytes) {
  int64_t bytes = scratchBytesOf(element);
  return layout::chooseRegisterTile(vectorBytes >= 64
                                        ? layout::avx512Machine(bytes)
                                        : layout::avx2Machine(bytes),
                                    m, n);
}

static std::string dimName(int64_t dim) { return "dim" + std::to_string(dim); }

CpuBuffer::CpuBuffer(BufferType type) {
  elementBytes = scratchBytesOf(type.getElementType());
  terms.resize(type.getShape().size());
  if (!type.getLayout()) { // row-major, nothing padded
    int64_t stride = 1;
    for (int64_t dim = terms.size() - 1; dim >= 0; --dim) {
      terms[dim].push_back({type.getShape()[dim], 1, stride});
      stride *= type.getShape()[dim];
    }
    elements = stride;
    return;
  }
  const Layout &layout = type.getLayout().getValue();
  for (size_t dim = 0; dim < terms.size(); ++dim) {
    if (std::optional<int> in = layout.findIn(dimName(dim)))
      for (int bit = 0; bit < layout.ins()[*in].bits; ++bit)
        terms[dim].push_back({2, int64_t(1) << bit, layout.basis(*in, bit)[0]});
    for (const layout::Axis &axis : layout.axes())
      if (axis.in == dimName(dim) && axis.extent > 1)
        terms[dim].push_back({axis.extent, axis.inStride, axis.outStride});
    llvm::sort(terms[dim], [](const Term &a, const Term &b) {
      return a.inStride < b.inStride;
    });
    // Terms that continue each other are one.
    SmallVector<Term, 2> joined;
    for (const Term &term : terms[dim]) {
      if (!joined.empty()) {
        Term &inner = joined.back();
        if (term.inStride == inner.inStride * inner.extent &&
            term.outStride == inner.outStride * inner.extent) {
          inner.extent *= term.extent;
          continue;
        }
      }
      joined.push_back(term);
    }
    terms[dim] = joined;
    for (const Term &term : joined)
      elements += (term.extent - 1) * term.outStride;
  }
}

static BufferType make(RankedTensorType type, const Layout &layout) {
  MLIRContext *context = type.getContext();
  return BufferType::get(context, type.getShape(), type.getElementType(),
                         LayoutAttr::get(context, layout), Space::Scratch);
}

BufferType CpuBuffer::rows(RankedTensorType type, int64_t vectorBytes,
                           bool apart) {
  SmallVector<int64_t> sizes(type.getShape());
  int64_t bytes = scratchBytesOf(type.getElementType());
  if (sizes.size() == 2 && bytes >= 4) {
    layout::RegisterTile tile =
        registerTileFor(sizes[0], sizes[1], type.getElementType(), vectorBytes);
    sizes[0] = llvm::alignTo(sizes[0], tile.mr);
    sizes[1] = llvm::alignTo(sizes[1], tile.nr());
    // An AMX step writes 32 x 32.
    if (type.getElementType().isF32() || type.getElementType().isInteger(32)) {
      sizes[0] =
          std::max<int64_t>(sizes[0], llvm::alignTo(type.getDimSize(0), 32));
      sizes[1] =
          std::max<int64_t>(sizes[1], llvm::alignTo(type.getDimSize(1), 32));
    }
  }
  // Whole vectors, and of the 32 lanes that AMX packing reads.
  if (!sizes.empty())
    sizes.back() =
        llvm::alignTo(sizes.back(), std::max<int64_t>(vectorBytes / bytes, 32));
  std::vector<std::string> names;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    names.push_back(dimName(dim));
  Layout layout = Layout().withDims(names, {"offset"});
  int64_t stride = 1;
  for (int64_t dim = sizes.size() - 1; dim >= 0; --dim) {
    layout = *layout.withAxis({sizes[dim], dimName(dim), 1, "offset", stride});
    stride *= sizes[dim];
    // Rows of a power of two would share a few sets of the cache: a column of
    // tiles that is stored would evict itself.
    if (apart && dim == 1 && sizes.size() == 2 && stride * bytes % 1024 == 0)
      stride += 64 / bytes;
  }
  return make(type, layout);
}

BufferType CpuBuffer::panels(RankedTensorType type, int64_t columns) {
  return make(type,
              layout::packedB(type.getDimSize(0), type.getDimSize(1), columns));
}

/// [M/16][K/step][16][step], M to pairs of tiles.
BufferType CpuBuffer::amxLhs(RankedTensorType type) {
  int64_t step = amxStep(type.getElementType());
  return make(type, layout::packedA(llvm::alignTo(type.getDimSize(0), 32),
                                    llvm::alignTo(type.getDimSize(1), step), 16,
                                    step));
}

/// [N/16][K/group][16][group]: VNNI order.
BufferType CpuBuffer::amxRhs(RankedTensorType type) {
  Type element = type.getElementType();
  return make(
      type, layout::packedB(llvm::alignTo(type.getDimSize(0), amxStep(element)),
                            llvm::alignTo(type.getDimSize(1), 32), 16,
                            amxGroup(element)));
}

Attribute CpuPacking::attribute(Builder &builder) const {
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  return builder.getDictionaryAttr(
      {number("deep_last", deepLast), number("group", group),
       number("step", step), number("wide_step", wideStep),
       number("width", width)});
}

std::optional<CpuPacking> CpuPacking::of(Value view) {
  auto argument = dyn_cast<BlockArgument>(view);
  auto func = argument ? dyn_cast<FuncOp>(argument.getOwner()->getParentOp())
                       : FuncOp();
  if (!func)
    return std::nullopt;
  auto packed = func.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(),
                                                      "tile.packed");
  if (!packed)
    return std::nullopt;
  auto number = [&](StringRef name) {
    return packed.getAs<IntegerAttr>(name).getInt();
  };
  return CpuPacking{number("width"), number("group"), number("step"),
                    number("wide_step"), number("deep_last") != 0};
}

std::optional<int64_t> tessera::tile::zeroPaddingOf(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op))
    return store.getZeroPadding();
  auto store = dyn_cast<LocalStoreOp>(op);
  return store ? store.getZeroPadding() : std::nullopt;
}

bool tessera::tile::isStreaming(StoreOp store) {
  return store.getHints() && store.getHints()->contains("nontemporal");
}

bool tessera::tile::hasStreamingStores(FuncOp func) {
  return func
      .walk([](StoreOp store) {
        return isStreaming(store) ? WalkResult::interrupt()
                                  : WalkResult::advance();
      })
      .wasInterrupted();
}
