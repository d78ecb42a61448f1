// The sections of a 64-bit ELF file: objects and libraries that were built here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace stitch {

struct ElfSection {
  uint32_t type = 0;       // SHT_… of <elf.h>
  uint64_t flags = 0;      // SHF_…
  uint32_t link = 0;       // index of a section that belongs to it: a symbol table's names
  std::string_view bytes;  // empty where the file has none (SHT_NOBITS)
};

class ElfFile {
 public:
  // An Error: it is no 64-bit ELF file, or a section lies outside it.
  static Result<ElfFile> open(const fs::path& path);
  const std::vector<ElfSection>& sections() const { return sections_; }

 private:
  explicit ElfFile(MappedFile file) : file_(std::move(file)) {}
  MappedFile file_;
  std::vector<ElfSection> sections_;
};

}  // namespace stitch
