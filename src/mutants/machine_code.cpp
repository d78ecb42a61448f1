#include "mutants/machine_code.h"

#include <elf.h>

#include "base/digest/elf.h"
#include "base/digest/sha256.h"

namespace stitch::mutants {

namespace {

// Replaces the folder, so that /folders/0007/program.cu equals /folders/0012/program.cu.
std::string without_folder(std::string_view bytes, const std::string& folders) {
  std::string out(bytes);
  if (folders.empty()) return out;
  for (size_t found = 0; (found = out.find(folders, found)) != out.npos;) {
    found += folders.size();
    for (; found < out.size() && out[found] != '/' && out[found] != '\0'; ++found) out[found] = '0';
  }
  return out;
}

}  // namespace

Result<std::string> machine_code_hash(const fs::path& library, const fs::path& folders) {
  const std::string prefix = folders.empty() ? "" : folders.string() + "/";
  STITCH_TRY(const ElfFile file, ElfFile::open(library));
  Sha256 sum;
  for (const ElfSection& section : file.sections())
    // Notes hold the build ID, which depends on debug information.
    if ((section.flags & SHF_ALLOC) && section.type != SHT_NOTE && section.type != SHT_NOBITS)
      sum.add_field(without_folder(section.bytes, prefix));
  return sum.hex();
}

}  // namespace stitch::mutants
