// vprintf, __assertfail, malloc and free.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Builtins.h"

#include "sim/exec/Access.h"
#include <cstdio>

namespace tessera::sim {

CallSite::Builtin findBuiltin(std::string_view name) {
  if (name == "vprintf")
    return CallSite::Vprintf;
  if (name == "__assertfail" || name == "__assert_fail")
    return CallSite::AssertFail;
  if (name == "malloc")
    return CallSite::Malloc;
  if (name == "free")
    return CallSite::Free;
  return CallSite::None;
}

namespace {

/// A byte of generic memory, for strings and argument lists.
uint8_t *generic(Warp &w, unsigned lane, uint64_t address, unsigned bytes) {
  switch (address & windowMask) {
  case sharedWindow:
    return sharedPointer(w, address & ~windowMask, bytes, lane);
  case localWindow:
    return w.localAt(lane, uint32_t(address & ~windowMask), bytes);
  default:
    return globalPointer(w, address, bytes, false, lane);
  }
}

std::string readString(Warp &w, unsigned lane, uint64_t address) {
  std::string text;
  while (text.size() < 65536) {
    char c = char(*generic(w, lane, address++, 1));
    if (!c)
      break;
    text += c;
  }
  return text;
}

/// Formats one thread's printf; arguments are packed at natural alignment.
std::string format(Warp &w, unsigned lane, const std::string &fmt,
                   uint64_t args) {
  std::string out;
  uint64_t at = 0;
  auto take = [&](unsigned bytes) {
    at = (at + bytes - 1) / bytes * bytes;
    uint64_t v = 0;
    std::memcpy(&v, generic(w, lane, args + at, bytes), bytes);
    at += bytes;
    return v;
  };
  for (size_t k = 0; k < fmt.size(); ++k) {
    if (fmt[k] != '%') {
      out += fmt[k];
      continue;
    }
    size_t begin = k++;
    std::string spec = "%";
    while (k < fmt.size() &&
           std::string_view("-+ #0123456789.*").find(fmt[k]) !=
               std::string_view::npos) {
      if (fmt[k] == '*')
        spec += std::to_string(int32_t(take(4)));
      else
        spec += fmt[k];
      ++k;
    }
    unsigned longs = 0;
    while (k < fmt.size() &&
           std::string_view("hljztL").find(fmt[k]) != std::string_view::npos) {
      longs += fmt[k] == 'l' || fmt[k] == 'j' || fmt[k] == 'z' || fmt[k] == 't';
      ++k;
    }
    if (k >= fmt.size()) {
      out += fmt.substr(begin);
      break;
    }
    char buffer[512];
    char conversion = fmt[k];
    switch (conversion) {
    case '%':
      out += '%';
      continue;
    case 'd':
    case 'i': {
      long long v = longs ? (long long)take(8) : (long long)(int32_t)take(4);
      std::snprintf(buffer, sizeof buffer, (spec + "lld").c_str(), v);
      break;
    }
    case 'u':
    case 'x':
    case 'X':
    case 'o': {
      unsigned long long v = longs ? take(8) : take(4);
      std::snprintf(buffer, sizeof buffer, (spec + "ll" + conversion).c_str(),
                    v);
      break;
    }
    case 'c':
      std::snprintf(buffer, sizeof buffer, (spec + "c").c_str(), int(take(4)));
      break;
    case 'p':
      std::snprintf(buffer, sizeof buffer, "0x%llx",
                    (unsigned long long)take(8));
      break;
    case 's': {
      uint64_t p = take(8);
      out += p ? readString(w, lane, p) : "(null)";
      continue;
    }
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      std::snprintf(buffer, sizeof buffer, (spec + conversion).c_str(),
                    std::bit_cast<double>(take(8)));
      break;
    default:
      out += fmt.substr(begin, k - begin + 1);
      continue;
    }
    out += buffer;
  }
  return out;
}

} // namespace

void callBuiltin(Warp &w, const Inst &inst, const CallSite &site,
                 uint32_t mask) {
  Launch &launch = *w.block->launch;
  auto argument = [&](unsigned lane, unsigned k) {
    uint64_t v = 0;
    std::memcpy(&v,
                w.localAt(lane, w.frame->localBase + site.argumentOffsets[k],
                          site.argumentBytes[k]),
                std::min(8u, site.argumentBytes[k]));
    return v;
  };
  auto result = [&](unsigned lane, uint64_t v) {
    if (!site.resultOffsets.empty())
      std::memcpy(w.localAt(lane, w.frame->localBase + site.resultOffsets[0],
                            site.resultBytes[0]),
                  &v, std::min(8u, site.resultBytes[0]));
  };
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    switch (site.builtin) {
    case CallSite::Vprintf: {
      std::string fmt = readString(w, l, argument(l, 0));
      std::string text = format(w, l, fmt, argument(l, 1));
      std::lock_guard lock(launch.mutex);
      if (launch.print)
        launch.print(text);
      else
        std::fputs(text.c_str(), stdout);
      result(l, text.size());
      break;
    }
    case CallSite::AssertFail: {
      std::string message = readString(w, l, argument(l, 0));
      std::string file = readString(w, l, argument(l, 1));
      std::string function = readString(w, l, argument(l, 3));
      throw Fault{Fault::Assert, file + ":" +
                                     std::to_string(uint32_t(argument(l, 2))) +
                                     ": " + function + ": " + threadName(w, l) +
                                     " assertion `" + message + "` failed"};
    }
    case CallSite::Malloc:
      result(l, launch.memory->allocate(argument(l, 0), Allocation::Device,
                                        "malloc in a kernel"));
      break;
    case CallSite::Free: {
      uint64_t p = argument(l, 0);
      if (p && !launch.memory->release(p))
        throw Fault{Fault::IllegalAddress,
                    "free of an address that malloc did not return"};
      break;
    }
    default:
      break;
    }
  }
}

} // namespace tessera::sim
