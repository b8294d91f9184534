//===- Machine.cpp - The machines there are, and what most of them do -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/SIMT/Machine.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;

static SmallVector<const Family *> &families() {
  static SmallVector<const Family *> all;
  return all;
}

void tessera::simt::addFamily(const Family &family) {
  if (!llvm::is_contained(families(), &family))
    families().push_back(&family);
}

const Machine *tessera::simt::findMachine(StringRef name) {
  for (const Family *family : families())
    if (const Machine *machine = family->find(name))
      return machine;
  return nullptr;
}

std::string tessera::simt::machineNames() {
  std::string names;
  for (const Family *family : families())
    names += (names.empty() ? "" : ", ") + family->names();
  return names;
}

void tessera::simt::registerDialectsOfMachines(DialectRegistry &registry) {
  for (const Family *family : families())
    family->registerDialects(registry);
}

const Machine *tessera::simt::requireMachine(Operation *op, StringRef name) {
  const Machine *machine = findMachine(name);
  if (!machine)
    op->emitError() << "no architecture is called '" << name << "'; there are "
                    << machineNames();
  return machine;
}

const Machine *tessera::simt::machineOf(tile::FuncOp func) {
  if (std::optional<StringRef> name = func.getArch())
    return requireMachine(func, *name);
  func.emitError() << "a kernel of threads says its machine, arch = ...";
  return nullptr;
}

std::optional<layout::MmaShape>
tessera::simt::Machine::shapeOf(tile::MmaOp mma) const {
  tile::InstructionAttr given = mma.getInstructionAttr();
  if (!given || given.getForm() == tile::MmaForm::Fma)
    return std::nullopt;
  layout::MmaShape shape;
  shape.m = given.getM();
  shape.n = given.getN();
  shape.k = given.getK();
  shape.perRegister = 1;
  return shape;
}
