//===- Variants.cpp - Which variants a kernel is offered ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products on cores with caches. One of few rows reads B once and wants long
// pieces of its rows; one of few columns reads A once, and its rows to their
// ends. A right operand whose columns lie in memory one after the other, as the
// weights of `x @ w.T` do, is read along these columns by the turned product; x
// is small and packed.
//
//===----------------------------------------------------------------------===//

#include "compiler/Schedule/Transforms/Decisions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::schedule;

namespace {

struct Bounds {
  int64_t least = 0, most = 0; ///< 0: any
};

/// The variants of one product, in the order in which a call asks for them.
class Offers {
public:
  Offers(FuseOp fuse, GemmOp gemm) : fuse(fuse), gemm(gemm) {
    Type element = tensorType(gemm.getLhs()).getElementType();
    if (element.isBF16()) {
      columnMajor(32);
      few("thin32", {32, 512, 256}, {0, 32}, {});
      // AMX is quick with a panel: programs enough, and longer pieces.
      few("thin128x256", {128, 256, 1024}, {0, 128}, {2048, 0});
    } else if (element.isF32() || element.isF16()) {
      columnMajor(16);
      // Few steps of k, so that lines of B follow each other for long.
      few("thin4x1024", {4, 1024, 64}, {0, 4}, {4096, 0});
      few("thin4", {4, 512, 64}, {0, 4}, {});
      few("thin16", {16, 512, 64}, {0, 16}, {});
      // Eight rows are read at a time: sums enough for the multipliers. B is a
      // panel as it lies.
      if (element.isF32() && rankOf(gemm) == 2 &&
          isa<BlockArgument>(gemm.getRhs()))
        for (int64_t columns : {16, 32})
          offer("narrow" + std::to_string(columns), VariantForm::Product,
                {8, columns, 4096}, {128, 0}, {columns, columns}, {},
                RightLayout::NearRowMajor);
    }
  }

  SmallVector<Attribute> variants;

private:
  void offer(StringRef name, VariantForm form, ArrayRef<int64_t> tiles,
             Bounds rows, Bounds columns, Bounds depth, RightLayout right) {
    int64_t rank = rankOf(gemm);
    if (!canSpecialize(gemm, form) || !mayBe(gemm, rank - 2, rows) ||
        !mayBe(gemm, rank - 1, columns) ||
        !mayBe(gemm.getLhs(), rank - 1, depth))
      return;
    MLIRContext *context = fuse.getContext();
    auto when = WhenAttr::get(context, {rows.least, rows.most},
                              {columns.least, columns.most},
                              {depth.least, depth.most}, right);
    variants.push_back(VariantAttr::get(context, name, form, tiles, when));
  }

  /// Turned, with so many rows of B^T at a time, or one row as sums.
  void columnMajor(int64_t most) {
    mostTurned = most;
    offer("row", VariantForm::Row, {1, 1, 1024}, {1, 1}, {}, {},
          RightLayout::ColumnMajor);
    // Short sums are not worth packing A again for every 64 columns.
    offer("turned" + std::to_string(most), VariantForm::Turned,
          {most, 64, 4096}, {0, most}, {}, {256, 0}, RightLayout::ColumnMajor);
  }

  /// Few rows, along the rows of B. Fewer than the turned product is for are
  /// its.
  void few(StringRef name, ArrayRef<int64_t> tiles, Bounds rows,
           Bounds columns) {
    bool isTurned =
        rows.most < mostTurned && canSpecialize(gemm, VariantForm::Turned);
    offer(name, VariantForm::Product, tiles, rows, columns, {},
          isTurned ? RightLayout::NotColumnMajor : RightLayout::Any);
  }

  static bool mayBe(Value value, int64_t axis, Bounds bounds) {
    Extent extent = getExtent(value, axis);
    return !extent.isConstant() ||
           (extent.constant >= bounds.least &&
            (!bounds.most || extent.constant <= bounds.most));
  }

  FuseOp fuse;
  GemmOp gemm;
  int64_t mostTurned = 0;
};

} // namespace

/// Padded head sizes of attention whose head size a call says.
static void offerHeads(FuseOp fuse, AttentionOp attention) {
  if (!hasOpenHead(attention))
    return;
  MLIRContext *context = fuse.getContext();
  const int64_t any[] = {0, 0};
  SmallVector<Attribute> variants;
  for (int64_t width : {64, 128, 256})
    variants.push_back(VariantAttr::get(
        context, "d" + std::to_string(width), VariantForm::Head, {width},
        WhenAttr::get(context, any, any, {0, width}, RightLayout::Any)));
  fuse.setVariantsAttr(ArrayAttr::get(context, variants));
}

void schedule::offerVariants(FuseOp fuse, DictionaryAttr schedule,
                             Model model) {
  for (auto attention : fuse.getBody().getOps<AttentionOp>())
    return offerHeads(fuse, attention);
  auto gemms = fuse.getBody().getOps<GemmOp>();
  if (model != Model::Caches || gemms.empty())
    return;
  // Who says tiles wants these.
  if (schedule)
    for (NamedAttribute named : schedule)
      if (named.getName().getValue().starts_with("tile."))
        return;
  Offers offers(fuse, *gemms.begin());
  if (!offers.variants.empty())
    fuse.setVariantsAttr(ArrayAttr::get(fuse.getContext(), offers.variants));
}
