// A package's model_new.py as somebody would use it, over its program compiled for the emulated GPU. Needs
// PyTorch.
#include <gtest/gtest.h>

#include <sstream>

#include "base/file.h"
#include "base/process.h"
#include "cli/run_cli.h"
#include "device/build.h"
#include "import/python.h"
#include "program/package.h"

namespace stitch {
namespace {

const fs::path testdata = STITCH_SOURCE_DIR "/src/cli/testdata/model_new";

struct Said {
  int code;
  std::string text;
};

Said say(const std::vector<std::string>& words) {
  std::vector<const char*> arguments = {"stitchcuda"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  std::ostringstream out, err;
  int code = run_cli(static_cast<int>(arguments.size()), arguments.data(), out, err);
  return {code, out.str() + err.str()};
}

// Where model_new.py looks for its library before it compiles one.
Result<void> build_emulated(const fs::path& program) {
  STITCH_TRY(Package package, load_package(program));
  STITCH_TRY(device::Built built, device::build({.sources = package.sources,
                                                 .include_dirs = package.include_dirs,
                                                 .libraries = package.libraries}));
  std::error_code failed;
  fs::create_directories(program / "build", failed);
  fs::copy_file(built.library, program / "build/libprogram.so", failed);
  if (failed) return work_error("write", failed.message());
  return {};
}

class ModelNew : public testing::TestWithParam<const char*> {};

// testdata/model_new/use.py calls it by keywords, and compares with the model.
TEST_P(ModelNew, IsTheModel) {
  auto scratch = ScratchFolder::create("stitch-model-new");
  ASSERT_TRUE(scratch);
  const std::string task = testdata / (std::string(GetParam()) + ".py");
  const fs::path program = scratch->path() / "program";
  Said coded = say({"code", task, "--eval", "--plain", "-o", program.string()});
  ASSERT_EQ(coded.code, 0) << coded.text;
  auto built = build_emulated(program);
  ASSERT_TRUE(built) << built.error().text();
  auto python = find_python();
  ASSERT_TRUE(python) << python.error().text();
  std::string said;
  auto finished = run({{python->string(), (testdata / "use.py").string(), task, program.string()},
                       {{"PYTHONDONTWRITEBYTECODE", "1"}},
                       std::chrono::seconds(120)},
                      [&](std::string_view line) { said += std::string(line) + "\n"; });
  ASSERT_TRUE(finished) << finished.error().text();
  EXPECT_EQ(finished->exit_code, 0) << said << finished->error_tail;
}

INSTANTIATE_TEST_SUITE_P(, ModelNew, testing::Values("bert", "structures", "local_imports", "residual_block"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace stitch
