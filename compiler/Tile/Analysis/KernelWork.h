//===- KernelWork.h - How many operations a launch takes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of a kernel at the value level, whose arguments have known shapes: additions,
// multiplications, comparisons of two values and functions such as `exp` count
// one, a multiply-add two. Elements that do not exist, of tiles past the end of
// a dim, are not counted.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TILE_ANALYSIS_KERNELWORK_H
#define TESSERA_COMPILER_TILE_ANALYSIS_KERNELWORK_H

#include "llvm/ADT/ArrayRef.h"

#include <map>
#include <string>
#include <vector>

namespace tessera::tile {

class FuncOp;

struct KernelWork {
  double flops = 0;
  /// Those of matrix products, by the element type of the operands.
  std::map<std::string, double> products;
  /// What could not be counted, in words; empty: nothing.
  std::string unknown;
};

/// `shapes`: of the kernel's views, in order.
KernelWork workOf(FuncOp func, llvm::ArrayRef<std::vector<int64_t>> shapes);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_ANALYSIS_KERNELWORK_H
