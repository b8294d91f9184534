//===- TileData.h - Ranges, views, buffers, a kernel that runs --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the values of Tile IR are while a kernel runs. A tile is an array of the
// elements that exist: where a range ends before the tile does, the array is
// shorter than the type says. On a GPU every position is computed: there arrays
// are whole.
//
// A view shows the cells of a Memory through sizes and strides. A buffer shows
// the bytes of an Arena: the scratch memory of a thread, or the shared memory
// of a block. Buffers that share bytes overwrite each other; an element is only
// readable by the buffer that wrote it, whole, since it was allocated. In
// shared memory it is readable after the wait (for copies) and the barrier that
// make it so for all threads; whoever is earlier reads poison.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_INTERPRETER_TILEDATA_H
#define TESSERA_COMPILER_INTERPRETER_TILEDATA_H

#include "compiler/Interpreter/Interpreter.h"
#include "compiler/Tile/IR/Tile.h"
#include "compiler/Tile/Transforms/AxisRanges.h"

#include "llvm/ADT/DenseSet.h"

#include <array>
#include <map>

namespace tessera::interpreter {

/// Positions start, start + 1, ... of a dim; those from `stop` on are absent.
class TileRange : public Datum {
public:
  TileRange(int64_t start, int64_t stop)
      : Datum(Kind::Range), start(start), stop(stop) {}
  static bool classof(const Datum *datum) {
    return datum->getKind() == Kind::Range;
  }
  int64_t start, stop;
  int64_t length() const { return std::max<int64_t>(0, stop - start); }
};

/// The memory of one array, or of a temporary of a plan.
struct Memory {
  std::vector<Cell> cells;
  /// Who wrote a cell last: launch << 32 | program. Programs of one launch run
  /// in any order, so what one writes another may not read.
  std::vector<uint64_t> writers;
  /// Who read it, in the same form; `several` for more than one program.
  std::vector<uint64_t> readers;
  static constexpr uint64_t several = 0xffffffff;
};

class View : public Datum {
public:
  View() : Datum(Kind::View) {}
  static bool classof(const Datum *datum) {
    return datum->getKind() == Kind::View;
  }
  /// Fresh memory, row-major, all of it `fill`.
  static std::shared_ptr<View> make(llvm::ArrayRef<int64_t> shape,
                                    Element element, Cell fill);
  /// The array's cells in memory of these strides (row-major if empty), at
  /// `padding` everything between them.
  static std::shared_ptr<View>
  of(const Array &array, llvm::ArrayRef<int64_t> strides, Cell padding);
  Array toArray() const;

  std::shared_ptr<Memory> memory;
  Element element = Element::F32;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape, strides;
  std::string name;
};

/// The bytes that buffers lie in; pages of them that somebody has touched.
class Arena {
public:
  struct Slot {
    Cell cell; // at the first byte of an element
    uint64_t buffer = 0;
    int64_t start = -1;
    /// Copies under way have a token; 0: none, or it was waited for.
    int64_t token = 0;
    /// Visible to all threads after this many barriers.
    uint64_t visible = 0;
    /// Who read it last, and after how many barriers.
    mlir::Operation *reader = nullptr;
    uint64_t readAt = 0;
  };
  uint64_t barriers = 0;

  Slot &operator[](int64_t byte) {
    size_t page = size_t(byte) / pageBytes;
    if (page >= pages.size())
      pages.resize(page + 1);
    if (!pages[page])
      pages[page] = std::make_unique<std::array<Slot, pageBytes>>();
    return (*pages[page])[size_t(byte) % pageBytes];
  }
  /// All that was touched from `first` on.
  template <typename Body> void forEach(int64_t first, Body body) {
    for (size_t page = 0; page < pages.size(); ++page)
      for (size_t i = 0; pages[page] && i < pageBytes; ++i)
        if (int64_t(page * pageBytes + i) >= first)
          body((*pages[page])[i]);
  }

private:
  static constexpr size_t pageBytes = 512;
  std::vector<std::unique_ptr<std::array<Slot, pageBytes>>> pages;
};

/// What a layout holds: at least the buffer's shape; where each element is.
struct BufferLayout {
  llvm::SmallVector<int64_t> box;
  std::vector<int64_t> places; // row-major over the box, in elements
  int64_t elements = 0;        // one past the last
};

class Buffer : public Datum {
public:
  Buffer() : Datum(Kind::Buffer) {}
  static bool classof(const Datum *datum) {
    return datum->getKind() == Kind::Buffer;
  }
  uint64_t id = 0;
  tile::BufferType type;
  Element element = Element::F32;
  int64_t elementBytes = 1;
  int64_t offset = 0; // in the arena
  bool shared = false;
  llvm::SmallVector<int64_t> shape;
  std::shared_ptr<const BufferLayout> layout;
  /// Up to where it was written, along each axis.
  llvm::SmallVector<int64_t> written;

  /// The first byte of an element.
  int64_t byteOf(llvm::ArrayRef<int64_t> index) const {
    int64_t at = 0;
    for (size_t axis = 0; axis < index.size(); ++axis)
      at = at * layout->box[axis] + index[axis];
    return offset + layout->places[size_t(at)] * elementBytes;
  }
};

class Token : public Datum {
public:
  explicit Token(int64_t number) : Datum(Kind::Token), number(number) {}
  static bool classof(const Datum *datum) {
    return datum->getKind() == Kind::Token;
  }
  int64_t number;
};

/// Where an access of a tile finds an element of a view.
struct Place {
  enum class Kind : uint8_t { There, Absent, OutOfBounds, Poison } kind;
  int64_t offset = 0; // in the memory's cells
  Cell cell;          // of Poison; of OutOfBounds the index
  size_t axis = 0;    // of OutOfBounds
};

/// The elements of a tile.load, store, atomic or cp_async.
class Access {
public:
  Access(mlir::Operation *op, mlir::Value view, mlir::OperandRange indices,
         std::optional<mlir::ArrayAttr> indexAxes, Interpreter &in);
  Place at(llvm::ArrayRef<int64_t> index) const;
  /// Cuts a tile's shape down to the elements that exist.
  void limit(llvm::MutableArrayRef<int64_t> shape) const;
  View &view() const { return *shown; }
  /// The cell at a place, or why it cannot be read.
  Cell read(const Place &place) const;
  llvm::LogicalResult write(const Place &place, const Cell &cell) const;
  /// Do tiles of indices say where elements go?
  bool isScatter() const { return scatters; }
  void remarkOutside(const Place &place) const;

private:
  struct Along {
    const TileRange *range = nullptr;
    const Array *tile = nullptr;
    int64_t scalar = 0;
    bool isProgram = false; // lies within its dim
    llvm::SmallVector<int64_t, 2> axes;
  };
  mlir::Operation *op;
  Interpreter &in;
  std::shared_ptr<View> shown;
  llvm::SmallVector<Along, 4> along;
  bool scatters = false;
};

/// A copy that was started and not yet waited for.
struct Copy {
  tile::CpAsyncOp op;
  int64_t token;
  std::shared_ptr<Buffer> buffer;
  Array cells;                       // of the buffer's shape (without its slot)
  llvm::SmallVector<int64_t> prefix; // the slot
  bool taken;    // whether `cells` were read from memory already
  int64_t group; // how many commits were before it
  /// Where from, as it was when the copy began.
  std::shared_ptr<const Access> from;
  llvm::SmallVector<DatumRef> indices;
};

/// One kernel while its programs run.
class KernelState : public Datum {
public:
  KernelState(mlir::Operation *kernel, uint64_t launch)
      : Datum(Kind::Other), kernel(kernel), launch(launch),
        wholeTiles(mlir::isa<tile::FuncOp>(kernel) &&
                   mlir::cast<tile::FuncOp>(kernel).hasThreads()) {}

  mlir::Operation *kernel;
  uint64_t launch;                        // its number, from 1
  std::optional<tile::AxisRanges> ranges; // made when asked for
  /// Every position of a tile is computed, also those that do not exist: reads
  /// outside give 0, what must be skipped is masked by the program itself.
  bool wholeTiles;
  int64_t program = 0;   // the one that runs, or the first of a chunk
  int64_t chunkEnd = 1;  // behind the last one of a chunk
  int64_t programs = -1; // set by tile.program or tile.chunk
  int64_t grid = -1;     // how many the plan launches; negative: no plan
  bool running = false;
  Arena arena;
  uint64_t buffers = 0;
  int64_t tokens = 0;
  int64_t unplaced = 0; // where buffers without an offset go
  std::vector<Copy> copies;
  int64_t groups = 0; // commits so far
  /// The nest around the ops that run now, and which of its axes the axes of
  /// its loads are.
  tile::NestOp nest;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> loadAxes;
  /// Loads that may see the nest's own writes of other elements.
  llvm::SmallPtrSet<mlir::Operation *, 4> torn;
  llvm::DenseMap<mlir::Operation *, llvm::DenseSet<int64_t>> tornPlaces;
  /// Printed lines of each program; the pieces of the one under way.
  std::map<int64_t, std::vector<std::string>> lines;
  std::string text;
  Data pieces;
};

inline KernelState &stateOf(Interpreter &in) {
  return static_cast<KernelState &>(*in.kernel);
}

/// Positions outside of a nest's axes are not computed. `axes` says which axis
/// of the nest each axis of the array is. Without a nest: the array.
const Array &clipToNest(const Array &array, llvm::ArrayRef<int64_t> axes,
                        Array &storage, Interpreter &in);
/// For arrays that have the nest's axes, in order.
const Array &clipToNest(const Array &array, Array &storage, Interpreter &in);
/// How many positions the nest computes along its axes.
llvm::SmallVector<int64_t> nestLengths(llvm::ArrayRef<int64_t> axes,
                                       Interpreter &in);

/// Runs the programs of a kernel (tile.func, gir.kernel). Arguments are views
/// and scalars, in the kernel's order. `grid`: how many programs a plan
/// launches; negative: as many as there are.
llvm::LogicalResult runKernel(mlir::Operation *kernel, Interpreter &in,
                              llvm::ArrayRef<DatumRef> arguments, int64_t grid);
/// Strides for an array that a kernel takes as `type` (null: any): where that
/// says 1, the axis is innermost. A seed puts gaps between the rows.
llvm::SmallVector<int64_t> chooseStrides(llvm::ArrayRef<int64_t> shape,
                                         int64_t unitAxis, Interpreter &in);
/// The axis that has stride 1 in a view's type; -1: none has.
int64_t unitAxisOf(mlir::Type view);
/// The gir.kernel inside of a sched.kernel; else the op itself.
mlir::Operation *innerKernel(mlir::Operation *op);

/// An op whose threads talk through shared memory (`scratch`): they wait for
/// each other before (unless `unguarded`) and in between, and what was there is
/// gone. Every handler of an op that may have scratch memory calls it.
void useScratch(mlir::Operation *op, Interpreter &in);

/// The cell of a buffer, or poison that says why it cannot be read.
Cell readBuffer(mlir::Operation *op, const Buffer &buffer,
                llvm::ArrayRef<int64_t> index, Interpreter &in);

} // namespace tessera::interpreter

#endif // TESSERA_COMPILER_INTERPRETER_TILEDATA_H
