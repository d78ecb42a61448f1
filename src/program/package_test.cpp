#include "program/package.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace stitch {
namespace {

constexpr const char* kernel = "__global__ void twice(float* x) { x[0] *= 2; }\n";

Manifest sample_manifest() {
  Manifest manifest;
  manifest.name = "a \"net\"";
  manifest.numerics = "default";
  manifest.signature.parameters = {{"w", "parameter", {DType::f32, {4}}, "layer.w", ""},
                                   {"c", "constant", {DType::i64, {2}}, "c", ""}};
  manifest.signature.inputs = {{"x", "input", {DType::f32, {2, 3}, {1, 2}}, "", ""},
                               {"m", "state", {DType::f32, {}}, "m", ""}};
  manifest.signature.outputs = {{"y", "output", {DType::boolean, {2, 3}}, "", ""},
                                {"m_2", "update", {DType::f32, {}}, "m", "m"}};
  manifest.regions = {{"r", "regions/r.cu", "t", {"y"}, {}, {}}};
  manifest.libraries = {"cudnn"};
  return manifest;
}

std::string manifest_source(const Manifest& manifest) {
  return "const char* stitch_manifest() { return R\"manifest(" + print_manifest(manifest) +
         ")manifest\"; }\n";
}

const int64_t constant[2] = {3, 4};

PackageContents sample() {
  PackageContents contents;
  contents.manifest = sample_manifest();
  contents.sources = {{"program.cu", "int @name@;\n"}, {"regions/r.cu", kernel}, {"regions.h", ""}};
  contents.sources["manifest.cu"] = manifest_source(contents.manifest);
  contents.task = "class Model:\n    '''It says \"hi\\n\".'''\n    name = '@task@'";
  contents.constants = {{"c", {{DType::i64, {2}}, std::as_bytes(std::span(constant))}}};
  return contents;
}

class PackageFolder : public testing::Test {
 protected:
  void SetUp() override {
    auto made = ScratchFolder::create("stitch-package");
    ASSERT_TRUE(made);
    scratch.emplace(*std::move(made));
    folder = scratch->path() / "package";
  }
  void put(const std::string& path, std::string_view content) {
    fs::create_directories((folder / path).parent_path());
    ASSERT_TRUE(write_file(folder / path, content));
  }
  std::string error_of(const fs::path& path) {
    auto loaded = load_package(path);
    if (loaded) return "";
    std::string message = loaded.error().text(), root = scratch->path().string();
    for (size_t at; (at = message.find(root)) != std::string::npos;) message.replace(at, root.size(), "~");
    return message;
  }
  std::string read(const std::string& path) { return *read_file(folder / path); }

  std::optional<ScratchFolder> scratch;
  fs::path folder;
};

TEST_F(PackageFolder, IsReadAsItWasWritten) {
  auto written = write_package(folder, sample());
  ASSERT_TRUE(written) << written.error().text();
  auto package = load_package(folder);
  ASSERT_TRUE(package) << package.error().text();
  EXPECT_EQ(package->manifest, sample_manifest());
  EXPECT_EQ(package->libraries, std::vector<std::string>{"cudnn"});
  EXPECT_EQ(package->include_dirs, std::vector<fs::path>{folder / "include"});
  std::vector<fs::path> sources = {folder / "manifest.cu", folder / "program.cu", folder / "regions/r.cu"};
  EXPECT_EQ(package->sources, sources);
  EXPECT_EQ(read("program.cu"), "int @name@;\n");
  for (const char* file : {"CMakeLists.txt", "README.md", "example/main.cpp", "manifest.json", "model_new.py",
                           "constants.safetensors", "include/stitch/program.h"})
    EXPECT_TRUE(fs::exists(folder / file)) << file;
}

TEST_F(PackageFolder, HasNoPlaceholdersLeft) {
  ASSERT_TRUE(write_package(folder, sample()));
  EXPECT_NE(read("CMakeLists.txt").find("find_library(CUDNN"), std::string::npos);
  EXPECT_NE(read("CMakeLists.txt").find("project(a__net_ "), std::string::npos);
  for (const char* file : {"CMakeLists.txt", "README.md", "example/main.cpp"})
    EXPECT_EQ(read(file).find('@'), std::string::npos) << file;
  // The task's own text is no template; quotes and backslashes reach Python as they are.
  EXPECT_NE(read("model_new.py")
                .find("_TASK = '''\\\nclass Model:\n    \\'''It says \"hi\\\\n\".\\'''\n"
                      "    name = '@task@'\n'''"),
            std::string::npos)
      << read("model_new.py").substr(0, 3000);
}

TEST_F(PackageFolder, ShipsTheHeadersThatItsSourcesInclude) {
  PackageContents contents = sample();
  contents.sources["program.cu"] =
      "#include \"stitch/runtime/welford.h\"\n# include <stitch/runtime/arena.h>\n";
  auto written = write_package(folder, contents);
  ASSERT_TRUE(written) << written.error().text();
  std::vector<std::string> shipped;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "include"))
    if (entry.is_regular_file())
      shipped.push_back(fs::relative(entry.path(), folder / "include/stitch").string());
  std::ranges::sort(shipped);
  // welford.h stands on reductions.h, arena.h on errors.h, the example on program.h.
  EXPECT_EQ(shipped, (std::vector<std::string>{"program.h", "runtime/arena.h", "runtime/errors.h",
                                               "runtime/reductions.h", "runtime/welford.h"}));
}

TEST_F(PackageFolder, TellsThePlan) {
  PackageContents contents = sample();
  contents.gpu = "NVIDIA H200";
  contents.notes.host = "The whole pass is one CUDA graph.";
  contents.notes.regions = {{"one warp a row", "head (softmax)", "net.py:7: a | b"}};
  ASSERT_TRUE(write_package(folder, contents));
  const std::string readme = read("README.md");
  for (const char* text :
       {"# a \"net\"\n", "1 region in order, planned for NVIDIA H200, in numerics class `default`.",
        "The whole pass is one CUDA graph.",
        "| 0 | `r` | head (softmax) | t: one warp a row | `net.py:7: a \\| b` | `regions/r.cu` |"})
    EXPECT_NE(readme.find(text), std::string::npos) << text << "\n" << readme;
}

TEST_F(PackageFolder, ReplacesOnlyPackages) {
  ASSERT_TRUE(write_package(folder, sample()));
  PackageContents without_task = sample();
  without_task.task.clear();
  ASSERT_TRUE(write_package(folder, without_task));
  EXPECT_FALSE(fs::exists(folder / "model_new.py"));
  fs::remove(folder / "manifest.json");
  EXPECT_FALSE(write_package(folder, sample()));
}

TEST_F(PackageFolder, IsWrittenWholeOrNotAtAll) {
  PackageContents contents = sample();
  contents.sources["manifest.cu"] = "";
  EXPECT_TRUE(write_package(folder, contents));  // manifest.json says it
  fs::remove_all(folder);
  contents.manifest.name = "other";
  contents.sources["manifest.cu"] = manifest_source(sample_manifest());
  EXPECT_FALSE(write_package(folder, contents));
  EXPECT_FALSE(fs::exists(folder));
  contents = sample();
  contents.sources["../outside.cu"] = "";
  EXPECT_FALSE(write_package(folder, contents));
  contents = sample();
  contents.constants.clear();
  auto refused = write_package(folder, contents);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "the constant 'c' has no data");
}

TEST_F(PackageFolder, MayBeOneFile) {
  Manifest manifest = sample_manifest();
  manifest.regions.clear();
  put("one.cu", kernel + manifest_source(manifest));
  auto package = load_package(folder / "one.cu");
  ASSERT_TRUE(package) << package.error().text();
  EXPECT_EQ(package->sources, std::vector<fs::path>{folder / "one.cu"});
  EXPECT_TRUE(fs::exists(package->include_dirs[0] / "stitch/program.h"));
}

TEST_F(PackageFolder, SaysWhatIsMissing) {
  EXPECT_EQ(error_of(folder),
            "~/package: there is no such program\nfix: give a package's folder or a .cu file");
  put("readme.txt", "");
  EXPECT_EQ(error_of(folder / "readme.txt"), "~/package/readme.txt: neither a folder nor a .cu file");
  EXPECT_EQ(error_of(folder), "~/package: this folder holds no program.cu, so it is no program");
  put("program.cu", kernel);
  EXPECT_EQ(error_of(folder).substr(0, 43), "~/package: no source holds a manifest\nfix: ");
  put("manifest.cu", "R\"manifest({");
  EXPECT_EQ(error_of(folder), "~/package/manifest.cu: the manifest's raw string does not end");
  put("manifest.cu", "R\"manifest({})manifest\"");
  EXPECT_EQ(error_of(folder),
            "~/package/manifest.cu: manifest: stitch: 1 is expected here: the version of the manifest");
  put("manifest.cu", manifest_source(sample_manifest()));
  EXPECT_EQ(error_of(folder), "~/package: the region 'r' is said to be in regions/r.cu, which is not there");
  put("regions/r.cu", kernel);
  EXPECT_EQ(error_of(folder), "");
  Manifest other = sample_manifest();
  other.name = "other";
  put("manifest.json", print_manifest(other));
  EXPECT_EQ(error_of(folder),
            "~/package/manifest.json: says something else than ~/package/manifest.cu\n"
            "fix: the source is what counts: remove this file, or write it again");
  fs::remove(folder / "manifest.json");
  put("regions/s.cu", manifest_source(sample_manifest()));
  EXPECT_EQ(error_of(folder),
            "~/package/regions/s.cu: a second manifest; the first one is in ~/package/manifest.cu");
  fs::remove(folder / "regions/s.cu");
  fs::create_symlink("/etc/passwd", folder / "link.cu");
  EXPECT_EQ(error_of(folder),
            "~/package/link.cu: this source is a link or no file\nfix: put a copy of the file in its place");
}

}  // namespace
}  // namespace stitch
