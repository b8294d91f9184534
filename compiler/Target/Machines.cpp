//===- Machines.cpp - The machines there are ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/CPU.h"
#include "compiler/Target/CudaTile/CudaTile.h"
#include "compiler/Target/Machine.h"
#include "compiler/Target/NVIDIA/NVIDIA.h"
#include "compiler/Target/SIMT/Machine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace tessera;

static llvm::SmallVector<const Machine *> &registry() {
  // To add a machine is to add its folder's row here.
  static llvm::SmallVector<const Machine *> rows = [] {
    llvm::SmallVector<const Machine *> all = {&target::cpuMachine(),
                                              &target::nvidiaMachine(),
                                              &target::cudaTileMachine()};
    for (const Machine *machine : all)
      if (machine->simt)
        simt::addFamily(machine->simt());
    return all;
  }();
  return rows;
}

llvm::ArrayRef<const Machine *> tessera::machines() { return registry(); }

void tessera::registerMachine(const Machine &machine) {
  registry().push_back(&machine);
  if (machine.simt)
    simt::addFamily(machine.simt());
}

const Machine *tessera::findMachine(llvm::StringRef target) {
  for (const Machine *machine : machines())
    if (machine->has(target))
      return machine;
  return nullptr;
}

const Emission *Machine::findEmission(llvm::StringRef name) const {
  const Emission *found = llvm::find_if(
      emissions, [&](const Emission &e) { return e.name == name; });
  return found == emissions.end() ? nullptr : found;
}

std::string tessera::targetNames() {
  std::string names;
  for (const Machine *machine : machines())
    names += (names.empty()                  ? ""
              : machine == machines().back() ? ", and "
                                             : ", ") +
             machine->targetNames();
  return names;
}

llvm::SmallVector<llvm::StringRef> tessera::emissionNames() {
  llvm::SmallVector<llvm::StringRef> names;
  for (const Machine *machine : machines())
    for (const Emission &emission : machine->emissions)
      if (!llvm::is_contained(names, emission.name))
        names.push_back(emission.name);
  return names;
}
