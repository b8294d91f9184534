// Container and entry headers, decompression, choice of the PTX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/driver/FatBinary.h"

#include <cstring>
#include <stdexcept>

#ifdef TESSERA_SIM_HAVE_ZSTD
#include <zstd.h>
#endif

namespace tessera::sim {

namespace {

template <class T> T read(const uint8_t *p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

/// Decodes one LZ4 block; every length is checked against both ends.
std::string lz4(const uint8_t *in, size_t size, size_t rawSize) {
  std::string out;
  out.reserve(rawSize);
  size_t at = 0;
  auto fail = [] { throw std::runtime_error("damaged LZ4 data"); };
  auto length = [&](size_t n) {
    if (n != 15)
      return n;
    while (true) {
      if (at >= size)
        fail();
      uint8_t b = in[at++];
      n += b;
      if (b != 255)
        return n;
    }
  };
  while (at < size) {
    uint8_t token = in[at++];
    size_t literals = length(token >> 4);
    if (literals > size - at || literals > rawSize - out.size())
      fail();
    out.append(reinterpret_cast<const char *>(in + at), literals);
    at += literals;
    if (at == size)
      break;
    if (size - at < 2)
      fail();
    size_t offset = in[at] | size_t(in[at + 1]) << 8;
    at += 2;
    size_t match = length(token & 15) + 4;
    if (!offset || offset > out.size() || match > rawSize - out.size())
      fail();
    for (size_t k = 0; k < match; ++k)
      out.push_back(out[out.size() - offset]);
  }
  if (out.size() != rawSize)
    fail();
  return out;
}

std::string zstd(const uint8_t *in, size_t size, size_t rawSize) {
#ifdef TESSERA_SIM_HAVE_ZSTD
  std::string out(rawSize, '\0');
  size_t n = ZSTD_decompress(out.data(), rawSize, in, size);
  if (ZSTD_isError(n) || n != rawSize)
    throw std::runtime_error("damaged Zstandard data");
  return out;
#else
  throw std::runtime_error(
      "the fat binary is compressed with Zstandard, but the simulator was "
      "built without libzstd; compile with nvcc --compress-mode=speed");
#endif
}

constexpr uint32_t containerMagic = 0xBA55ED50;

} // namespace

uint64_t fatContainerBytes(const void *data, uint64_t available) {
  const auto *p = static_cast<const uint8_t *>(data);
  if (available < 16 || read<uint32_t>(p) != containerMagic)
    return 0;
  uint64_t bytes = read<uint64_t>(p + 8);
  uint64_t header = read<uint16_t>(p + 6);
  if (header < 16 || header > available || bytes > available - header)
    return 0;
  return header + bytes;
}

std::vector<FatEntry> readFatContainer(const void *data, uint64_t available) {
  const auto *p = static_cast<const uint8_t *>(data);
  uint64_t total = fatContainerBytes(data, available);
  if (!total)
    throw std::runtime_error("not a fat binary");
  std::vector<FatEntry> entries;
  uint64_t at = read<uint16_t>(p + 6);
  while (at < total) {
    if (total - at < 64)
      throw std::runtime_error("fat binary entry is cut off");
    const uint8_t *q = p + at;
    uint16_t kind = read<uint16_t>(q);
    uint64_t header = read<uint32_t>(q + 4), stored = read<uint64_t>(q + 8);
    if (header < 64 || header > total - at || stored > total - at - header)
      throw std::runtime_error("fat binary entry is larger than its file");
    uint32_t compressed = read<uint32_t>(q + 16);
    uint64_t flags = read<uint64_t>(q + 40), raw = read<uint64_t>(q + 56);
    FatEntry e;
    e.isPtx = kind == 1;
    e.arch = read<uint32_t>(q + 28);
    e.suffix = flags & 0x100000 ? 'a' : flags & 0x200000 ? 'f' : 0;
    if (e.isPtx) {
      const uint8_t *body = q + header;
      if (flags & 0xA000) {
        if (compressed > stored || raw > (1ull << 30))
          throw std::runtime_error("fat binary entry has a wrong size");
        e.text = flags & 0x8000 ? zstd(body, compressed, raw)
                                : lz4(body, compressed, raw);
      } else {
        e.text.assign(reinterpret_cast<const char *>(body),
                      strnlen(reinterpret_cast<const char *>(body), stored));
      }
      while (!e.text.empty() && e.text.back() == '\0')
        e.text.pop_back();
    }
    entries.push_back(std::move(e));
    at += header + stored;
  }
  return entries;
}

const FatEntry &choosePtx(const std::vector<FatEntry> &entries, unsigned arch) {
  const FatEntry *best = nullptr;
  std::string present;
  for (const FatEntry &e : entries) {
    present += std::string(present.empty() ? "" : ", ") +
               (e.isPtx ? "compute_" : "sm_") + std::to_string(e.arch) +
               (e.suffix ? std::string(1, e.suffix) : "");
    if (!e.isPtx || e.arch > arch)
      continue;
    if (e.suffix == 'a' && e.arch != arch)
      continue;
    if (e.suffix == 'f' && e.arch / 10 != arch / 10)
      continue;
    if (!best || e.arch > best->arch ||
        (e.arch == best->arch && e.suffix && !best->suffix))
      best = &e;
  }
  if (!best)
    throw std::runtime_error("the binary holds no PTX for sm_" +
                             std::to_string(arch) + " (it holds: " + present +
                             "); the simulator executes PTX, so compile "
                             "with e.g. nvcc -gencode arch=compute_" +
                             std::to_string(arch) + ",code=compute_" +
                             std::to_string(arch));
  return *best;
}

} // namespace tessera::sim
