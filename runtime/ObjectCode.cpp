// An object file of ours in memory, ready to run: what a cached kernel needs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/ObjectCode.h"

#include <climits>
#include <cstring>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace tessera::runtime {

namespace {

/// The file, every read of it checked.
class Reader {
public:
  explicit Reader(std::string_view bytes) : bytes(bytes) {}

  template <typename T> bool read(uint64_t offset, T &value) const {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
      return false;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return true;
  }
  bool slice(uint64_t offset, uint64_t length, std::string_view &part) const {
    if (offset > bytes.size() || bytes.size() - offset < length)
      return false;
    part = bytes.substr(offset, length);
    return true;
  }

private:
  std::string_view bytes;
};

/// `jmp *[rip]` and the address: a function may be further away than a call
/// reaches.
struct Stub {
  static constexpr size_t size = 16;
  static void write(uint8_t *place, void *target) {
    static constexpr uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};
    std::memcpy(place, jump, sizeof(jump));
    std::memcpy(place + sizeof(jump), &target, sizeof(target));
  }
};

/// Where things go: code, stubs, then (on pages of their own) constants.
struct Placing {
  std::vector<Elf64_Shdr> sections;
  std::vector<uint64_t> offsets; // in memory; none: not loaded
  std::vector<Elf64_Sym> symbols;
  std::vector<uint64_t> stubs; // per symbol; none: it has none
  std::string_view names;
  uint64_t codeSize = 0, size = 0;
  static constexpr uint64_t none = UINT64_MAX;
};

constexpr uint64_t maxSize = 1 << 30;

} // namespace

static uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

static std::string readTables(const Reader &file, Placing &placing) {
  Elf64_Ehdr header;
  if (!file.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL ||
      header.e_machine != EM_X86_64 || header.e_shentsize != sizeof(Elf64_Shdr))
    return "not an object file for x86-64";
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (header.e_shoff > maxSize ||
        !file.read(header.e_shoff + i * sizeof(section), section))
      return "the section table is cut off";
    placing.sections.push_back(section);
  }
  for (const Elf64_Shdr &section : placing.sections) {
    if (section.sh_type != SHT_SYMTAB)
      continue;
    if (!placing.symbols.empty())
      return "two symbol tables";
    std::string_view table;
    if (!file.slice(section.sh_offset, section.sh_size, table) ||
        section.sh_link >= placing.sections.size())
      return "the symbol table is cut off";
    const Elf64_Shdr &strings = placing.sections[section.sh_link];
    if (!file.slice(strings.sh_offset, strings.sh_size, placing.names) ||
        placing.names.empty() || placing.names.back() != '\0')
      return "the string table is cut off";
    placing.symbols.resize(table.size() / sizeof(Elf64_Sym));
    std::memcpy(placing.symbols.data(), table.data(),
                placing.symbols.size() * sizeof(Elf64_Sym));
    for (const Elf64_Sym &symbol : placing.symbols)
      if (symbol.st_name >= placing.names.size())
        return "a symbol has no name";
  }
  return {};
}

/// Puts the sections of one kind behind each other.
static std::string place(const Reader &file, Placing &placing, bool code) {
  for (size_t i = 0; i < placing.sections.size(); ++i) {
    const Elf64_Shdr &section = placing.sections[i];
    if (!(section.sh_flags & SHF_ALLOC) || section.sh_size == 0 ||
        bool(section.sh_flags & SHF_EXECINSTR) != code)
      continue;
    if (section.sh_flags & (SHF_WRITE | SHF_TLS) ||
        section.sh_type != SHT_PROGBITS)
      return "a section that is not code or constants";
    uint64_t alignment = section.sh_addralign ? section.sh_addralign : 1;
    std::string_view content;
    if (alignment > 4096 || alignment & (alignment - 1) ||
        !file.slice(section.sh_offset, section.sh_size, content))
      return "a section is cut off";
    placing.size = alignTo(placing.size, alignment);
    placing.offsets[i] = placing.size;
    placing.size += section.sh_size;
    if (placing.size > maxSize)
      return "too large";
  }
  return {};
}

static std::string layOut(const Reader &file, Placing &placing) {
  placing.offsets.assign(placing.sections.size(), Placing::none);
  placing.stubs.assign(placing.symbols.size(), Placing::none);
  if (std::string problem = place(file, placing, /*code=*/true);
      !problem.empty())
    return problem;
  placing.size = alignTo(placing.size, Stub::size);
  for (size_t i = 1; i < placing.symbols.size(); ++i)
    if (placing.symbols[i].st_shndx == SHN_UNDEF) {
      placing.stubs[i] = placing.size;
      placing.size += Stub::size;
    }
  uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  placing.codeSize = placing.size = alignTo(placing.size, page);
  return place(file, placing, /*code=*/false);
}

/// Where a symbol is, from the start of memory.
static bool offsetOf(const Placing &placing, size_t index, uint64_t &offset) {
  if (index == 0 || index >= placing.symbols.size())
    return false;
  const Elf64_Sym &symbol = placing.symbols[index];
  if (placing.stubs[index] != Placing::none) {
    offset = placing.stubs[index];
    return true;
  }
  if (symbol.st_shndx >= placing.sections.size() ||
      placing.offsets[symbol.st_shndx] == Placing::none ||
      symbol.st_value > placing.sections[symbol.st_shndx].sh_size)
    return false;
  offset = placing.offsets[symbol.st_shndx] + symbol.st_value;
  return true;
}

static std::string relocate(const Reader &file, const Placing &placing,
                            const Elf64_Shdr &table, uint8_t *base) {
  if (table.sh_info >= placing.sections.size() ||
      placing.offsets[table.sh_info] == Placing::none)
    return {}; // of a section that is not loaded
  const Elf64_Shdr &section = placing.sections[table.sh_info];
  for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Rela); ++i) {
    Elf64_Rela entry;
    if (table.sh_offset > maxSize ||
        !file.read(table.sh_offset + i * sizeof(entry), entry))
      return "the relocations are cut off";
    uint32_t kind = uint32_t(ELF64_R_TYPE(entry.r_info));
    uint64_t target;
    if (!offsetOf(placing, ELF64_R_SYM(entry.r_info), target))
      return "a relocation to nowhere";
    if (kind != R_X86_64_PC32 && kind != R_X86_64_PLT32)
      return "a relocation of kind " + std::to_string(kind);
    if (section.sh_size < 4 || entry.r_offset > section.sh_size - 4)
      return "a relocation outside its section";
    uint64_t where = placing.offsets[table.sh_info] + entry.r_offset;
    if (entry.r_addend < INT_MIN || entry.r_addend > INT_MAX)
      return "a relocation that reaches too far";
    int64_t distance = int64_t(target) + entry.r_addend - int64_t(where);
    int32_t value = int32_t(distance); // both lie within maxSize
    if (value != distance)
      return "a relocation that reaches too far";
    std::memcpy(base + where, &value, sizeof(value));
  }
  return {};
}

std::string ObjectCode::load(std::string_view object, Resolver resolve) {
#if !defined(__x86_64__)
  return "object code is loaded on x86-64 only";
#endif
  Reader file(object);
  Placing placing;
  std::string problem = readTables(file, placing);
  if (problem.empty())
    problem = layOut(file, placing);
  if (!problem.empty())
    return problem;
  if (placing.size == 0)
    return "nothing to load";
  void *memory = mmap(nullptr, placing.size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return "no memory for code";
  base = static_cast<uint8_t *>(memory);
  size = placing.size;
  for (size_t i = 0; i < placing.sections.size(); ++i) {
    std::string_view content;
    const Elf64_Shdr &section = placing.sections[i];
    if (placing.offsets[i] != Placing::none &&
        file.slice(section.sh_offset, section.sh_size, content))
      std::memcpy(base + placing.offsets[i], content.data(), content.size());
  }
  for (size_t i = 1; i < placing.symbols.size(); ++i) {
    const char *name = placing.names.data() + placing.symbols[i].st_name;
    if (placing.stubs[i] != Placing::none) {
      void *target = resolve(name);
      if (!target)
        return std::string("no function is called ") + name;
      Stub::write(base + placing.stubs[i], target);
    } else if (ELF64_ST_BIND(placing.symbols[i].st_info) == STB_GLOBAL) {
      uint64_t offset;
      if (!offsetOf(placing, i, offset))
        return std::string("no place for the symbol ") + name;
      symbols.emplace(name, base + offset);
    }
  }
  for (const Elf64_Shdr &section : placing.sections) {
    if (section.sh_type == SHT_REL)
      return "relocations without addends";
    if (section.sh_type != SHT_RELA)
      continue;
    problem = relocate(file, placing, section, base);
    if (!problem.empty())
      return problem;
  }
  // Never writable and executable at once.
  size_t constants = size - placing.codeSize;
  if (mprotect(base, placing.codeSize, PROT_READ | PROT_EXEC) ||
      (constants && mprotect(base + placing.codeSize, constants, PROT_READ)))
    return "the system does not allow new code";
  return {};
}

ObjectCode::~ObjectCode() {
  if (base)
    munmap(base, size);
}

void *ObjectCode::find(std::string_view name) const {
  auto found = symbols.find(name);
  return found == symbols.end() ? nullptr : found->second;
}

} // namespace tessera::runtime
