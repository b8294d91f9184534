// Operands, addresses, call graph and shared-memory layout of a kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Decode.h"

#include "sim/check/Semantics.h"
#include "sim/exec/Limits.h"
#include "sim/exec/Ring.h"
#include "sim/ptx/SpecialRegisters.h"
#include <algorithm>
#include <bit>
#include <deque>

namespace tessera::sim {

using ptx::Space;
using ptx::Type;

const char *opClassName(OpClass c) {
  constexpr const char *names[] = {"integer", "float",   "half",  "double",
                                   "convert", "move",    "load",  "store",
                                   "atomic",  "matrix",  "async", "barrier",
                                   "warp",    "control", "other"};
  return names[int(c)];
}

DecodeFn findDecoder(std::string_view base) {
  static const std::unordered_map<std::string_view, DecodeFn> table = [] {
    std::unordered_map<std::string_view, DecodeFn> map;
    auto add = [&](DecodeFn fn, std::initializer_list<const char *> names) {
      for (const char *name : names)
        map[name] = fn;
    };
    add(decodeInteger,
        {"add", "addc", "sub", "subc", "mul", "mul24", "mad", "mad24", "madc",
         "sad", "div", "rem", "abs", "neg", "min", "max", "dp4a", "dp2a"});
    add(decodeFloat, {"fma", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2",
                      "tanh", "copysign", "testp"});
    add(decodeBits, {"and", "or", "xor", "not", "cnot", "lop3", "shl", "shr",
                     "shf", "bfe", "bfi", "bfind", "bmsk", "szext", "brev",
                     "popc", "clz", "fns", "prmt"});
    add(decodeCompare, {"set", "setp", "selp", "slct"});
    add(decodeConvert, {"cvt"});
    add(decodeMove, {"mov", "cvta", "isspacep", "alloca", "stacksave",
                     "stackrestore", "createpolicy"});
    add(decodeLoadStore, {"ld", "ldu", "st", "prefetch", "prefetchu",
                          "applypriority", "discard"});
    add(decodeAtomic, {"atom", "red"});
    add(decodeFence, {"membar", "fence"});
    add(decodeBarrier, {"bar", "barrier"});
    add(decodeMbarrier, {"mbarrier"});
    add(decodeWarp, {"shfl", "vote", "match", "redux", "activemask", "elect"});
    add(decodeControl, {"bra", "brx", "call", "ret", "exit", "trap", "brkpt",
                        "nanosleep", "pmevent", "griddepcontrol"});
    add(decodeWgmma, {"wgmma"});
    add(decodeRegisters, {"setmaxnreg"});
    add(decodeLaunchControl, {"clusterlaunchcontrol"});
    add(decodeTcgen05, {"tcgen05"});
    add(decodeMma, {"mma"});
    add(decodeWmma, {"wmma"});
    add(decodeMatrixMove, {"ldmatrix", "stmatrix", "movmatrix"});
    add(decodeAsyncCopy, {"cp"});
    add(decodeTensorMap, {"tensormap"});
    add(decodeCluster, {"mapa", "getctarank"});
    add(decodeVideo,
        {"vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2", "vset2",
         "vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4", "vset4"});
    return map;
  }();
  auto it = table.find(base);
  return it == table.end() ? nullptr : it->second;
}

namespace {

/// Shared variables in the order they are first met, over the call graph.
struct SharedLayout {
  std::unordered_map<const ptx::Variable *, uint32_t> offsets;
};
thread_local SharedLayout *layout = nullptr;
thread_local std::unordered_map<const ptx::Function *, unsigned> *numbers;

} // namespace

uint32_t dynamicSharedOffset(const Program &program) {
  uint32_t end = program.sharedEnd, align = program.dynamicAlign;
  if (end)
    end = (end + 127) / 128 * 128 + Program::sharedGap;
  return (end + align - 1) / align * align;
}

std::unique_ptr<Program> decodeKernel(LinkedModule &module,
                                      const std::string &kernel, bool ring) {
  const ptx::Function *entry = module.findFunction(kernel);
  if (!entry || !entry->isEntry)
    throw std::runtime_error("kernel '" + kernel + "' is not in the module");
  auto program = std::make_unique<Program>();
  program->module = &module;
  program->entry = entry;
  program->ring = ring;
  uint32_t offset = 0;
  for (const ptx::Variable *p : entry->params) {
    offset = (offset + p->align - 1) / p->align * p->align;
    program->paramOffsets.push_back(offset);
    program->paramBytes.push_back(p->bytes);
    offset += p->bytes;
  }
  program->paramSize = offset;
  // What ptxas refuses.
  auto tooMuch = [&](const char *what, uint64_t bytes, uint64_t limit) {
    if (bytes > limit)
      throw ptx::Error(entry->line, 1,
                       "kernel '" + entry->name + "' has " +
                           std::to_string(bytes) + " bytes of " + what +
                           ", at most " + std::to_string(limit) +
                           " are possible");
  };
  for (auto &m : module.modules)
    for (const ptx::Function &f : m->functions)
      if (&f == entry) {
        bool large =
            m->arch >= 70 && m->versionMajor * 100 + m->versionMinor >= 801;
        tooMuch("parameters", offset,
                large ? largeParameterLimit : parameterLimit);
      }

  // The call graph and the shared variables it uses.
  SharedLayout shared;
  std::unordered_map<const ptx::Function *, unsigned> number{{entry, 0}};
  std::vector<const ptx::Function *> order{entry};
  std::vector<const ptx::Variable *> dynamic;
  auto visit = [&](auto &self, const ptx::Operand &o) -> void {
    if (o.variable && o.variable->space == Space::Shared) {
      const ptx::Variable *v = module.define(o.variable);
      if (v->isExtern || v->bytes == 0) {
        dynamic.push_back(v);
        program->dynamicAlign = std::max(program->dynamicAlign, v->align);
      } else if (!shared.offsets.count(v)) {
        auto place = [&](uint32_t &at) {
          at = (at + v->align - 1) / v->align * v->align;
          uint32_t offset = at;
          at += v->bytes;
          return offset;
        };
        tooMuch("static shared memory",
                uint64_t(program->staticShared) + v->bytes, staticSharedLimit);
        place(program->staticShared);
        tooMuch("static shared memory", program->staticShared,
                staticSharedLimit);
        uint32_t &end = program->sharedEnd;
        if (end)
          end = (end + 127) / 128 * 128 + Program::sharedGap;
        shared.offsets[v] = place(end);
        program->sharedVariables.push_back(
            {v->name, shared.offsets[v], uint32_t(v->bytes)});
      }
    }
    if (o.function) {
      const ptx::Function *f = module.define(o.function);
      if (f && !number.count(f)) {
        number[f] = order.size();
        order.push_back(f);
      }
    }
    for (const ptx::Operand &e : o.elements)
      self(self, e);
  };
  bool indirect = false;
  for (size_t i = 0; i < order.size(); ++i) {
    for (const ptx::Instruction &inst : order[i]->body) {
      for (const ptx::Operand &o : inst.operands) {
        visit(visit, o);
        indirect |= inst.base == "call" && o.kind == ptx::Operand::Reg;
      }
    }
    // Any function whose address is stored somewhere may be called.
    if (indirect && i + 1 == order.size())
      for (const ptx::Function *f : module.functionTable)
        if (!number.count(f)) {
          number[f] = order.size();
          order.push_back(f);
        }
  }
  for (const ptx::Variable *v : dynamic)
    shared.offsets[v] = dynamicSharedOffset(*program);

  layout = &shared;
  numbers = &number;
  for (const ptx::Function *f : order) {
    program->codes.push_back(std::make_unique<Code>());
    Code &code = *program->codes.back();
    code.function = f;
    Decoder(module, *program, code, *f).run();
  }
  layout = nullptr;
  numbers = nullptr;
  for (const ptx::Function *f : module.functionTable) {
    auto it = number.find(f);
    program->functionCodes.push_back(it == number.end() ? ~0u : it->second);
  }
  return program;
}

Decoder::Decoder(LinkedModule &module, Program &program, Code &code,
                 const ptx::Function &function)
    : program(program), function(function), module(module), code(code),
      registers(function.registers.size(), noRef) {
  for (auto &m : module.modules)
    for (const ptx::Function &f : m->functions)
      if (&f == &function) {
        moduleArch = m->arch;
        moduleVersion = m->versionMajor * 100 + m->versionMinor;
      }
}

void Decoder::run() {
  if (!function.isEntry)
    for (const ptx::Variable *p : function.params)
      code.paramOffsets.push_back(localOffset(p));
  for (const ptx::Variable *r : function.returns)
    code.returnOffsets.push_back(localOffset(r));
  for (const ptx::Instruction &inst : function.body) {
    firstInst.push_back(code.insts.size());
    instruction(inst);
  }
  firstInst.push_back(code.insts.size());
  Inst end;
  end.flow = Flow::Return;
  end.opClass = OpClass::Control;
  end.id = program.instructionCount++;
  end.line = function.body.empty() ? function.line : function.body.back().line;
  code.insts.push_back(end);
  findWgmmaTouches(code);
  findLoadTouches(code);
  for (Inst &inst : code.insts) {
    if (inst.flow == Flow::Branch)
      inst.target = firstInst[inst.target];
    if (inst.flow == Flow::BranchIndexed) {
      auto targets = std::make_shared<std::vector<uint32_t>>(
          *static_cast<const std::vector<uint32_t> *>(inst.extra.get()));
      for (uint32_t &t : *targets)
        t = firstInst[t];
      inst.extra = targets;
    }
  }
}

void Decoder::fail(const std::string &what) const {
  throw ptx::Error(source->line, source->column,
                   "'" + std::string(source->spelling) + "': " + what);
}
void Decoder::fail(const Operand &at, const std::string &what) const {
  throw ptx::Error(at.line, at.column,
                   "'" + std::string(source->spelling) + "': " + what);
}

void Decoder::instruction(const ptx::Instruction &inst) {
  source = &inst;
  const ptx::Spec &spec = ptx::findSpec(inst);
  if (spec.status == ptx::Status::Refused)
    fail("not supported: " + std::string(spec.note) +
         "; the simulator is one of " + archNames() +
         " and executes what `tessera-sim table` lists");
  DecodeFn decode = findDecoder(inst.base);
  if (!decode)
    fail("not supported");
  Inst out;
  out.source = &inst;
  out.line = inst.line;
  out.usedBytes = inst.usedBytes;
  if (inst.guard >= 0) {
    out.guard = registerRef(inst.guard);
    out.guardNegated = inst.guardNegated;
  }
  if (!program.ring || !decodeRing(*this, out))
    decode(*this, out);
  if (!out.fn && out.flow == Flow::Next)
    fail("this combination of modifiers and types is not supported");
  out.id = program.instructionCount++;
  code.insts.push_back(std::move(out));
}

void Decoder::before(Inst inst) {
  inst.source = source;
  inst.line = source->line;
  inst.id = ~0u;
  code.insts.push_back(std::move(inst));
}

Ref Decoder::allocate(unsigned bits) {
  uint32_t bytes = bits == 1 ? 4 : bits <= 16 ? 64 : bits / 8 * 32;
  uint32_t align = bits == 1 ? 4 : 64;
  code.registerBytes = (code.registerBytes + align - 1) / align * align;
  Ref ref = code.registerBytes;
  code.registerBytes += bytes;
  if (code.registerBytes >= (1u << 30))
    fail("function uses too many registers");
  return ref;
}
Ref Decoder::scratch(unsigned bits) { return allocate(bits); }

Ref Decoder::registerRef(unsigned index) {
  Ref &ref = registers[index];
  if (ref == noRef)
    ref = allocate(ptx::typeBits(function.registers[index].type));
  return ref;
}

unsigned Decoder::regBits(const Operand &o) const {
  if (o.kind == Operand::Special)
    return ptx::typeBits(ptx::specialType(o.reg));
  if (o.kind != Operand::Reg)
    return 0;
  unsigned bits = ptx::typeBits(function.registers[o.reg].type);
  return bits == 8 ? 16 : bits;
}

Ref Decoder::constant(uint64_t value, unsigned bits) {
  unsigned slot = bits <= 16 ? 0 : bits == 32 ? 1 : 2;
  if (bits <= 16)
    value &= 0xffff;
  else if (bits == 32)
    value &= 0xffffffff;
  auto [it, isNew] = constants[slot].emplace(value, 0);
  if (!isNew)
    return it->second;
  std::vector<uint8_t> &pool = code.constants;
  // vector<uint8_t> storage is 16-byte aligned at least; no code relies on
  // more for the pool.
  it->second = constantPool | Ref(pool.size());
  unsigned width = bits <= 16 ? 2 : bits / 8;
  for (unsigned l = 0; l < 32; ++l) {
    const auto *p = reinterpret_cast<const uint8_t *>(&value);
    pool.insert(pool.end(), p, p + width);
  }
  return it->second;
}

Ref Decoder::sharedAddress(uint64_t offset, unsigned bits) {
  if (bits < 32)
    return constant(offset, bits);
  auto [it, isNew] = sharedAddresses[bits == 64].emplace(offset, 0);
  if (!isNew)
    return it->second;
  // Not shared with a number of the same value, which is that of all ranks.
  std::vector<uint8_t> &pool = code.constants;
  code.sharedConstants.emplace_back(uint32_t(pool.size()), bits / 8);
  it->second = constantPool | Ref(pool.size());
  for (unsigned l = 0; l < 32; ++l) {
    const auto *p = reinterpret_cast<const uint8_t *>(&offset);
    pool.insert(pool.end(), p, p + bits / 8);
  }
  return it->second;
}

void addRankConstants(Program &program, unsigned blocks) {
  for (auto &code : program.codes)
    for (unsigned rank = 1; rank < blocks; ++rank) {
      auto &own = code->rankConstants[rank];
      if (own)
        continue;
      own = std::make_unique<std::vector<uint8_t>>(code->constants);
      // The rank is in the fourth byte of an address.
      static_assert(clusterRankShift == 24);
      for (auto [at, width] : code->sharedConstants)
        for (unsigned l = 0; l < 32; ++l)
          (*own)[at + l * width + 3] = uint8_t(rank);
    }
}

Ref Decoder::ringConstant(double value, unsigned bits) {
  return constant(ring::constant(bits == 64 ? Type::F64 : Type::F32, value),
                  bits);
}

Ref Decoder::constantPair(uint64_t low, uint64_t high) {
  std::vector<uint8_t> &pool = code.constants;
  Ref ref = constantPool | Ref(pool.size());
  for (uint64_t value : {low, high})
    for (unsigned l = 0; l < 32; ++l) {
      const auto *p = reinterpret_cast<const uint8_t *>(&value);
      pool.insert(pool.end(), p, p + 8);
    }
  return ref;
}

Ref Decoder::specialRef(unsigned special) {
  auto [it, isNew] = specials.emplace(special, 0);
  if (isNew) {
    if (ptx::specialName(special).substr(0, 14) == "%reserved_smem")
      program.usesReservedShared = true;
    it->second = allocate(ptx::typeBits(ptx::specialType(special)));
    code.frameValues.push_back({FrameValue::Special, special, 0, it->second});
  }
  return it->second;
}

uint32_t Decoder::localOffset(const ptx::Variable *v) {
  auto [it, isNew] = localOffsets.emplace(v, 0);
  if (isNew) {
    uint32_t &at = code.localBytes;
    at = (at + v->align - 1) / v->align * v->align;
    it->second = at;
    if (uint64_t(at) + v->bytes > localLimit)
      fail("variable '" + v->name + "' of " + std::to_string(v->bytes) +
           " bytes does not fit into the " + std::to_string(localLimit) +
           " bytes of local memory of a thread");
    at += v->bytes;
    program.usesLocal = true;
  }
  return it->second;
}

uint32_t Decoder::sharedOffset(const ptx::Variable *v) {
  return layout->offsets.at(module.define(v));
}

unsigned Decoder::calleeNumber(const ptx::Function *f) {
  const ptx::Function *d = module.define(f);
  if (!d)
    fail("function '" + f->name + "' has no definition in the module");
  return numbers->at(d);
}

/// The address of a variable or function as a value.
Ref Decoder::symbol(const Operand &o, unsigned bits) {
  if (o.function) {
    calleeNumber(o.function);
    return constant(module.addressOf(module.define(o.function)), 64);
  }
  const ptx::Variable *v = o.variable;
  if (!v)
    fail(o, "unknown symbol '" + o.name + "'");
  switch (v->space) {
  case Space::Shared:
    return sharedAddress(sharedOffset(v) + o.offset, bits);
  case Space::Global:
  case Space::Const: {
    uint64_t at = module.addressOf(v);
    if (!at)
      fail(o, "variable '" + v->name + "' has no definition");
    return constant(at + o.offset, 64);
  }
  default:
    break;
  }
  if (v->space == Space::Param && function.isEntry)
    for (size_t i = 0; i < function.params.size(); ++i)
      if (function.params[i] == v)
        return constant(program.paramOffsets[i] + o.offset, bits);
  // Local variable or call parameter: depends on the frame.
  auto [it, isNew] = localAddresses.emplace(v, 0);
  if (isNew) {
    it->second = allocate(64);
    code.frameValues.push_back(
        {FrameValue::LocalAddress, 0, localOffset(v), it->second});
  }
  if (bits == 64 && !o.offset)
    return it->second;
  Inst offset; // offsets and 32-bit registers: computed where it is used
  offset.ops[0] = scratch(bits);
  offset.ops[1] = it->second;
  offset.imm = o.offset;
  if (bits == 64)
    offset.fn = [](Warp &w, const Inst &i, uint32_t) {
      auto *d = w.reg<uint64_t>(i.ops[0]);
      const auto *a = w.reg<uint64_t>(i.ops[1]);
      forLanes(~0u, [&](unsigned l) { d[l] = a[l] + uint64_t(i.imm); });
    };
  else
    offset.fn = [](Warp &w, const Inst &i, uint32_t) {
      auto *d = w.reg<uint32_t>(i.ops[0]);
      const auto *a = w.reg<uint64_t>(i.ops[1]);
      forLanes(~0u,
               [&](unsigned l) { d[l] = uint32_t(a[l] + uint64_t(i.imm)); });
    };
  Ref result = offset.ops[0];
  before(std::move(offset));
  return result;
}

Ref Decoder::dst(const Operand &o, unsigned bits) {
  unsigned wanted = bits == 8 ? 16 : bits;
  if (o.kind == Operand::Sink)
    return scratch(wanted);
  if (o.kind != Operand::Reg)
    fail(o, "destination must be a register");
  if (regBits(o) != wanted)
    fail(o, "register '" + o.name + "' has " + std::to_string(regBits(o)) +
                " bits, the instruction writes " + std::to_string(bits));
  return registerRef(o.reg);
}

Ref Decoder::anyReg(const Operand &o, uint8_t &bytes) {
  if (o.kind == Operand::Special && o.reg < ptx::firstDynamicSpecial) {
    bytes = regBits(o) / 8;
    return specialRef(o.reg);
  }
  if (o.kind != Operand::Reg)
    fail(o, "operand must be a register");
  bytes = regBits(o) / 8;
  return registerRef(o.reg);
}

Ref Decoder::src(const Operand &o, Type type) {
  unsigned bits = ptx::typeBits(type);
  unsigned wanted = bits <= 8 && bits > 1 ? 16 : bits;
  switch (o.kind) {
  case Operand::Reg:
    if (regBits(o) != wanted)
      fail(o, "register '" + o.name + "' has " + std::to_string(regBits(o)) +
                  " bits, the instruction reads " + std::to_string(bits));
    return registerRef(o.reg);
  case Operand::Special: {
    if (o.reg >= ptx::firstDynamicSpecial)
      fail(o, "'" + o.name + "' can only be read by mov");
    unsigned have = regBits(o);
    Ref ref = specialRef(o.reg);
    if (have == wanted)
      return ref;
    Inst widen;
    widen.ops[0] = scratch(wanted);
    widen.ops[1] = ref;
    if (have == 32 && wanted == 64)
      widen.fn = [](Warp &w, const Inst &i, uint32_t) {
        auto *d = w.reg<uint64_t>(i.ops[0]);
        const auto *a = w.reg<uint32_t>(i.ops[1]);
        forLanes(~0u, [&](unsigned l) { d[l] = a[l]; });
      };
    else if (wanted == 16)
      widen.fn = [](Warp &w, const Inst &i, uint32_t) {
        auto *d = w.reg<uint16_t>(i.ops[0]);
        const auto *a = w.reg<uint32_t>(i.ops[1]);
        forLanes(~0u, [&](unsigned l) { d[l] = a[l]; });
      };
    else if (have == 64 && wanted == 32)
      widen.fn = [](Warp &w, const Inst &i, uint32_t) {
        auto *d = w.reg<uint32_t>(i.ops[0]);
        const auto *a = w.reg<uint64_t>(i.ops[1]);
        forLanes(~0u, [&](unsigned l) { d[l] = a[l]; });
      };
    else
      fail(o, "special register has another width");
    Ref result = widen.ops[0];
    before(std::move(widen));
    return result;
  }
  case Operand::Int:
    if (type == Type::F32 || type == Type::F64)
      return constant(
          type == Type::F32 && o.bits <= 0xffffffff ? o.bits : o.bits, bits);
    if (bits == 128)
      return constantPair(o.bits, int64_t(o.bits) < 0 ? ~0ull : 0);
    return constant(o.bits, wanted);
  case Operand::F32:
    if (program.ring)
      return ringConstant(std::bit_cast<float>(uint32_t(o.bits)), bits);
    if (bits == 64 && type == Type::F64)
      return constant(std::bit_cast<uint64_t>(
                          double(std::bit_cast<float>(uint32_t(o.bits)))),
                      64);
    return constant(o.bits, wanted);
  case Operand::F64:
    if (program.ring)
      return ringConstant(std::bit_cast<double>(o.bits), bits);
    if (bits == 32)
      return constant(
          std::bit_cast<uint32_t>(float(std::bit_cast<double>(o.bits))), 32);
    return constant(o.bits, wanted);
  case Operand::Symbol:
    return symbol(o, bits);
  default:
    fail(o, "operand of this kind is not supported here");
  }
}

Ref Decoder::pred(const Operand &o) {
  Ref ref;
  if (o.kind == Operand::Int) {
    // A literal predicate: fill a register once per use.
    Inst set;
    set.ops[0] = scratch(1);
    set.imm = o.bits ? -1 : 0;
    set.fn = [](Warp &w, const Inst &i, uint32_t) {
      w.pred(i.ops[0]) = uint32_t(i.imm);
    };
    Ref result = set.ops[0];
    before(std::move(set));
    return result;
  }
  if (o.kind == Operand::Special && regBits(o) == 1)
    ref = specialRef(o.reg);
  else if (o.kind == Operand::Reg && regBits(o) == 1)
    ref = registerRef(o.reg);
  else
    fail(o, "operand must be a predicate");
  if (!o.negated)
    return ref;
  Inst invert;
  invert.ops[0] = scratch(1);
  invert.ops[1] = ref;
  invert.fn = [](Warp &w, const Inst &i, uint32_t) {
    w.pred(i.ops[0]) = ~w.pred(i.ops[1]);
  };
  Ref result = invert.ops[0];
  before(std::move(invert));
  return result;
}

Ref Decoder::predDst(const Operand &o) {
  if (o.kind == Operand::Sink)
    return scratch(1);
  if (o.kind != Operand::Reg || regBits(o) != 1)
    fail(o, "operand must be a predicate register");
  return registerRef(o.reg);
}

int64_t Decoder::immediate(const Operand &o) const {
  if (o.kind != Operand::Int)
    fail(o, "operand must be a constant");
  return int64_t(o.bits);
}

Space Decoder::spaceModifier() const {
  for (std::string_view m : source->modifiers) {
    if (m == "global")
      return Space::Global;
    if (m == "shared" || m == "shared::cta")
      return Space::Shared;
    if (m == "shared::cluster")
      return Space::SharedCluster;
    if (m == "local")
      return Space::Local;
    if (m == "const")
      return Space::Const;
    if (m == "param" || m == "param::entry" || m == "param::func")
      return Space::Param;
  }
  return Space::Generic;
}

uint8_t Decoder::semantics() const {
  using namespace check;
  uint8_t scope = scopeSystem;
  if (has("cta"))
    scope = scopeBlock;
  else if (has("cluster"))
    scope = scopeCluster;
  else if (has("gpu"))
    scope = scopeDevice;
  uint8_t order = weak;
  if (has("acquire"))
    order = acquire;
  else if (has("release"))
    order = release;
  else if (has("acq_rel") || has("sc"))
    order = acquireRelease;
  else if (has("relaxed") || has("volatile") || has("mmio"))
    order = relaxed;
  return order | scope;
}

void Decoder::address(const Operand &o, Inst &inst, Space space,
                      unsigned slot) {
  if (o.kind != Operand::Address || o.elements.size() != 1)
    fail(o, "expected an address in brackets");
  const Operand &base = o.elements[0];
  inst.imm = o.offset;
  inst.reachesCluster =
      space == Space::Generic || space == Space::SharedCluster;
  if (base.kind == Operand::Reg) {
    uint8_t bytes;
    inst.ops[slot] = anyReg(base, bytes);
    if (bytes != 4 && bytes != 8)
      fail(base, "address register must have 32 or 64 bits");
    inst.addressWidth = bytes;
    // Inside a device function, parameters live in its local frame.
    if (space == Space::Param && !function.isEntry)
      space = Space::Local;
  } else if (base.kind == Operand::Int) {
    inst.ops[slot] = constant(base.bits, 64);
  } else {
    const ptx::Variable *v = base.variable;
    if (!v)
      fail(base, "expected a variable");
    inst.ops[slot] = symbol(base, 64);
    bool isEntryParam =
        function.isEntry &&
        std::find(function.params.begin(), function.params.end(), v) !=
            function.params.end();
    Space actual = v->space;
    if (actual == Space::Param && !isEntryParam)
      actual = Space::Local;
    if (space == Space::Generic || space == Space::Param ||
        space == Space::SharedCluster)
      space = actual;
  }
  inst.space = space == Space::SharedCluster ? Space::Shared : space;
}

} // namespace tessera::sim
