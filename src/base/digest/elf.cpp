#include "base/digest/elf.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <utility>

namespace stitch {

namespace {

template <class T>
std::optional<T> read_at(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T out;
  std::memcpy(&out, bytes.data() + offset, sizeof(T));
  return out;
}

}  // namespace

Result<ElfFile> ElfFile::open(const fs::path& path) {
  STITCH_TRY(MappedFile file, MappedFile::open(path));
  ElfFile out(std::move(file));
  const auto mapped = out.file_.bytes();
  const std::string_view bytes(reinterpret_cast<const char*>(mapped.data()), mapped.size());
  const Error wrong = at(path.string(), work_error("elf", "this is no 64-bit ELF file"));
  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64)
    return wrong;
  auto section_at = [&](uint64_t index) {
    return read_at<Elf64_Shdr>(bytes, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  // More than 65,279 sections are counted in the first one.
  uint64_t count = header->e_shnum;
  if (const auto first = section_at(0); count == 0 && header->e_shoff != 0 && first) count = first->sh_size;
  for (uint64_t i = 0; i < count; ++i) {
    const auto section = section_at(i);
    if (!section) return wrong;
    std::string_view content;
    if (section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL) {
      if (section->sh_offset > bytes.size() || section->sh_size > bytes.size() - section->sh_offset)
        return wrong;
      content = bytes.substr(section->sh_offset, section->sh_size);
    }
    out.sections_.push_back({section->sh_type, section->sh_flags, section->sh_link, content});
  }
  return out;
}

}  // namespace stitch
