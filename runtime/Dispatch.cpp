// Which version of a function a call takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Dispatch.h"

#include <algorithm>

using namespace tessera::runtime;

/// From so many versions on a hash is quicker than asking each.
static constexpr size_t worthHashing = 4;

Argument Argument::of(const tsr_tensor &tensor) {
  return {tensor.dtype, 0, tensor.sizes, tensor.strides, tensor.rank};
}

int64_t tessera::runtime::strideOf(const Argument &argument, int64_t axis) {
  if (argument.strides)
    return argument.strides[axis];
  int64_t stride = 1;
  for (int64_t i = argument.rank - 1; i > axis; --i)
    stride *= argument.sizes[i] ? argument.sizes[i] : 1;
  return stride;
}

/// A bit for each axis of `mask` for which `is` says so.
template <typename Is>
static int64_t bitsOfAxes(const Argument &argument, int64_t mask, Is is) {
  int64_t bits = 0;
  for (int32_t axis = 0; axis < argument.rank; ++axis)
    if (int64_t bit = int64_t(1) << axis; (mask & bit) && is(axis))
      bits |= bit;
  return bits;
}

int64_t tessera::runtime::factOf(const tsr_guard &guard,
                                 const Argument &argument) {
  switch (guard.field) {
  case TSR_FIELD_TYPE:
    return argument.type & guard.mask;
  case TSR_FIELD_VALUE:
    return argument.value & guard.mask;
  case TSR_FIELD_SIZE:
    return guard.axis < argument.rank ? argument.sizes[guard.axis] & guard.mask
                                      : 0;
  case TSR_FIELD_UNIT_SIZES:
    return bitsOfAxes(argument, guard.mask,
                      [&](int32_t axis) { return argument.sizes[axis] == 1; });
  case TSR_FIELD_UNIT_STRIDES:
    return bitsOfAxes(argument, guard.mask, [&](int32_t axis) {
      // With one element or none along it, a stride is never used.
      return argument.sizes[axis] <= 1 || strideOf(argument, axis) == 1;
    });
  }
  return 0;
}

bool tessera::runtime::holdsOfAxes(const tsr_guard &guard,
                                   const Argument &argument) {
  return !argument.sizes || guard.axis >= argument.rank ||
         factOf(guard, argument) == guard.value;
}

bool Dispatch::fits(const Version &version, const Argument *arguments,
                    size_t count) const {
  for (const tsr_guard &guard : version.guards)
    if (size_t(guard.argument) >= count ||
        !holds(guard, arguments[guard.argument]))
      return false;
  return true;
}

static bool askTheSame(const tsr_guard &a, const tsr_guard &b) {
  return a.argument == b.argument && a.field == b.field && a.axis == b.axis &&
         a.mask == b.mask;
}

static uint64_t mix(uint64_t hash, int64_t value) {
  hash ^= uint64_t(value) + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

uint64_t Dispatch::hashOf(const Argument *arguments, size_t count) const {
  uint64_t hash = 0;
  for (const tsr_guard &guard : shared)
    hash = mix(hash, size_t(guard.argument) < count
                         ? factOf(guard, arguments[guard.argument])
                         : 0);
  return hash;
}

void Dispatch::index() {
  last = 0;
  shared.clear();
  buckets.clear();
  if (versions.size() < worthHashing)
    return;
  // A field of axes passes where there is no such axis, so it has no value.
  for (const tsr_guard &guard : versions.front().guards)
    if ((guard.field == TSR_FIELD_TYPE || guard.field == TSR_FIELD_VALUE) &&
        std::all_of(
            versions.begin(), versions.end(), [&](const Version &version) {
              return std::any_of(version.guards.begin(), version.guards.end(),
                                 [&](const tsr_guard &other) {
                                   return askTheSame(guard, other);
                                 });
            }))
      shared.push_back(guard);
  for (size_t i = 0; i < versions.size(); ++i) {
    uint64_t hash = 0;
    for (const tsr_guard &guard : shared)
      hash = mix(hash, std::find_if(versions[i].guards.begin(),
                                    versions[i].guards.end(),
                                    [&](const tsr_guard &other) {
                                      return askTheSame(guard, other);
                                    })
                           ->value);
    buckets[hash].push_back(i);
  }
}

void Dispatch::add(std::vector<tsr_guard> guards, void *version) {
  versions.insert(versions.begin(), {std::move(guards), version});
  index();
}

void Dispatch::remove(void *version) {
  versions.erase(std::remove_if(versions.begin(), versions.end(),
                                [&](const Version &one) {
                                  return one.version == version;
                                }),
                 versions.end());
  index();
}

void Dispatch::clear() {
  versions.clear();
  index();
}

void *Dispatch::find(const Argument *arguments, size_t count) {
  if (versions.empty())
    return nullptr;
  if (fits(versions[last], arguments, count))
    return versions[last].version;
  auto take = [&](size_t i) {
    if (!fits(versions[i], arguments, count))
      return false;
    last = i;
    return true;
  };
  if (shared.empty()) {
    for (size_t i = 0; i < versions.size(); ++i)
      if (take(i))
        return versions[i].version;
    return nullptr;
  }
  auto bucket = buckets.find(hashOf(arguments, count));
  if (bucket != buckets.end())
    for (size_t i : bucket->second)
      if (take(i))
        return versions[i].version;
  return nullptr;
}
