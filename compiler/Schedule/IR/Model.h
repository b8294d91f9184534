//===- Model.h - What a schedule has to know of a machine -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_SCHEDULE_IR_MODEL_H
#define TESSERA_COMPILER_SCHEDULE_IR_MODEL_H

namespace tessera::schedule {

/// What keeps the operands that a program reads again. The first tile sizes,
/// and which decisions there are at all, follow from it.
enum class Model {
  /// A core with caches: operands may be packed into panels, sums over a long k
  /// be split between programs, results be stored past the caches; programs are
  /// large and few.
  Caches,
  /// A block's shared memory: tiles are small and programs are many.
  SharedMemory,
};

} // namespace tessera::schedule

#endif // TESSERA_COMPILER_SCHEDULE_IR_MODEL_H
