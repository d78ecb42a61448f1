#include "program/program_text.h"

#include <gtest/gtest.h>

#include "base/testdata/must.h"

namespace stitch {
namespace {

TEST(ProgramText, GoesThereAndBack) {
  const SourceFiles files = {
      {"manifest.cu", "int a;\n"}, {"program.cu", "int b;\n"}, {"regions/fc-1.cu", "int c;\n"}};
  const std::string text = program_text(files);
  EXPECT_TRUE(is_several_files(text));
  EXPECT_FALSE(is_several_files("#include <a>\n// file: program.cu\n"));
  EXPECT_EQ(must(files_of_text(text)), files);
  // A last line without an end gets one: two files never share a line.
  EXPECT_EQ(must(files_of_text(program_text({{"a.cu", "int a;"}, {"b.cu", "int b;"}}))).at("a.cu"),
            "int a;\n");
}

TEST(ProgramText, OnlyPathsOfPrograms) {
  for (const char* path : {"../a.cu", "/etc/a.cu", "include/stitch/program.h", "regions/../a.cu",
                           "regions/x/a.cu", "a.py", ".cu", "plan.json", "", "CMakeLists.txt"})
    EXPECT_FALSE(files_of_text(std::string("// file: ") + path + "\nint a;\n")) << path;
  EXPECT_FALSE(files_of_text("// file: a.cu\n1\n// file: a.cu\n2\n"));
  EXPECT_FALSE(files_of_text("int a;\n// file: a.cu\n"));
}

TEST(ProgramText, ChangesTurnOneProgramIntoAnother) {
  const SourceFiles before = {{"program.cu", "1\n"}, {"regions/a.cu", "2\n"}, {"regions/b.cu", "3\n"}};
  const SourceFiles after = {{"program.cu", "1\n"}, {"regions/a.cu", "4\n"}, {"regions/c.cu", "5\n"}};
  const SourceFiles changes = changes_between(before, after);
  EXPECT_EQ(changes.size(), 3U);
  EXPECT_EQ(with_changes(before, must(files_of_text(program_text(changes)))), after);
}

}  // namespace
}  // namespace stitch
