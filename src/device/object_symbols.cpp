#include "device/object_symbols.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <span>

namespace stitch::device {

namespace {

template <class T>
std::optional<T> read_at(std::span<const std::byte> bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T out;
  std::memcpy(&out, bytes.data() + offset, sizeof(T));
  return out;
}

std::string name_at(std::span<const std::byte> bytes, uint64_t offset) {
  std::string out;
  for (; offset < bytes.size() && bytes[offset] != std::byte{0}; ++offset)
    out += static_cast<char>(bytes[offset]);
  return out;
}

void add_table(std::span<const std::byte> bytes, const Elf64_Shdr& table, const Elf64_Shdr& names,
               ObjectSymbols& out) {
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
    const auto symbol = read_at<Elf64_Sym>(bytes, table.sh_offset + at);
    if (!symbol) return;
    if (symbol->st_name == 0 || ELF64_ST_BIND(symbol->st_info) == STB_LOCAL) continue;
    std::string name = name_at(bytes, names.sh_offset + symbol->st_name);
    (symbol->st_shndx == SHN_UNDEF ? out.wanted : out.offered).insert(std::move(name));
  }
}

}  // namespace

ObjectSymbols symbols_of(const fs::path& object) {
  ObjectSymbols out;
  auto file = MappedFile::open(object);
  if (!file) return out;
  const std::span<const std::byte> bytes = file->bytes();
  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64)
    return out;
  auto section = [&](uint64_t index) {
    return read_at<Elf64_Shdr>(bytes, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  // Above 65,279 sections the count is in the first one.
  uint64_t count = header->e_shnum;
  if (const auto first = section(0); count == 0 && first) count = first->sh_size;
  for (uint64_t i = 0; i < count; ++i) {
    const auto table = section(i);
    if (!table) break;
    if (table->sh_type != SHT_SYMTAB) continue;
    if (const auto names = section(table->sh_link)) add_table(bytes, *table, *names, out);
  }
  return out;
}

}  // namespace stitch::device
