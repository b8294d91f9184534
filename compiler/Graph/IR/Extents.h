//===- Extents.h - Which sizes of a graph are equal -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shape analysis of Graph IR. An extent is brought into its simplest known
// form by walking from a value to where its size was decided; two extents are
// proved equal if their forms are. Nothing is cached and no op is made, so it
// may be asked while the IR changes.
//
//   %t = gir.transpose %x [1, 0]          getExtent(%t, 0) is axis 1 of %x
//   %y = gir.broadcast %b sizes(%n) ...   getExtent(%y, 0) is what %n is
//
// Axes of one name (`gir.dims`) among a function's arguments have one extent,
// because the plan checks it at entry: they are all the first one.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_GRAPH_IR_EXTENTS_H
#define TESSERA_COMPILER_GRAPH_IR_EXTENTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace tessera::graph {

/// A size in its simplest known form.
struct Extent {
  enum class Kind {
    Constant, ///< `constant`
    Axis,     ///< the extent of axis `axis` of `value`
    Scalar,   ///< the tensor<i64> `value`
  };
  Kind kind = Kind::Constant;
  int64_t constant = 0;
  mlir::Value value;
  int64_t axis = 0;

  static Extent get(int64_t constant) {
    return {Kind::Constant, constant, {}, 0};
  }
  bool isConstant() const { return kind == Kind::Constant; }
  bool isConstant(int64_t number) const {
    return isConstant() && constant == number;
  }
  bool operator==(const Extent &other) const = default;
};

/// The extent of an axis of a tensor.
Extent getExtent(mlir::Value tensor, int64_t axis);

/// What a run-time size (a tensor<i64>) is.
Extent getExtent(mlir::Value size);

/// The name `gir.dims` gives that axis of a function's argument, or "".
llvm::StringRef getDimName(mlir::Value argument, int64_t axis);

/// The tensor<i64> that holds this extent; made if there is none yet.
mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location loc,
                        const Extent &extent);

} // namespace tessera::graph

#endif // TESSERA_COMPILER_GRAPH_IR_EXTENTS_H
