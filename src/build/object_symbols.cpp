#include "build/object_symbols.h"

#include <elf.h>

#include <cstring>

#include "base/digest/elf.h"

namespace stitch::build {

ObjectSymbols symbols_of(const fs::path& object) {
  ObjectSymbols out;
  const auto file = ElfFile::open(object);
  if (!file) return out;
  for (const ElfSection& table : file->sections()) {
    if (table.type != SHT_SYMTAB || table.link >= file->sections().size()) continue;
    const std::string_view names = file->sections()[table.link].bytes;
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= table.bytes.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, table.bytes.data() + at, sizeof symbol);
      if (symbol.st_name == 0 || symbol.st_name >= names.size() || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL)
        continue;
      const std::string_view name = names.substr(symbol.st_name);
      (symbol.st_shndx == SHN_UNDEF ? out.wanted : out.offered).emplace(name.substr(0, name.find('\0')));
    }
  }
  return out;
}

}  // namespace stitch::build
