//===- MachineOps.cpp - Target IR: verifiers of instructions --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/IR/MachineOps.h"

#include "compiler/Target/SIMT/Machine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

//===----------------------------------------------------------------------===//
// Machines
//===----------------------------------------------------------------------===//

/// The nearest `arch` attribute, from the op outwards.
static StringAttr archName(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto name = op->getAttrOfType<StringAttr>("arch"))
      return name;
  return {};
}

std::optional<nvidia::Arch> tessera::target::archOf(Operation *op) {
  StringAttr name = archName(op);
  if (!name)
    return std::nullopt;
  std::optional<nvidia::Arch> arch = nvidia::parseArch(name.getValue());
  if (arch)
    arch = nvidia::promoted(*arch);
  return arch;
}

/// A name of an architecture that is none is an error.
static LogicalResult checkArch(Operation *op) {
  StringAttr name = archName(op);
  if (!name || nvidia::parseArch(name.getValue()) ||
      simt::findMachine(name.getValue()))
    return success();
  return op->emitOpError() << "no architecture is called '" << name.getValue()
                           << "'; there are " << nvidia::archNames();
}

StringRef tessera::target::ptxType(StringRef precision) {
  return llvm::StringSwitch<StringRef>(precision)
      .Cases({"fp16", "f16"}, "f16")
      .Case("bf16", "bf16")
      .Case("tf32", "tf32")
      .Cases({"fp64", "f64"}, "f64")
      .Cases({"fp8_e4m3", "e4m3", "fp8"}, "e4m3")
      .Cases({"fp8_e5m2", "e5m2"}, "e5m2")
      .Cases({"fp6_e2m3", "e2m3"}, "e2m3")
      .Cases({"fp6_e3m2", "e3m2"}, "e3m2")
      .Cases({"fp4_e2m1", "e2m1", "fp4"}, "e2m1")
      .Cases({"i8", "s8", "int8"}, "s8")
      .Case("u8", "u8")
      .Default("");
}

//===----------------------------------------------------------------------===//
// thread_config
//===----------------------------------------------------------------------===//

LogicalResult
ThreadConfigAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         ArrayRef<int64_t> grid, int64_t elements) {
  // (C1)
  int64_t threads = grid.empty() ? 0 : 1;
  for (int64_t size : grid)
    threads *= std::clamp<int64_t>(size, 0, nvidia::threadsPerBlock + 1);
  if (threads < 1 || threads > nvidia::threadsPerBlock)
    return emitError() << "a block has 1 to " << nvidia::threadsPerBlock
                       << " threads, this grid " << threads;
  if (elements < 1)
    return emitError() << "each thread has one element or more, not "
                       << elements;
  return success();
}

//===----------------------------------------------------------------------===//
// kernel
//===----------------------------------------------------------------------===//

static LogicalResult checkDebugInfo(KernelOp kernel) {
  Attribute given = kernel->getAttr("tessera.debug_info");
  if (!given)
    return success();
  auto entries = dyn_cast<DictionaryAttr>(given);
  if (!entries)
    return kernel.emitOpError() << "tessera.debug_info is a dictionary";
  for (NamedAttribute entry : entries) {
    StringRef name = entry.getName();
    bool good = name == "source_location"  ? isa<StringAttr>(entry.getValue())
                : name == "variable_names" ? isa<ArrayAttr>(entry.getValue())
                : name == "optimization_level"
                    ? isa<IntegerAttr>(entry.getValue())
                    : false;
    if (!good)
      return kernel.emitOpError()
             << "tessera.debug_info has source_location (a string), "
                "variable_names (a list) and optimization_level (a number); '"
             << name << "' is none of them";
  }
  if (auto level = entries.getAs<IntegerAttr>("optimization_level");
      level && (level.getInt() < 0 || level.getInt() > 3))
    return kernel.emitOpError()
           << "an optimization_level is 0 to 3, not " << level.getInt();
  if (auto place = entries.getAs<StringAttr>("source_location")) {
    unsigned line;
    if (place.getValue().rsplit(':').second.getAsInteger(10, line))
      return kernel.emitOpError()
             << "a source_location is \"file:line\", not " << place;
  }
  return success();
}

/// Sizes whose product nobody has to multiply twice: -1 if it is too large.
static int64_t product(ArrayRef<int64_t> sizes) {
  constexpr int64_t most = int64_t(1) << 31;
  int64_t result = 1;
  for (int64_t size : sizes) {
    if (size < 0 || size > most)
      return -1;
    result *= size;
    if (result > most)
      return -1;
  }
  return result;
}

// (C6)
static LogicalResult checkConfig(KernelOp kernel) {
  constexpr int64_t maxMemory = int64_t(1) << 32;
  std::optional<KernelConfigAttr> config = kernel.getConfig();
  if (!config)
    return success();
  if (config->getGrid().size() > 3 || config->getBlock().size() > 3 ||
      product(config->getGrid()) < 0)
    return kernel.emitOpError() << "a grid and a block have up to three sizes, "
                                   "and 2^31 blocks at most";
  if (int64_t threads = product(config->getBlock());
      threads < 1 || threads > nvidia::threadsPerBlock)
    return kernel.emitOpError()
           << "a block has 1 to " << nvidia::threadsPerBlock << " threads, not "
           << threads;
  if (config->getShared() < 0 || config->getShared() > maxMemory ||
      config->getRegs() < 0 || config->getRegs() > 1024)
    return kernel.emitOpError()
           << "shared = " << config->getShared()
           << ", regs = " << config->getRegs() << " is what no machine has";
  return success();
}

LogicalResult KernelOp::verify() {
  // (C6)
  if (failed(checkConfig(*this)))
    return failure();
  // (C1)
  if (failed(checkArch(*this)))
    return failure();
  // (C4)
  if (failed(checkDebugInfo(*this)))
    return failure();
  // (C5)
  if (Attribute given = (*this)->getAttr("threads")) {
    auto threads = dyn_cast<ThreadConfigAttr>(given);
    if (!threads)
      return emitOpError() << "threads is a #tessera_target.thread_config";
    auto count = [](ArrayRef<int64_t> sizes) {
      return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                             std::multiplies<>());
    };
    if (getConfig() &&
        count(getConfig()->getBlock()) != count(threads.getGrid()))
      return emitOpError() << "its config has a block of "
                           << count(getConfig()->getBlock())
                           << " threads, its thread_config a grid of "
                           << count(threads.getGrid());
  }
  std::optional<nvidia::Arch> arch = target::archOf(*this);
  if (!arch)
    return success();
  const nvidia::Machine &machine = nvidia::machine(*arch);
  // (C2)
  if (std::optional<KernelConfigAttr> config = getConfig()) {
    if (config->getShared() > machine.sharedPerBlock)
      return emitOpError() << "a block of " << arch->name() << " has "
                           << machine.sharedPerBlock
                           << " bytes of shared memory, not "
                           << config->getShared();
    if (config->getRegs() > machine.registersPerThread)
      return emitOpError() << "a thread has at most "
                           << machine.registersPerThread << " registers, not "
                           << config->getRegs();
  }
  // (C3)
  if (Attribute given = (*this)->getAttr("cluster")) {
    auto cluster = dyn_cast<DenseI64ArrayAttr>(given);
    if (!cluster || cluster.size() > 3)
      return emitOpError() << "a cluster has up to three sizes, not " << given;
    int64_t blocks = product(cluster.asArrayRef());
    if (!machine.cluster)
      return emitOpError()
             << "clusters need "
             << nvidia::featureRow(nvidia::Feature::Clusters).where.text()
             << ", but the kernel is for " << arch->name();
    if (blocks < 1 || blocks > machine.clusterNonPortable)
      return emitOpError() << "a cluster of " << arch->name() << " has at most "
                           << machine.cluster << " blocks ("
                           << machine.clusterNonPortable
                           << " where the launch allows what is not "
                              "portable), not "
                           << blocks;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// memcpy
//===----------------------------------------------------------------------===//

LogicalResult MemcpyOp::verify() {
  if (failed(checkArch(*this)))
    return failure();
  StringRef kind = getKind();
  auto [from, to] = llvm::StringSwitch<std::pair<int, int>>(kind)
                        .Case("global_to_shared", {1, 3})
                        .Case("shared_to_global", {3, 1})
                        .Case("global_to_global", {1, 1})
                        .Case("device_to_device", {-1, -1})
                        .Case("host_to_device", {-1, -1})
                        .Case("device_to_host", {-1, -1})
                        .Default({0, 0});
  // (C1)
  if (from == 0)
    return emitOpError() << "no kind of copy is called '" << kind
                         << "': global_to_shared, shared_to_global, "
                            "global_to_global, device_to_device, "
                            "host_to_device or device_to_host";
  auto spaceOf = [](Value pointer) {
    return int(
        cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace());
  };
  // (C2)
  if (from > 0 && (spaceOf(getSource()) != from || spaceOf(getDest()) != to))
    return emitOpError() << kind << " copies from !llvm.ptr<" << from
                         << "> to !llvm.ptr<" << to << ">, but is given "
                         << getSource().getType() << " and "
                         << getDest().getType();
  // (C3)
  std::optional<nvidia::Arch> arch = target::archOf(*this);
  if (kind == "global_to_shared" && getAsync() && arch &&
      !nvidia::has(*arch, nvidia::Feature::CpAsync))
    return emitOpError()
           << arch->name() << " has no cp.async, which needs "
           << nvidia::featureRow(nvidia::Feature::CpAsync).where.text()
           << "; async = false copies through registers";
  // (C4)
  if (getStream() && from > 0)
    return emitOpError() << "a stream orders copies on the host; this one is "
                            "done by the threads of a block";
  return success();
}

//===----------------------------------------------------------------------===//
// tensor_core
//===----------------------------------------------------------------------===//

/// "[64, N, 16]" of each row, once.
static std::string shapesOf(ArrayRef<const nvidia::MmaRow *> rows) {
  std::vector<std::string> all;
  for (const nvidia::MmaRow *row : rows) {
    bool free = row->instruction == nvidia::MmaRow::Wgmma ||
                row->instruction == nvidia::MmaRow::Tcgen05;
    std::string text = "[" + std::to_string(row->m) + ", " +
                       (free ? "N" : std::to_string(row->n)) + ", " +
                       std::to_string(row->k) + "]";
    if (!llvm::is_contained(all, text))
      all.push_back(text);
  }
  return llvm::join(all, " or ");
}

static bool shapeIs(const nvidia::MmaRow &row, ArrayRef<int64_t> shape) {
  if (row.k != shape[2])
    return false;
  switch (row.instruction) {
  case nvidia::MmaRow::Wgmma:
    return shape[0] == 64 && shape[1] % 8 == 0 && shape[1] >= 8 &&
           shape[1] <= 256;
  case nvidia::MmaRow::Tcgen05:
    return (shape[0] == 64 || shape[0] == 128 || shape[0] == 256) &&
           shape[1] % 8 == 0 && shape[1] >= 8 && shape[1] <= 256;
  default:
    return row.m == shape[0] && row.n == shape[1];
  }
}

LogicalResult TensorCoreOp::verify() {
  if (failed(checkArch(*this)))
    return failure();
  using nvidia::MmaRow;
  auto kind = llvm::StringSwitch<int>(getInstruction())
                  .Cases({"mma", "mma.sync", "wmma"}, MmaRow::Sync)
                  .Case("wgmma", MmaRow::Wgmma)
                  .Cases({"tcgen05", "tcgen05.mma"}, MmaRow::Tcgen05)
                  .Default(-1);
  if (kind < 0)
    return emitOpError() << "no matrix instruction is called '"
                         << getInstruction() << "'; there are mma, wgmma and "
                         << "tcgen05";
  if (getShape().size() != 3)
    return emitOpError() << "a shape is [M, N, K]";
  if (getLayout() != "nt" && getLayout() != "nn")
    return emitOpError() << "no layout is called '" << getLayout()
                         << "'; there are \"nt\" and \"nn\"";
  StringRef type = ptxType(getPrecision());
  if (type.empty())
    return emitOpError() << "no precision of matrix instructions is called '"
                         << getPrecision()
                         << "'; there are fp16, bf16, tf32, fp8_e4m3, "
                            "fp8_e5m2, fp6_e2m3, fp4_e2m1, i8 and fp64";
  // (C1): for this instruction and type, anywhere and on the machine.
  SmallVector<const MmaRow *> anywhere, here, others;
  std::optional<nvidia::Arch> arch = target::archOf(*this);
  for (const MmaRow &row : nvidia::mmaRows()) {
    if (type != row.a || (arch && !row.where.on(*arch)))
      continue;
    if (row.instruction != kind)
      others.push_back(&row);
  }
  for (const MmaRow &row : nvidia::mmaRows()) {
    if (row.instruction != kind || type != row.a)
      continue;
    anywhere.push_back(&row);
    if (!arch || row.where.on(*arch))
      here.push_back(&row);
  }
  if (anywhere.empty())
    return emitOpError() << getInstruction() << " has no form for "
                         << getPrecision() << " on any machine";
  if (here.empty()) {
    InFlightDiagnostic problem = emitOpError()
                                 << getInstruction() << " of " << getPrecision()
                                 << " needs " << anywhere.front()->where.text()
                                 << ", but the kernel is for " << arch->name();
    if (!others.empty()) {
      static constexpr const char *names[] = {
          "mma", "mma (sparse)", "mma (block scaled)", "wgmma", "tcgen05"};
      problem << "; it has " << names[others.front()->instruction] << " "
              << others.front()->text();
    }
    return problem;
  }
  // (C2)
  if (llvm::none_of(
          here, [&](const MmaRow *row) { return shapeIs(*row, getShape()); })) {
    InFlightDiagnostic problem = emitOpError();
    problem << getInstruction() << " of " << getPrecision() << " has shape "
            << shapesOf(here) << ", not [" << getShape()[0] << ", "
            << getShape()[1] << ", " << getShape()[2] << "]";
    int64_t k = here.back()->k;
    if (getShape()[2] > k && getShape()[2] % k == 0)
      problem << "; K = " << getShape()[2] << " is " << getShape()[2] / k
              << " steps of " << k;
    return problem;
  }
  // (C3)
  if (kind == MmaRow::Sync &&
      (getNumOperands() != 3 ||
       getOperand(2).getType() != getResult().getType()))
    return emitOpError() << "mma takes the two operands and the accumulator, "
                            "and returns a value of the accumulator's type";
  // (C4)
  if (getLayout() == "nn" &&
      (kind == MmaRow::Sync ||
       (kind == MmaRow::Wgmma && type != "f16" && type != "bf16")))
    return emitOpError() << getInstruction() << " of " << getPrecision()
                         << " takes its right operand by columns: layout = "
                            "\"nt\"";
  return success();
}

//===----------------------------------------------------------------------===//
// ptx_instr
//===----------------------------------------------------------------------===//

StringRef tessera::target::rightSpelling(StringRef name) {
  // What the documents print, and what ptxas takes (tried with 13.0 and 13.4).
  if (name.starts_with("cp.async.bulk.tensor.") &&
      !name.contains("shared::cluster"))
    return "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
           "complete_tx::bytes";
  if (name == "tcgen05.alloc.tmem")
    return "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32";
  if (name.starts_with("tcgen05.mma") &&
      (name.contains(".async") || !name.contains(".kind::")))
    return "tcgen05.mma.cta_group::2.kind::f16";
  if (name.starts_with("tcgen05.bar"))
    return "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster."
           "b64";
  return "";
}

/// What may follow the first word of a PTX instruction, separated by blanks
/// (nothing: anything may); nullopt for a word that is none.
static std::optional<StringRef> suffixesOf(StringRef word) {
  static const llvm::StringMap<StringRef> all = {
#define TESSERA_PTX_OPCODE(word, suffixes) {word, suffixes},
#include "compiler/Target/IR/PtxOpcodes.inc"
#undef TESSERA_PTX_OPCODE
  };
  auto found = all.find(word);
  return found == all.end() ? std::nullopt
                            : std::optional<StringRef>(found->second);
}

/// "m16n8k16": the table of products knows which of them there are.
static bool isShape(StringRef suffix) {
  int64_t m, n, k;
  return suffix.consume_front("m") && !suffix.consumeInteger(10, m) &&
         suffix.consume_front("n") && !suffix.consumeInteger(10, n) &&
         suffix.consume_front("k") && !suffix.consumeInteger(10, k) &&
         suffix.empty();
}

/// Of a long list those that begin alike.
static std::string someOf(ArrayRef<StringRef> known, StringRef wrong) {
  SmallVector<StringRef> some;
  for (StringRef one : known)
    if (known.size() <= 12 || one.front() == wrong.front())
      some.push_back(one);
  if (some.empty())
    some.assign(known.begin(), known.begin() + 12);
  return "." + llvm::join(some, " .");
}

/// The feature an instruction belongs to, by the start of its name.
static std::optional<nvidia::Feature> featureOf(StringRef name) {
  using nvidia::Feature;
  if (name.starts_with("cp.async.bulk"))
    return Feature::Tma;
  if (name.starts_with("cp.async"))
    return Feature::CpAsync;
  if (name.contains("block_scale"))
    return Feature::MmaBlockScale;
  if (name.starts_with("mma.sp"))
    return Feature::MmaSparse;
  return llvm::StringSwitch<std::optional<Feature>>(name.split('.').first)
      .Case("ldmatrix", Feature::Ldmatrix)
      .Case("stmatrix", Feature::Stmatrix)
      .Case("mbarrier", Feature::Mbarrier)
      .Case("wgmma", Feature::Wgmma)
      .Case("tcgen05", Feature::Tcgen05)
      .Case("setmaxnreg", Feature::SetMaxNReg)
      .Case("mapa", Feature::Clusters)
      .Default(std::nullopt);
}

LogicalResult PtxInstrOp::verify() {
  if (failed(checkArch(*this)))
    return failure();
  StringRef name = getInstruction();
  // (C2)
  if (StringRef right = rightSpelling(name); !right.empty())
    return emitOpError() << "PTX has no '" << name << "'; it is spelt '"
                         << right << "'";
  // (C1)
  SmallVector<StringRef> words, known;
  name.split(words, '.');
  std::optional<StringRef> suffixes = suffixesOf(words.front());
  if (!suffixes)
    return emitOpError() << "'" << words.front()
                         << "' is no instruction of PTX";
  suffixes->split(known, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef suffix : ArrayRef<StringRef>(words).drop_front())
    if (!known.empty() && !isShape(suffix) &&
        !llvm::is_contained(known, suffix))
      return emitOpError() << "PTX's '" << words.front() << "' has no '."
                           << suffix << "'; there is "
                           << someOf(known, suffix.empty() ? "." : suffix);
  std::optional<nvidia::Arch> arch = target::archOf(*this);
  if (std::optional<nvidia::Feature> feature = featureOf(name); feature && arch)
    if (!nvidia::has(*arch, *feature))
      return emitOpError() << "'" << name << "' needs "
                           << nvidia::featureRow(*feature).where.text()
                           << ", but the kernel is for " << arch->name();
  // (C3)
  if (DictionaryAttr given = getConstraintsAttr()) {
    if (given.size() != getNumOperands())
      return emitOpError() << "has " << getNumOperands() << " operands, but "
                           << given.size() << " constraints";
    for (auto [number, operand] : llvm::enumerate(getOperands())) {
      auto letter = given.getAs<StringAttr>("operand" + std::to_string(number));
      if (!letter)
        return emitOpError() << "operand" << number << " has no constraint";
      StringRef plain = letter.getValue();
      (void)plain.consume_front("+");
      if (plain.size() != 1 || !StringRef("rlhfdbn").contains(plain))
        return emitOpError() << "no constraint is called '" << letter.getValue()
                             << "'; there are r, l, h, f, d, b and n, with + "
                                "for operands that are written too";
    }
  }
  return success();
}
