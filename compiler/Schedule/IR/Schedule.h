//===- Schedule.h - Schedule IR: dialect, attributes, ops -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stage 2 of 4: how it is computed. The only header other stages include.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_SCHEDULE_IR_SCHEDULE_H
#define TESSERA_COMPILER_SCHEDULE_IR_SCHEDULE_H

#include "compiler/Tile/IR/Tile.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/Schedule/IR/ScheduleDialect.h.inc"
#include "compiler/Schedule/IR/ScheduleEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/Schedule/IR/ScheduleAttrs.h.inc"

#define GET_OP_CLASSES
#include "compiler/Schedule/IR/ScheduleOps.h.inc"

#endif // TESSERA_COMPILER_SCHEDULE_IR_SCHEDULE_H
