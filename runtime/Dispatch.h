// Which version of a function a call takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call is a row of arguments, and a version asks for facts of them. A guard
// is data (tsr_guard): of an argument, the bits `mask` of a field are `value`.
// Libraries built ahead of time, C++ and Python ask in these words; what only
// Python knows (which function a name stands for, how a call was written) is an
// argument with a number, too.
#ifndef TESSERA_RUNTIME_DISPATCH_H
#define TESSERA_RUNTIME_DISPATCH_H

#include "tessera-c/runtime.h"
#include <cstddef>
#include <unordered_map>
#include <vector>

namespace tessera::runtime {

/// An argument of a call, as guards see it. Plain: a call describes many.
struct Argument {
  int64_t type;           ///< TSR_FIELD_TYPE
  int64_t value;          ///< TSR_FIELD_VALUE
  const int64_t *sizes;   ///< null: not a tensor
  const int64_t *strides; ///< in elements; null: row-major
  int32_t rank;           ///< TSR_ABSENT: the call leaves it out

  static Argument of(const tsr_tensor &tensor);
};

/// Of a row-major tensor without strides too.
int64_t strideOf(const Argument &argument, int64_t axis);
/// What the guard compares: the bits `mask` of its field.
int64_t factOf(const tsr_guard &guard, const Argument &argument);
/// Of a field that looks at axes. A tensor that has no such axis passes: the
/// plan judges it.
bool holdsOfAxes(const tsr_guard &guard, const Argument &argument);

/// A tensor that is left out passes, too. Inline: a call asks several.
inline bool holds(const tsr_guard &guard, const Argument &argument) {
  if (argument.rank == TSR_ABSENT)
    return true;
  if (guard.field == TSR_FIELD_TYPE)
    return (argument.type & guard.mask) == guard.value;
  if (guard.field == TSR_FIELD_VALUE)
    return (argument.value & guard.mask) == guard.value;
  return holdsOfAxes(guard, argument);
}

/// The versions of a function, newest first. Not for several threads at a time.
class Dispatch {
public:
  /// `version`, not null, is before those that were added earlier.
  void add(std::vector<tsr_guard> guards, void *version);
  void remove(void *version);
  void clear();
  size_t size() const { return versions.size(); }

  /// The newest version whose guards hold, or null. The one that was found last
  /// is asked first, then those whose shared facts have these values.
  void *find(const Argument *arguments, size_t count);

private:
  struct Version {
    std::vector<tsr_guard> guards;
    void *version;
  };
  bool fits(const Version &version, const Argument *arguments,
            size_t count) const;
  void index();
  uint64_t hashOf(const Argument *arguments, size_t count) const;

  std::vector<Version> versions;
  size_t last = 0; ///< found by the last call
  /// Guards that every version has, with values of its own. Few versions, or
  /// none in common: no hash.
  std::vector<tsr_guard> shared;
  std::unordered_map<uint64_t, std::vector<size_t>> buckets;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DISPATCH_H
