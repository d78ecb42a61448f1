#include "base/digest/elf.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace stitch {
namespace {

TEST(Elf, SectionsOfThisProgram) {
  auto file = ElfFile::open("/proc/self/exe");
  ASSERT_TRUE(file) << file.error().text();
  auto has_code = [](const ElfSection& section) {
    return (section.flags & SHF_EXECINSTR) != 0 && !section.bytes.empty();
  };
  EXPECT_TRUE(std::ranges::any_of(file->sections(), has_code));
}

TEST(Elf, WhatIsNoneOrCutOffIsAnError) {
  auto scratch = ScratchFolder::create("stitch_elf");
  ASSERT_TRUE(scratch);
  const fs::path path = scratch->path() / "file";
  const std::string whole = *read_file("/proc/self/exe");
  for (const std::string& wrong : {std::string(), std::string("text"), whole.substr(0, 1000)}) {
    ASSERT_TRUE(write_file(path, wrong));
    EXPECT_FALSE(ElfFile::open(path));
  }
}

}  // namespace
}  // namespace stitch
