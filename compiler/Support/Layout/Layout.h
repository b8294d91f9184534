// Layout: where the elements of a tile live. Read this header to learn it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a layout is
// ================
// A layout answers "which element?" for a place, or "which place?" for an
// element. A place is a register of a lane of a warp, or an offset in memory;
// an element is a position in a tile, one number per axis. Both are a few named
// numbers, so a layout is a function between named integer tuples:
//
//     (register, lane, warp) -> (dim0, dim1)      who holds what
//     (dim0, dim1) -> offset                      where it is in memory
//
// 1. The atom: a linear map over bits
// -----------------------------------
// Hardware likes powers of two, and what it does with indices is moving bits
// around and XORing them. So the function is fixed by its values at the powers
// of two (its *bases*); any other value is an XOR of those:
//
//     f(a ^ b) = f(a) ^ f(b),   f(0) = 0
//
// Worked example: 8 lanes with 2 registers each hold a 4x4 tile. Registers run
// along a row; lanes first along the row, then down the columns:
//
//     #layout<register:[(0,1)], lane:[(0,2),(1,0),(2,0)] -> (4x4)>
//
//                       dim1 = 0      1      2      3
//     dim0 = 0               L0 R0  L0 R1  L1 R0  L1 R1
//            1               L2 R0  L2 R1  L3 R0  L3 R1
//            2               L4 R0  L4 R1  L5 R0  L5 R1
//            3               L6 R0  L6 R1  L7 R0  L7 R1
//
// Lane 5 = 4 ^ 1, so with register 1: (2,0) ^ (0,2) ^ (0,1) = (2,3). Yes.
//
// Why XOR and not plus? For bases that share no bit they are the same thing;
// and where they are not, XOR is a swizzle. The tile in memory, row by row, is
//
//     #layout<dim0:[4,8], dim1:[1,2] -> offset:16>
//
// and the same with columns XORed by the row, which spreads a column over
// banks:
//
//     #layout<dim0:[5,10], dim1:[1,2] -> offset:16>
//
//              dim1 = 0   1   2   3
//     dim0 = 0        0   1   2   3
//            1        5   4   7   6          (1,1): 5 ^ 1 = 4
//            2       10  11   8   9
//            3       15  14  13  12
//
// Because everything is a matrix over bits, questions become linear algebra:
// composition is a product, "is it one-to-one?" is a rank, a conversion between
// two layouts is an inverse times a matrix, and bank conflicts are the size of
// an intersection. None of it needs a case per kind of layout.
//
// 2. The grid: repetition by any extent
// -------------------------------------
// Tiles of 6 x 48 exist. So the atom is repeated over a grid whose *axes* have
// any extent and add (not XOR) a step on both sides:
//
//     #layout<register:[(0,1)], lane:[(0,2),(1,0),(2,0)] -> (4x4),
//             repeat [3: register*2 -> dim0*4, 5: register*6 -> dim1*4]>
//
// repeats the example 3 x 5 times: a 12x20 tile with 30 registers per lane.
// Step number g of the first axis adds 2g to the register and 4g to dim0. In
// memory the step on the right is an integer stride, of any value:
// `5: dim0*4 -> offset*272`. A packed panel of 6 rows is nothing but axes:
//
//     #layout<-> offset:1, repeat [6: dim0*1 -> offset*1,
//                                  100: dim1*1 -> offset*6]>
//
// On the input side axes must be *nested*: sorted by stride, each stride is at
// least the extent of all that is below it. Then an index splits into atom
// index and grid position in one way only. A function of two elements to one
// place (or of two places holding the same element) is fine.
//
// 3. Padding
// ----------
// Memory may skip `amount` elements after every `interval`; the true offset is
// offset + (offset / interval) * amount. `pad offset [64:+8]`.
//
// Directions
// ==========
// Either direction may be stored; `invert` turns a one-to-one layout around.
// When several places hold one element, the inverse is not a function; the
// pseudo-inverse picks one place by a fixed rule: the earliest input bits that
// suffice are used, the others are 0; so, the smallest place when the first
// input counts fastest (list registers before lanes before warps). Elements
// that nobody holds are sent where their nearest held relative is: bits that
// complete the image count as 0. Formally, P = pseudoInvert(A) is the matrix
// with A P A = A and P A P = P of BitSpan.h.

#ifndef TESSERA_SUPPORT_LAYOUT_LAYOUT_H
#define TESSERA_SUPPORT_LAYOUT_LAYOUT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::layout {

/// A named input or output of the atom, with 2^bits values.
struct Dim {
  std::string name;
  int bits = 0;

  int64_t size() const { return int64_t(1) << bits; }
  bool operator==(const Dim &) const = default;
};

/// One direction of the grid: `extent` steps, each of which adds `inStride` to
/// input `in` and `outStride` to output `out`.
struct Axis {
  int64_t extent = 1;
  std::string in;
  int64_t inStride = 1;
  std::string out;
  int64_t outStride = 1;

  bool operator==(const Axis &) const = default;
};

/// Memory dim `dim` skips `amount` elements after every `interval`.
struct Padding {
  std::string dim;
  int64_t interval = 1;
  int64_t amount = 0;

  bool operator==(const Padding &) const = default;
};

/// One number per dim, in the order of ins() or outs().
using Index = std::vector<int64_t>;

class Layout {
public:
  /// The map from nothing to nothing; the neutral element of products.
  Layout() = default;

  //===--- Construction ---------------------------------------------------===//

  /// An atom. `bases[i][b]` is the image of bit b of input i: one number per
  /// output, each below that output's size.
  Layout(std::vector<Dim> ins, std::vector<Dim> outs,
         const std::vector<std::vector<Index>> &bases);

  /// out = in, for 0 <= in < size. A size that is no power of two becomes an
  /// axis over an atom of one element.
  static Layout identity(int64_t size, std::string in, std::string out);
  /// out = stride * in. Bits if both numbers are powers of two, else an axis.
  static Layout strided(int64_t size, int64_t stride, std::string in,
                        std::string out);
  /// out = 0: all `size` (a power of two) places hold the same element.
  static Layout broadcast(int64_t size, std::string in, std::string out);

  /// This layout repeated `extent` times along `out`, the outer index of `in`
  /// counting: steps are what the two dims span so far. An axis of two inputs
  /// or outputs that do not exist yet creates them.
  Layout repeated(int64_t extent, const std::string &in,
                  const std::string &out) const;
  /// With steps given, and refused (nullopt) if inputs would not be nested.
  std::optional<Layout> withAxis(const Axis &axis) const;
  /// Padding on a memory dim; intervals apply one after the other.
  Layout withPadding(const Padding &padding) const;
  /// Dims that are missing are added with size 1, at the end.
  Layout withDims(const std::vector<std::string> &inNames,
                  const std::vector<std::string> &outNames) const;

  //===--- Looking
  //---------------------------------------------------------===//

  const std::vector<Dim> &ins() const { return inDims; }
  const std::vector<Dim> &outs() const { return outDims; }
  const std::vector<Axis> &axes() const { return gridAxes; }
  const std::vector<Padding> &paddings() const { return paddingList; }
  /// Is there neither grid nor padding?
  bool isAtom() const { return gridAxes.empty() && paddingList.empty(); }

  std::optional<int> findIn(std::string_view name) const;
  std::optional<int> findOut(std::string_view name) const;
  /// The image of bit `bit` of an input.
  Index basis(int in, int bit) const;
  /// Columns of the atom's matrix; the first dim has the low bits, both sides.
  const std::vector<uint64_t> &matrix() const { return columns; }
  int inBits() const;
  int outBits() const;

  /// Largest index plus one, padding included.
  int64_t inSize(std::string_view name) const;
  int64_t outSize(std::string_view name) const;
  /// Number of points of the domain: the atom's, times all extents.
  int64_t count() const;

  /// The function. Nullopt outside the domain (a hole between steps, or in the
  /// padding, included).
  std::optional<Index> apply(const Index &in) const;
  /// All points of the domain, the first dim fastest.
  std::vector<Index> domain() const;

  bool isInjective() const;
  /// Onto the box of outSize()s?
  bool isSurjective() const;
  bool isBijective() const { return isInjective() && isSurjective(); }

  /// How many elements consecutive values of `in`, from 0, hold consecutively
  /// along `out`, all else equal: the run that one vector access covers.
  int64_t contiguous(std::string_view in, std::string_view out) const;

  /// Equal as written: same dims in the same order, same bases, axes, padding.
  bool operator==(const Layout &other) const = default;
  /// Equal as functions on the same named dims, whatever their order.
  bool isEquivalent(const Layout &other) const;

  //===--- Algebra
  //---------------------------------------------------------===//

  /// Low bits from this, high bits from `outer`, on both sides: `outer` says
  /// how copies of this are arranged. This must be an atom. Dims of the same
  /// name are joined.
  Layout product(const Layout &outer) const;
  /// The C with this = divisor.product(C), if there is one.
  std::optional<Layout> divide(const Layout &divisor) const;

  /// outer(this(x)). Outputs of this are inputs of `outer` by name; inputs of
  /// `outer` that this lacks are 0. Nullopt if this leaves the domain of
  /// `outer`, or if the result is no layout (extents that do not divide).
  std::optional<Layout> compose(const Layout &outer) const;

  /// The inverse of a one-to-one layout (onto its image, if the image is a
  /// layout's domain: power-of-two atom, nested strides).
  std::optional<Layout> invert() const;
  /// Pseudo-inverse of the atom (see above); axes swap sides. Nullopt if the
  /// outputs' axes are not nested.
  std::optional<Layout> pseudoInvert() const;

  /// Only the named dims: other inputs are held at 0, other outputs dropped,
  /// and axes of either kind with them.
  Layout sublayout(const std::vector<std::string> &inNames,
                   const std::vector<std::string> &outNames) const;
  /// Output i becomes what output order[i] was, keeping the names in place:
  /// the layout of the transposed tile.
  Layout transposed(const std::vector<int> &order) const;
  Layout renamedIn(const std::string &from, const std::string &to) const;
  Layout renamedOut(const std::string &from, const std::string &to) const;
  /// The same bits under other dims, in row-major order: the last dim has the
  /// low bits. Atoms only, and the sizes' products must agree.
  std::optional<Layout> reshapedIns(const std::vector<Dim> &dims) const;
  std::optional<Layout> reshapedOuts(const std::vector<Dim> &dims) const;

  /// Moves factors of two from axes into the atom until input (or output)
  /// `name` of the atom has `bits` bits. Nullopt if an extent or a stride does
  /// not allow it.
  std::optional<Layout> absorbedIn(std::string_view name, int bits) const;
  std::optional<Layout> absorbedOut(std::string_view name, int bits) const;
  /// Absorbs all it can; equivalent layouts mostly become equal.
  Layout absorbed() const;
  /// The opposite: bits of the atom that add rather than XOR become axes, as
  /// far as inputs can be given up from the top.
  Layout released() const;

  //===--- Text
  //------------------------------------------------------------===//

  /// See LayoutText.cpp for the grammar.
  std::string print() const;
  /// Nullopt with `error` set if the text is not a layout.
  static std::optional<Layout> parse(std::string_view text,
                                     std::string *error = nullptr);

private:
  friend class LayoutParser;

  std::optional<Layout> absorbedAxis(size_t axis, int bits) const;
  std::optional<Layout> absorbedDim(bool input, std::string_view name,
                                    int bits) const;
  std::optional<Layout> composeAtoms(const Layout &outer) const;
  Layout swapped(std::vector<uint64_t> matrix) const;
  void sortAxes();

  std::vector<Dim> inDims, outDims;
  std::vector<uint64_t> columns; // one per input bit: flattened output bits
  std::vector<Axis> gridAxes;    // by input dim, then input stride
  std::vector<Padding> paddingList;
};

/// log2 of a power of two; nullopt for other numbers.
std::optional<int> exactLog2(int64_t value);

} // namespace tessera::layout

#endif // TESSERA_SUPPORT_LAYOUT_LAYOUT_H
