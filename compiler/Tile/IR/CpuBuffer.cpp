//===- CpuBuffer.cpp - How a scratch buffer lies in memory ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/IR/CpuBuffer.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera::tile;

MicroTile tessera::tile::chooseMicroTile(int64_t columns, int64_t elementBytes,
                                         int64_t vectorBytes) {
  int64_t lanes = vectorBytes / elementBytes;
  int64_t vectors = llvm::divideCeil(columns, lanes);
  // AVX2 has 16 registers: two vectors of columns, six rows.
  int64_t most = vectorBytes >= 64 ? 4 : 2;
  int64_t best = std::min(vectors, most);
  for (int64_t count = best - 1; count >= 2; --count)
    if (llvm::alignTo(vectors, count) < llvm::alignTo(vectors, best))
      best = count;
  int64_t accumulators = vectorBytes >= 64 ? 24 : 12;
  return {std::min<int64_t>(accumulators / best, 12), best * lanes};
}

int64_t tessera::tile::scratchBytesOf(Type elementType) {
  if (elementType.isIndex())
    return 8;
  return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
}

CpuBuffer::CpuBuffer(BufferType type) {
  elementBytes = scratchBytesOf(type.getElementType());
  ArrayRef<int64_t> shape = type.getShape();
  StringRef text = type.getLayout().getValue();
  if (text.consume_front("panels ")) {
    kind = Kind::Panels;
    text.getAsInteger(10, panel);
    elements = llvm::alignTo(shape[1], panel) * shape[0];
    return;
  }
  if (text == "amx_lhs" || text == "amx_rhs") {
    kind = text == "amx_lhs" ? Kind::AmxLhs : Kind::AmxRhs;
    int64_t k = kind == Kind::AmxLhs ? shape[1] : shape[0];
    int64_t other = kind == Kind::AmxLhs ? shape[0] : shape[1];
    // Steps of two tiles in M and N, of 32 in K.
    elements = llvm::alignTo(k, 32) * llvm::alignTo(other, 32);
    return;
  }
  physical.assign(shape.begin(), shape.end());
  if (text.consume_front("rows ")) {
    SmallVector<StringRef> sizes;
    text.split(sizes, 'x');
    for (auto [size, word] : llvm::zip(physical, sizes))
      word.getAsInteger(10, size);
  }
  elements = 1;
  for (int64_t size : physical)
    elements *= size;
}

int64_t CpuBuffer::stride(int64_t axis) const {
  int64_t stride = 1;
  for (size_t i = axis + 1; i < physical.size(); ++i)
    stride *= physical[i];
  return stride;
}

static BufferType make(RankedTensorType type, const Twine &layout) {
  MLIRContext *context = type.getContext();
  return BufferType::get(context, type.getShape(), type.getElementType(),
                         StringAttr::get(context, layout),
                         StringAttr::get(context, "scratch"));
}

BufferType CpuBuffer::rows(RankedTensorType type, int64_t vectorBytes) {
  SmallVector<int64_t> sizes(type.getShape());
  int64_t bytes = scratchBytesOf(type.getElementType());
  if (sizes.empty())
    return make(type, "");
  // A vector of the narrowest element may be as long as one of f32 lanes.
  int64_t lanes = std::max<int64_t>(vectorBytes / bytes, 16);
  if (sizes.size() == 2 && bytes >= 4) {
    MicroTile micro = chooseMicroTile(sizes[1], bytes, vectorBytes);
    sizes[0] = llvm::alignTo(sizes[0], micro.rows);
    sizes[1] = llvm::alignTo(sizes[1], micro.columns);
    // An AMX step writes 32 x 32.
    if (type.getElementType().isF32()) {
      sizes[0] =
          std::max<int64_t>(sizes[0], llvm::alignTo(type.getDimSize(0), 32));
      sizes[1] =
          std::max<int64_t>(sizes[1], llvm::alignTo(type.getDimSize(1), 32));
    }
  }
  sizes.back() = llvm::alignTo(sizes.back(), lanes);
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return make(type, "rows " + Twine(text));
}

BufferType CpuBuffer::panels(RankedTensorType type, int64_t panel) {
  return make(type, "panels " + Twine(panel));
}
BufferType CpuBuffer::amxLhs(RankedTensorType type) {
  return make(type, "amx_lhs");
}
BufferType CpuBuffer::amxRhs(RankedTensorType type) {
  return make(type, "amx_rhs");
}
