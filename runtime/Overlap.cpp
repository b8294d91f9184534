// Do two strided views of memory share a byte?
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bit address of an element of a is  a0 + sum ai * ia  with 0 <= ia < size.
// Two views share memory if some element of one starts within an element's
// width of some element of the other. Reversing the axes of b turns the
// difference of the two sums into one sum with positive coefficients:
//
//   is there x with  low <= sum c_k * x_k <= high,  0 <= x_k <= n_k ?
//
// Equal coefficients are joined. Searching from the largest coefficient down
// leaves one or two candidates per level when the strides nest, as those of
// slices of one array do: so the columns [0, 8) and [8, 16) of a matrix are
// told apart in a few steps. A search that branches too much gives up.
#include "runtime/Overlap.h"

#include "tessera-c/runtime.h"
#include <algorithm>
#include <utility>

namespace tessera::runtime {

using Int = __int128;

namespace {
struct Term {
  Int coefficient;
  Int bound;
};

class Search {
public:
  void add(Int coefficient, Int bound) {
    if (bound > 0 && coefficient != 0)
      terms[count++] = {coefficient, bound};
  }

  /// Sorts the terms by falling coefficient and joins equal ones.
  void prepare() {
    std::sort(terms, terms + count, [](const Term &a, const Term &b) {
      return a.coefficient > b.coefficient;
    });
    int kept = 0;
    for (int i = 0; i < count; ++i) {
      if (kept && terms[kept - 1].coefficient == terms[i].coefficient)
        terms[kept - 1].bound += terms[i].bound;
      else
        terms[kept++] = terms[i];
    }
    count = kept;
    reach[count] = 0;
    divisor[count] = 0;
    for (int i = count - 1; i >= 0; --i) {
      reach[i] = reach[i + 1] + terms[i].coefficient * terms[i].bound;
      divisor[i] = gcd(terms[i].coefficient, divisor[i + 1]);
    }
  }

  Overlap solve(Int low, Int high) {
    budget = 20000;
    return solveFrom(0, low, high);
  }

private:
  static Int gcd(Int a, Int b) {
    while (b) {
      Int rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }

  static Int ceilDiv(Int a, Int b) { // b > 0
    return a > 0 ? (a + b - 1) / b : -(-a / b);
  }

  Overlap solveFrom(int level, Int low, Int high) {
    low = std::max(low, Int{0});
    high = std::min(high, reach[level]);
    if (low > high)
      return Overlap::None;
    if (low == 0)
      return Overlap::Certain; // all x are 0
    if (level == count)
      return Overlap::None;
    // All sums are multiples of the divisor.
    if (ceilDiv(low, divisor[level]) * divisor[level] > high)
      return Overlap::None;
    if (--budget < 0)
      return Overlap::Possible;
    const Term &term = terms[level];
    Int first =
        std::max(ceilDiv(low - reach[level + 1], term.coefficient), Int{0});
    Int last = std::min(high / term.coefficient, term.bound);
    for (Int x = first; x <= last; ++x) {
      Int used = x * term.coefficient;
      Overlap result = solveFrom(level + 1, low - used, high - used);
      if (result != Overlap::None)
        return result;
    }
    return Overlap::None;
  }

  Term terms[4 * TSR_MAX_RANK];
  Int reach[4 * TSR_MAX_RANK + 1];   // largest sum of this term and later ones
  Int divisor[4 * TSR_MAX_RANK + 1]; // of all sums of these
  int count = 0;
  int budget = 0;
};
} // namespace

static Int absolute(Int value) { return value < 0 ? -value : value; }

Overlap overlapOf(const MemoryView &a, const MemoryView &b) {
  Int bitsA = dtypeInfo(a.dtype).bits, bitsB = dtypeInfo(b.dtype).bits;
  BitInterval intervalA, intervalB;
  bitInterval(a, intervalA);
  bitInterval(b, intervalB);
  if (intervalA.isEmpty() || intervalB.isEmpty())
    return Overlap::None;
  Search search;
  Int reachB = intervalB.end - intervalB.begin - bitsB;
  for (int32_t axis = 0; axis < a.rank; ++axis)
    search.add(absolute(a.strides[axis]) * bitsA, a.sizes[axis] - 1);
  for (int32_t axis = 0; axis < b.rank; ++axis)
    search.add(absolute(b.strides[axis]) * bitsB, b.sizes[axis] - 1);
  search.prepare();
  // a's element at A + s and b's at B + reachB - t meet if
  //   -bitsA < (A + s) - (B + reachB - t) < bitsB.
  Int distance = Int{intervalB.begin} + reachB - intervalA.begin;
  return search.solve(distance - bitsA + 1, distance + bitsB - 1);
}

Overlap selfOverlapOf(const MemoryView &view) {
  // If the strides nest, each element has its own place. That is nearly always
  // so and cheap to see.
  Term axes[TSR_MAX_RANK];
  int count = 0;
  if (std::find(view.sizes, view.sizes + view.rank, 0) !=
      view.sizes + view.rank)
    return Overlap::None;
  for (int32_t axis = 0; axis < view.rank; ++axis) {
    if (view.sizes[axis] == 1)
      continue;
    if (view.strides[axis] == 0)
      return Overlap::Certain;
    axes[count++] = {absolute(view.strides[axis]), view.sizes[axis] - 1};
  }
  // Insertion sort: most arrays come sorted already, and there are few axes.
  for (int i = 1; i < count; ++i)
    for (int j = i; j > 0 && axes[j - 1].coefficient < axes[j].coefficient; --j)
      std::swap(axes[j - 1], axes[j]);
  Int reach = 0;
  bool nests = true;
  for (int i = count - 1; i >= 0; --i) {
    nests &= axes[i].coefficient > reach;
    reach += axes[i].coefficient * axes[i].bound;
  }
  if (nests)
    return Overlap::None;
  // Two different elements meet if their difference d, |d_k| <= n_k, has sum
  // c_k * d_k = 0. One d_k is the first that differs from 0; say it is
  // positive, and let y = d + n >= 0 for the later ones.
  for (int k = 0; k < count; ++k) {
    Search search;
    search.add(axes[k].coefficient, axes[k].bound - 1); // d_k - 1
    Int target = -axes[k].coefficient;
    for (int j = k + 1; j < count; ++j) {
      search.add(axes[j].coefficient, 2 * axes[j].bound);
      target += axes[j].coefficient * axes[j].bound;
    }
    search.prepare();
    Overlap result = search.solve(target, target);
    if (result != Overlap::None)
      return result;
  }
  return Overlap::None;
}

} // namespace tessera::runtime
