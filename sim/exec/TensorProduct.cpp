// tcgen05.mma: matrices in and out; TensorCore.cpp does the numbers.
//
// Where the ISA only has figures: A of 4 and 6 bits stands in bytes of tensor
// memory as in the registers of mma.sync (4 bits in bits 2 to 5, 6 bits in bits
// 0 to 5), in shared memory 16 elements take the first 8 or 12 of 16 bytes.
// Scale factors and metadata stand as CuTe lays them out. The scale factors of
// an element of D are read from the quarter of the lanes that it is in.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/Cluster.h"
#include "sim/exec/Decode.h"
#include "sim/exec/MatrixDescriptor.h"
#include "sim/exec/Mma.h"
#include "sim/exec/Tcgen05.h"
#include "sim/exec/TensorCore.h"

namespace tessera::sim {

using ptx::Type;

namespace {

const ProductPlan &planOf(const TensorOp &op) {
  return *static_cast<const ProductPlan *>(op.inst->extra.get());
}

DataPath pathOf(const ProductForm &form, unsigned m) {
  if (form.isWeightStationary)
    return m == 32   ? DataPath::Quarters
           : m == 64 ? DataPath::Halves
                     : DataPath::Full;
  if (form.blocks == 2) // m is of the pair
    return m == 256        ? DataPath::Full
           : form.isSparse ? DataPath::HalfLanes
                           : DataPath::Halves;
  return m == 64 ? DataPath::HalfLanes : DataPath::Full;
}

/// How elements stand in 16 bytes of shared memory.
struct Packing {
  unsigned bits;      // of an element
  unsigned container; // bits it takes, on average
  unsigned perChunk() const { return 128 / container; }
};
Packing packingOf(const ProductForm &form, Type type) {
  if (type == Type::TF32)
    return {32, 32};
  auto bits = unsigned(ptx::typeBits(type));
  bool isPacked =
      form.kind == ProductKind::MXF4 || form.kind == ProductKind::MXF4NVF4;
  return {bits, bits < 8 && !isPacked ? 8 : bits};
}

uint32_t bitsAt(const uint8_t *bytes, unsigned bit, unsigned count) {
  uint32_t word = 0;
  std::memcpy(&word, bytes + bit / 8, (bit % 8 + count + 7) / 8);
  return count == 32 ? word : word >> bit % 8 & ((1u << count) - 1);
}

/// Raw bits, by row and element of K. B may be shifted by up to 32 columns. If
/// A is in tensor memory twice, its second copy is in rows from 64 on.
struct Operands {
  uint32_t a[128][64], b[288][128];
};

/// Rows of B that are read: more than N if they are shifted.
unsigned rowsOfB(const TensorOp &op) {
  return op.shape.n + unsigned(op.zeroColumns >> 56 & 63);
}

/// Calls f(address, mn, k) for the chunks of a matrix in shared memory.
template <class F>
void forChunks(const MatrixDescriptor &m, bool kMajor, unsigned rows,
               unsigned k, unsigned perChunk, F f) {
  unsigned stepMn = kMajor ? 1 : perChunk, stepK = kMajor ? perChunk : 1;
  for (unsigned mn = 0; mn < rows; mn += stepMn)
    for (unsigned x = 0; x < k; x += stepK)
      f(m.chunk(kMajor, mn, x, perChunk), mn, x);
}

template <unsigned K>
void loadShared(const Block &block, uint64_t descriptor, bool kMajor,
                unsigned rows, unsigned k, Packing p, uint32_t (*to)[K]) {
  std::string problem; // was looked at when it was issued
  unsigned perChunk = p.perChunk();
  forChunks(MatrixDescriptor::ofTensorCore(descriptor, problem), kMajor, rows,
            k, perChunk, [&](uint32_t address, unsigned mn, unsigned x) {
              const uint8_t *bytes = block.shared + address;
              for (unsigned n = 0; n < perChunk; ++n)
                (kMajor ? to[mn][x + n] : to[mn + n][x]) =
                    bitsAt(bytes, n * p.bits, p.bits);
            });
}

void loadTensor(TensorMemory &memory, uint32_t address, DataPath path,
                unsigned rows, unsigned k, Packing p, uint32_t (*to)[64]) {
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned x = 0; x < k; ++x) {
      unsigned bit = x * p.container;
      uint32_t word = memory.at((address >> 16) + operandLane(path, row),
                                (address & 0xffff) + bit / 32);
      word >>= bit % 32;
      if (p.bits == 4 && p.container == 8)
        word >>= 2;
      to[row][x] = p.bits == 32 ? word : word & ((1u << p.bits) - 1);
    }
}

/// For row and kept element, the column of K that it stands in.
using Kept = uint8_t[128][64];
void findKept(TensorMemory &memory, const TensorOp &op, Kept &kept) {
  const ProductForm &form = planOf(op).form;
  const InstructionDescriptor &d = op.shape;
  bool isWide = form.kind == ProductKind::F16 || form.kind == ProductKind::TF32;
  bool isTF32 = form.kind == ProductKind::TF32;
  unsigned perIndex = packingOf(form, d.aType).container == 4 ? 2 : 1;
  unsigned perChunk = isTF32 ? 1 : 2 * perIndex; // kept elements
  for (unsigned m = 0; m < d.m; ++m)
    for (unsigned n = 0; n < d.storedK(); ++n) {
      unsigned c = n / perChunk;
      MetadataPlace at = metadataPlace(isWide, m, c);
      uint32_t word = memory.at((op.metadata >> 16) + at.lane,
                                (op.metadata & 0xffff) + at.column);
      uint32_t code = word >> at.bit & 15;
      if (isTF32) {
        kept[m][n] = uint8_t(2 * c + (code == 0xe)); // 1110 or 0100
        continue;
      }
      unsigned within = n % perChunk;
      unsigned index = code >> 2 * (within / perIndex) & 3;
      kept[m][n] =
          uint8_t(2 * perChunk * c + index * perIndex + within % perIndex);
    }
}

double valueOf(const Format &f, Type type, uint32_t raw, bool negated) {
  double x = toDouble(f, type == Type::TF32 ? raw >> 13 : raw);
  return negated ? -x : x;
}
Factor factorOf(const Format &f, Type type, uint32_t raw, bool negated) {
  Factor x = factorOf(f, type == Type::TF32 ? raw >> 13 : raw);
  if (negated && x.significand != INT32_MAX) // a NaN stays
    x.significand = -x.significand;
  return x;
}

double scaleFactor(Type type, uint32_t bits) {
  if (type == Type::UE8M0)
    return bits == 255 ? double(NAN) : std::ldexp(1.0, int(bits) - 127);
  return toDouble(formatUE4M3, bits & 127);
}

/// One product, as far as the numbers go.
class Product {
public:
  Product(Block &block, const TensorOp &op)
      : block(block), op(op), plan(planOf(op)), d(op.shape),
        memory(tensorUnit(block).memory), path(pathOf(plan.form, d.m)),
        rows(d.m / plan.form.blocks),
        isTwice(op.isPair && plan.aInTensorMemory && path == DataPath::Halves) {
  }

  void run() {
    load();
    if (plan.form.kind == ProductKind::I8)
      return integer();
    const LaunchOptions &o = block.launch->options;
    model = makeModel(o.tensorMode, o.arch, *tensorFormat(d.aType),
                      *tensorFormat(d.bType), d.dType == Type::F16, d.k, false);
    if (d.isSparse || plan.form.scaleCount)
      elementwise();
    else
      dense();
  }

private:
  void load() {
    const ProductForm &form = plan.form;
    Packing a = packingOf(form, d.aType);
    if (plan.aInTensorMemory)
      loadTensor(memory, uint32_t(op.a), path, isTwice ? 2 * rows : rows,
                 d.storedK(), a, x.a);
    else
      loadShared(block, op.a, d.aKMajor, rows, d.storedK(), a, x.a);
    // Each block of a pair has half of the rows of B.
    std::vector<Block *> blocks = blocksOf(block, op.isPair);
    auto each = unsigned(rowsOfB(op) / blocks.size());
    for (size_t k = 0; k < blocks.size(); ++k)
      loadShared(*blocks[k], op.b, d.bKMajor, each, d.k,
                 packingOf(form, d.bType), x.b + k * each);
    unsigned shift = rowsOfB(op) - d.n;
    for (unsigned n = 0; n < d.n && op.zeroColumns; ++n)
      for (unsigned k = 0; k < d.k; ++k)
        x.b[n][k] =
            isZeroColumn(op.zeroColumns, d.m, n, d.n) ? 0 : x.b[n + shift][k];
    if (d.isSparse)
      findKept(memory, op, kept);
  }

  /// Half of the columns of an element, where halves lie one below the other.
  unsigned halfOf(unsigned n) const {
    return path == DataPath::Halves && n >= d.n / 2;
  }
  /// The row of x.a that it is computed from.
  unsigned rowOfA(unsigned m, unsigned n) const {
    return isTwice ? m + 64 * halfOf(n) : m;
  }

  uint32_t &cell(unsigned m, unsigned n, unsigned &lane) {
    TensorCell at = accumulatorCell(path, m, n, d.n);
    lane = (op.address >> 16) + at.lane;
    return memory.at(lane, (op.address & 0xffff) + at.column);
  }
  uint32_t read(unsigned m, unsigned n) {
    unsigned lane;
    return op.accumulates ? cell(m, n, lane) : 0;
  }
  void write(unsigned m, unsigned n, uint32_t value) {
    unsigned lane;
    uint32_t &at = cell(m, n, lane);
    unsigned first = op.isPair ? 4 * (block.clusterRank & 1) : 0;
    if (!(op.disabled[first + lane / 32] >> lane % 32 & 1))
      at = value;
  }
  float addend(unsigned m, unsigned n) {
    uint32_t word = read(m, n);
    float c = d.dType == Type::F16 ? halfToFloat(uint16_t(word))
                                   : std::bit_cast<float>(word);
    return plan.scaleD ? std::ldexp(c, -int(plan.scaleD)) : c;
  }
  void writeFloat(unsigned m, unsigned n, float value) {
    write(m, n,
          d.dType == Type::F16 ? floatToHalf(value)
                               : std::bit_cast<uint32_t>(value));
  }

  void integer() {
    for (unsigned n = 0; n < d.n; ++n)
      for (unsigned m = 0; m < rows; ++m) {
        int64_t sum = int32_t(read(m, n));
        const uint32_t *a = x.a[rowOfA(m, n)];
        for (unsigned k = 0; k < d.storedK(); ++k)
          sum += int64_t(signOf(a[k], 8, ptx::isSigned(d.aType))) *
                 signOf(x.b[n][d.isSparse ? kept[m][k] : k], 8,
                        ptx::isSigned(d.bType));
        if (d.saturates)
          sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
        write(m, n, uint32_t(uint64_t(sum)));
      }
  }

  void dense() {
    thread_local Factor a[128][64];
    for (unsigned m = 0; m < (isTwice ? 2 * rows : rows); ++m)
      for (unsigned k = 0; k < d.k; ++k)
        a[m][k] = factorOf(*model.a, d.aType, x.a[m][k], d.aNegated);
    for (unsigned first = 0; first < d.n; first += 8) {
      int32_t bs[64][8], be[64][8];
      for (unsigned j = 0; j < 8; ++j)
        for (unsigned k = 0; k < d.k; ++k) {
          Factor y = factorOf(*model.b, d.bType, x.b[first + j][k], d.bNegated);
          bs[k][j] = y.significand;
          be[k][j] = y.exponent;
        }
      for (unsigned m = 0; m < rows; m += 16) {
        float in[16][8], out[16][8];
        for (unsigned row = 0; row < 16; ++row)
          for (unsigned j = 0; j < 8; ++j)
            in[row][j] = addend(m + row, first + j);
        tensorTile(model, 16, d.k, a + rowOfA(m, first), bs, be, in, out);
        for (unsigned row = 0; row < 16; ++row)
          for (unsigned j = 0; j < 8; ++j)
            writeFloat(m + row, first + j, out[row][j]);
      }
    }
  }

  /// Factor `s` of a row of A or B, for an element of D in this quarter.
  double scale(uint32_t address, unsigned id, unsigned quarter, unsigned row,
               unsigned s) {
    uint32_t column = (address & 0xffff) + row / 32;
    return scaleFactor(d.scaleType,
                       memory.byteAt(quarter * 32 + row % 32, column, id + s));
  }

  /// Sparse and scaled products.
  void elementwise() {
    unsigned count = d.storedK(), scales = plan.form.scaleCount;
    thread_local double a[128][64], b[256][128];
    for (unsigned m = 0; m < (isTwice ? 2 * rows : rows); ++m)
      for (unsigned k = 0; k < count; ++k)
        a[m][k] = valueOf(*model.a, d.aType, x.a[m][k], d.aNegated);
    for (unsigned n = 0; n < d.n; ++n)
      for (unsigned k = 0; k < d.k; ++k)
        b[n][k] = valueOf(*model.b, d.bType, x.b[n][k], d.bNegated);
    for (unsigned m = 0; m < rows; ++m)
      for (unsigned n = 0; n < d.n; ++n) {
        double y[64], sa[4], sb[4];
        const double *row = a[rowOfA(m, n)];
        // The lanes of each half have the factors of its columns only.
        unsigned half = halfOf(n), quarter = m / 32 + 2 * half;
        for (unsigned k = 0; k < count; ++k)
          y[k] = b[n][d.isSparse ? kept[m][k] : k];
        float c = addend(m, n);
        if (!scales) {
          writeFloat(m, n, tensorDot(model, row, y, count, c, nullptr));
          continue;
        }
        for (unsigned s = 0; s < scales; ++s) {
          sa[s] = scale(op.scaleA, d.scaleA, quarter, m, s);
          sb[s] = scale(op.scaleB, d.scaleB, quarter, n - half * d.n / 2, s);
        }
        if (scales > 1) {
          writeFloat(
              m, n,
              tensorDotScaled(model, row, y, count, c, sa, sb, count / scales));
        } else if (sa[0] != sa[0] || sb[0] != sb[0]) {
          write(m, n, 0x7fffffffu);
        } else {
          int exponents[64];
          std::fill_n(exponents, count, std::ilogb(sa[0]) + std::ilogb(sb[0]));
          writeFloat(m, n, tensorDot(model, row, y, count, c, exponents));
        }
      }
  }

  Block &block;
  const TensorOp &op;
  const ProductPlan &plan;
  const InstructionDescriptor &d;
  TensorMemory &memory;
  DataPath path;
  unsigned rows; // of A and D in this block
  bool isTwice;  // A stands twice, for either half of the columns
  TensorModel model;
  static thread_local Operands x;
  static thread_local Kept kept;
};
thread_local Operands Product::x;
thread_local Kept Product::kept;

/// The groups of 16 lanes that a data path uses, from an address' lane on.
uint8_t groupsOf(DataPath path, uint32_t address) {
  return path == DataPath::HalfLanes ? uint8_t(0x55 << (address >> 20 & 1))
                                     : uint8_t(0xff);
}

void checkLane(uint32_t address, bool isHalf, const char *what) {
  uint32_t lane = address >> 16;
  if (lane && !(isHalf && lane == 16))
    throw Fault{Fault::TensorMemory,
                std::string("the address of ") + what + " is in lane " +
                    std::to_string(lane) + ": it is 0" +
                    (isHalf ? " or 16" : ""),
                address};
}

} // namespace

bool isZeroColumn(uint64_t z, unsigned m, unsigned n, unsigned N) {
  if (!(z >> 39 & 1))
    return false;
  unsigned parts = m == 32 ? 4 : m == 64 ? 2 : 1;
  unsigned each = N / parts, part = n / each;
  unsigned zeros = unsigned(z >> 40 & 255) + 1,
           used = unsigned(z >> 48 & 255) + 1;
  unsigned at = unsigned(z >> 8 * part & 255) + n % each;
  at %= zeros + used;
  return z >> (32 + part) & 1 ? at < zeros : at >= used;
}

void multiply(Block &block, const TensorOp &op) { Product(block, op).run(); }

TensorUse productUses(Warp &w, unsigned lane, const TensorOp &op,
                      Block &block) {
  const ProductPlan &p = planOf(op);
  const InstructionDescriptor &d = op.shape;
  TensorUse use;
  DataPath path = pathOf(p.form, d.m);
  bool isHalf = path == DataPath::HalfLanes;
  unsigned rows = d.m / p.form.blocks;
  auto matrix = [&](uint64_t word, bool kMajor, unsigned rows, unsigned k,
                    Packing packing, const char *what) {
    std::string problem;
    MatrixDescriptor m = MatrixDescriptor::ofTensorCore(word, problem);
    auto refuse = [&](const std::string &why) {
      throw Fault{Fault::IllegalInstruction,
                  std::string("the descriptor of ") + what + " used by " +
                      threadName(w, lane) + ": " + why,
                  0, int(lane)};
    };
    if (!problem.empty())
      refuse(problem);
    // Table 54
    if (m.keeps32 && (kMajor || packing.bits != 32))
      refuse("128-byte swizzling of 32-byte atoms is for transposed matrices "
             "of 32 bits");
    if (!kMajor && packing.bits == 32 && !m.keeps32)
      refuse("transposed matrices of 32 bits have 128-byte swizzling of "
             "32-byte atoms");
    forChunks(m, kMajor, rows, k, packing.perChunk(),
              [&](uint32_t address, unsigned, unsigned) {
                if (address + 16 > w.block->sharedBytes)
                  throw Fault{Fault::IllegalAddress,
                              "tcgen05.mma of " + threadName(w, lane) +
                                  " reads 16 bytes of " + what +
                                  " at shared address " +
                                  std::to_string(address) +
                                  " as its descriptor says: the block has " +
                                  std::to_string(w.block->sharedBytes) +
                                  " bytes of shared memory",
                              address, int(lane)};
                use.chunks.push_back(address);
              });
  };
  auto region = [&](uint32_t address, unsigned columns, uint8_t groups,
                    const char *what, bool isWrite) {
    TensorRegion r{address & 0xffff, columns, groups};
    requireAllocated(w, lane, block, r, what);
    (isWrite ? use.writes : use.reads).push_back(r);
  };
  Packing a = packingOf(p.form, d.aType);
  if (p.aInTensorMemory) {
    if (p.form.isWeightStationary && d.m < 128)
      throw Fault{Fault::IllegalInstruction,
                  "not supported: .ws of M = " + std::to_string(d.m) +
                      " with A in tensor memory, whose lanes are in a figure "
                      "only",
                  0, int(lane)};
    checkLane(uint32_t(op.a), isHalf, "A");
    if (isHalf && (uint32_t(op.a) >> 16) != op.address >> 16)
      throw Fault{Fault::TensorMemory,
                  "A and D are in other halves of the lanes", op.address};
    region(uint32_t(op.a), d.storedK() * a.container / 32,
           groupsOf(path, uint32_t(op.a)), "A of tcgen05.mma", false);
  } else {
    matrix(op.a, d.aKMajor, rows, d.storedK(), a, "A");
  }
  matrix(op.b, d.bKMajor, rowsOfB(op) / p.form.blocks, d.k,
         packingOf(p.form, d.bType), "B");
  if (p.form.scaleCount) {
    checkLane(op.scaleA, false, "the scale factors of A");
    checkLane(op.scaleB, false, "the scale factors of B");
    region(op.scaleA, (rows + 31) / 32, 0xff,
           "the scale factors of A of tcgen05.mma", false);
    region(op.scaleB, (accumulatorColumns(path, d.n) + 31) / 32, 0xff,
           "the scale factors of B of tcgen05.mma", false);
  }
  if (d.isSparse) {
    checkLane(op.metadata, false, "the metadata");
    bool isWide =
        p.form.kind == ProductKind::F16 || p.form.kind == ProductKind::TF32;
    region(op.metadata, isWide ? 1 : 2,
           d.m == 32   ? uint8_t(3)
           : d.m == 64 ? uint8_t(15)
                       : uint8_t(0xff),
           "the metadata of tcgen05.mma", false);
  }
  checkLane(op.address, isHalf, "D");
  uint8_t groups = groupsOf(path, op.address);
  unsigned stays = op.isPair ? 4 * (block.clusterRank & 1) : 0;
  for (unsigned g = 0; g < 8; ++g) // lanes that all stay
    if ((op.disabled[stays + g / 2] >> g % 2 * 16 & 0xffff) == 0xffff)
      groups &= uint8_t(~(1u << g));
  unsigned columns = accumulatorColumns(path, d.n);
  if (op.accumulates)
    region(op.address, columns, groups, "D of tcgen05.mma", false);
  region(op.address, columns, groups, "D of tcgen05.mma", true);
  return use;
}

static void product(Warp &w, const Inst &i, uint32_t mask) {
  requireTensorUnit(w);
  const auto &p = *static_cast<const ProductPlan *>(i.extra.get());
  if (p.form.kind == ProductKind::I8 && w.block->launch->options.arch == 103)
    throw Fault{Fault::IllegalInstruction,
                ".kind::i8 exists on sm_100a and sm_110a only"};
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(std::countr_zero(m));
    TensorOp op;
    op.inst = &i;
    op.thread = w.index * 32 + l;
    op.isPair = p.form.blocks == 2;
    op.address = p.d.of(w, l);
    op.a = p.aInTensorMemory ? p.aAddress.of(w, l) : w.reg<uint64_t>(p.a)[l];
    op.b = w.reg<uint64_t>(p.b)[l];
    op.accumulates = w.pred(p.accumulates) >> l & 1;
    if (p.form.isSparse)
      op.metadata = p.metadata.of(w, l);
    // CUTLASS leaves the id of the byte in the top bits.
    constexpr uint32_t idMask = 0x3fffffff;
    if (p.form.scaleCount) {
      op.scaleA = p.scaleA.of(w, l) & idMask;
      op.scaleB = p.scaleB.of(w, l) & idMask;
    }
    if (p.zeroColumns != noRef)
      op.zeroColumns = w.reg<uint64_t>(p.zeroColumns)[l];
    for (size_t k = 0; k < p.disabled.size(); ++k)
      op.disabled[k] = w.reg<uint32_t>(p.disabled[k])[l];
    uint32_t word = w.reg<uint32_t>(p.instruction)[l];
    std::string problem = readDescriptor(p.form, word, op.shape);
    if (!problem.empty())
      throw Fault{Fault::IllegalInstruction,
                  "the instruction descriptor " + std::to_string(word) +
                      " used by " + threadName(w, l) + ": " + problem,
                  0, int(l)};
    tensorUnit(*w.block).issue(w, l, std::move(op));
  }
}

static ProductForm formOf(Decoder &d) {
  constexpr std::pair<const char *, ProductKind> kinds[] = {
      {"kind::f16", ProductKind::F16},
      {"kind::tf32", ProductKind::TF32},
      {"kind::f8f6f4", ProductKind::F8F6F4},
      {"kind::i8", ProductKind::I8},
      {"kind::mxf8f6f4", ProductKind::MXF8F6F4},
      {"kind::mxf4", ProductKind::MXF4},
      {"kind::mxf4nvf4", ProductKind::MXF4NVF4}};
  ProductForm form;
  unsigned found = 0;
  for (auto [name, kind] : kinds)
    if (d.has(name)) {
      form.kind = kind;
      ++found;
    }
  if (found != 1)
    d.fail("needs one .kind");
  form.isSparse = d.has("sp");
  form.isWeightStationary = d.has("ws");
  form.blocks = d.has("cta_group::2") ? 2 : 1;
  if (d.has("ashift"))
    d.fail("not supported: .ashift, whose direction is not published");
  bool isScaled = form.kind >= ProductKind::MXF8F6F4;
  if (isScaled != d.has("block_scale"))
    d.fail("needs .block_scale exactly for kinds mxf8f6f4, mxf4 and mxf4nvf4");
  bool is16 = d.has("block16") || d.has("scale_vec::4X");
  bool is32 = d.has("block32"), is1 = d.has("scale_vec::1X"),
       is2 = d.has("scale_vec::2X");
  switch (form.kind) {
  case ProductKind::MXF8F6F4:
    form.scaleCount = 1;
    if (is16 || is2)
      d.fail("has one scale factor: .scale_vec::1X or .block32");
    break;
  case ProductKind::MXF4:
    form.scaleCount = 2;
    if (is16 || is1)
      d.fail("has two scale factors: .scale_vec::2X or .block32");
    break;
  case ProductKind::MXF4NVF4:
    form.scaleCount = is16 ? 4 : 2;
    if (is1 || is16 + (is2 || is32) != 1)
      d.fail("needs .scale_vec::2X, .scale_vec::4X, .block16 or .block32");
    break;
  default:
    if (is16 || is32 || is1 || is2)
      d.fail("has no scale factors");
  }
  return form;
}

void decodeTensorProduct(Decoder &d, Inst &inst) {
  if (d.program.ring && !d.has("kind::i8"))
    d.fail("is excluded from ring mode");
  auto plan = std::make_shared<ProductPlan>();
  ProductPlan &p = *plan;
  inst.extra = plan;
  inst.opClass = OpClass::Matrix;
  inst.fn = product;
  p.form = formOf(d);
  size_t next = 0;
  auto more = [&](const char *what) -> const ptx::Operand & {
    if (next >= d.operandCount())
      d.fail(std::string("needs ") + what);
    return d.operand(next++);
  };
  p.d = decodeTensorAddress(d, more("the address of D"));
  const ptx::Operand &a = more("A");
  p.aInTensorMemory = a.kind == ptx::Operand::Address;
  if (p.aInTensorMemory)
    p.aAddress = decodeTensorAddress(d, a);
  else
    p.a = d.src(a, Type::B64);
  p.b = d.src(more("the descriptor of B"), Type::B64);
  if (p.form.isSparse)
    p.metadata = decodeTensorAddress(d, more("the address of the metadata"));
  p.instruction = d.src(more("an instruction descriptor"), Type::B32);
  if (p.form.scaleCount) {
    p.scaleA = decodeTensorAddress(d, more("the scale factors of A"));
    p.scaleB = decodeTensorAddress(d, more("the scale factors of B"));
  }
  if (next < d.operandCount() && d.operand(next).kind == ptx::Operand::Vector) {
    const ptx::Operand &o = more("disabled lanes");
    if (p.form.scaleCount || p.form.isWeightStationary ||
        o.elements.size() != 4 * p.form.blocks)
      d.fail(o, "disable-output-lane has 4 registers for each block, and is "
                "not for .ws and .block_scale");
    for (const ptx::Operand &e : o.elements)
      p.disabled.push_back(d.src(e, Type::B32));
  }
  p.accumulates = d.pred(more("enable-input-d"));
  if (next < d.operandCount() && p.form.isWeightStationary) {
    p.zeroColumns = d.src(more("a zero-column mask"), Type::B64);
  } else if (next < d.operandCount() && !p.form.scaleCount) {
    const ptx::Operand &o = more("scale-input-d");
    int64_t value = d.immediate(o);
    if (value < 0 || value > 15 ||
        (p.form.kind != ProductKind::F16 && p.form.kind != ProductKind::TF32))
      d.fail(o, "scale-input-d is a number from 0 to 15, for .kind::f16 and "
                ".kind::tf32");
    p.scaleD = unsigned(value);
  }
  if (next != d.operandCount())
    d.fail("has too many operands");
}

} // namespace tessera::sim
