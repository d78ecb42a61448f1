#include "mutants/machine_code.h"

#include <elf.h>

#include <cstring>

#include "base/sha256.h"

namespace stitch::mutants {

namespace {

template <class T>
std::optional<T> read_at(std::span<const std::byte> bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T out;
  std::memcpy(&out, bytes.data() + offset, sizeof(T));
  return out;
}

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

Error not_elf(const fs::path& library) {
  return at(library.string(), work_error("elf", "this is no 64-bit ELF library"));
}

}  // namespace

Result<std::string> machine_code_hash(const fs::path& library, const fs::path& folders) {
  const std::string prefix = folders.empty() ? "" : folders.string() + "/";
  STITCH_TRY(MappedFile file, MappedFile::open(library));
  const std::span<const std::byte> bytes = file.bytes();
  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64)
    return not_elf(library);
  Sha256 sum;
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = read_at<Elf64_Shdr>(bytes, header->e_shoff + i * header->e_shentsize);
    if (!section || section->sh_size > bytes.size()) return not_elf(library);
    // Notes hold the build ID, which depends on debug information.
    if (!(section->sh_flags & SHF_ALLOC) || section->sh_type == SHT_NOTE || section->sh_type == SHT_NOBITS)
      continue;
    if (section->sh_offset > bytes.size() - section->sh_size) return not_elf(library);
    const auto* data = reinterpret_cast<const char*>(bytes.data() + section->sh_offset);
    sum.add_field(without_folder({data, section->sh_size}, prefix));
  }
  return sum.hex();
}

}  // namespace stitch::mutants
