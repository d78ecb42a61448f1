#include "program/package.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include <nlohmann/json.hpp>

#include <algorithm>
#include "base/json.h"
#include "base/machine/process.h"

#include "base/text.h"

namespace stitch {
namespace {

constexpr const char* kernel = "__global__ void twice(float* x) { x[0] *= 2; }\n";

Manifest sample_manifest() {
  Manifest manifest;
  manifest.name = "a \"net\"";
  manifest.numerics = Numerics::standard;
  manifest.signature.parameters = {{"w", "parameter", {DType::f32, {4}}, "layer.w", ""},
                                   {"c", "constant", {DType::i64, {2}}, "c", ""}};
  manifest.signature.inputs = {{"x", "input", {DType::f32, {2, 3}, {1, 2}}, "", ""},
                               {"m", "state", {DType::f32, {}}, "m", ""}};
  manifest.signature.outputs = {{"y", "output", {DType::boolean, {2, 3}}, "", ""},
                                {"m_2", "update", {DType::f32, {}}, "m", "m"}};
  manifest.regions = {{"r", "regions/r.cu", "t", {"y"}, {}, {}}};
  manifest.libraries = {"cudnn"};
  manifest.architecture = "sm_86";
  manifest.needs = "sm_80";
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
  EXPECT_NE(read("CMakeLists.txt").find("set(CMAKE_CUDA_ARCHITECTURES 86)"), std::string::npos);
  EXPECT_NE(read("CMakeLists.txt").find("set(needs 80)"), std::string::npos);
  EXPECT_NE(read("model_new.py").find("_NEEDS = \"80\""), std::string::npos);
  for (const char* file : {"CMakeLists.txt", "README.md", "example/main.cpp", "cmake/a__net_Config.cmake",
                           "example/find_package/CMakeLists.txt"})
    EXPECT_EQ(read(file).find('@'), std::string::npos) << file;
  // The task's own text is no template; quotes and backslashes reach Python as they are.
  EXPECT_NE(read("model_new.py")
                .find("_TASK = '''\\\nclass Model:\n    \\'''It says \"hi\\\\n\".\\'''\n"
                      "    name = '@task@'\n'''"),
            std::string::npos)
      << read("model_new.py").substr(0, 3000);
}

TEST_F(PackageFolder, KnowsItsTask) {
  fs::create_directories(scratch->path() / "task/own");
  ASSERT_TRUE(write_file(scratch->path() / "task/model.py", "from own.layers import Model\n"));
  ASSERT_TRUE(write_file(scratch->path() / "task/own/layers.py", "class Model: pass\n"));
  auto facts = [](const char* text) { return std::make_shared<const Json>(*parse_json(text)); };
  PackageContents contents = sample();
  auto added = add_task(contents, scratch->path() / "task/model.py", "Net",
                        facts(R"({"source": "/home/me/model.py", "mode": "eval", "active": {"dropouts": 1},
                                  "modules": ["own/layers.py"], "call": {"positional": [{"input": 0}]}})"));
  ASSERT_TRUE(added) << added.error().text();
  ASSERT_TRUE(write_package(folder, contents));
  EXPECT_EQ(read("modules/own/layers.py"), "class Model: pass\n");
  auto written = read_task_facts(folder);
  ASSERT_TRUE(written);
  EXPECT_EQ(mode_in(*written), "eval");
  EXPECT_EQ((**written)["class"], "Net");
  EXPECT_FALSE((*written)->contains("source"));
  // Modules of other folders come along under their names, without the place they had.
  PackageContents more = sample();
  auto from_elsewhere = add_task(
      more, scratch->path() / "task/model.py", "",
      std::make_shared<const Json>(
          Json{{"elsewhere", {{"lib/norms.py", (scratch->path() / "task/own/layers.py").string()}}}}));
  ASSERT_TRUE(from_elsewhere) << from_elsewhere.error().text();
  EXPECT_EQ(more.modules["lib/norms.py"], "class Model: pass\n");

  const std::string text = read("model_new.py");
  for (const char* line : {"_MODULES = [\"own/layers.py\"]", "_MODE = \"eval\"", "_MODEL_CLASS = \"Net\"",
                           "{\"positional\":[{\"input\":0}]}"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
  // It may be moved: nothing says where it was made.
  EXPECT_EQ(text.find(scratch->path().string()), std::string::npos);

  for (const char* outside : {R"({"modules": ["../secret.py"]})", R"({"modules": ["/etc/passwd"]})",
                              R"({"modules": [7]})", R"({"modules": ["own/data.bin"]})"})
    EXPECT_FALSE(add_task(contents, scratch->path() / "task/model.py", "", facts(outside))) << outside;
}

// CMake's words about the package, which is asked to build for an architecture. It looks for compilers only
// after it has said what is wrong: none is needed here.
std::string cmake_says(const fs::path& folder, const std::string& architectures) {
  auto done = run({{"cmake", "-S", folder.string(), "-B", (folder / "build").string(),
                    "-DCMAKE_CUDA_COMPILER=none", "-DCMAKE_CUDA_ARCHITECTURES=" + architectures},
                   {},
                   std::chrono::seconds(60)},
                  [](std::string_view) {});
  return done ? done->error_tail : done.error().text();
}

TEST_F(PackageFolder, SaysWhatArchitectureItNeeds) {
  ASSERT_TRUE(write_package(folder, sample()));
  EXPECT_NE(cmake_says(folder, "90a;75").find("needs sm_80; CMAKE_CUDA_ARCHITECTURES has 75"),
            std::string::npos);
  EXPECT_EQ(cmake_says(folder, "80;90a;120-real;native").find("needs sm_"), std::string::npos);
  fs::remove_all(folder);
  PackageContents only_hopper = sample();
  only_hopper.manifest.needs = "sm_90a";
  only_hopper.sources["manifest.cu"] = manifest_source(only_hopper.manifest);
  ASSERT_TRUE(write_package(folder, only_hopper));
  EXPECT_NE(cmake_says(folder, "100").find("needs sm_90a; CMAKE_CUDA_ARCHITECTURES has 100"),
            std::string::npos);
  EXPECT_EQ(cmake_says(folder, "90a").find("needs sm_"), std::string::npos);
}

TEST_F(PackageFolder, BuildsForAnotherArchitectureIfTold) {
  PackageContents contents = sample();
  contents.architecture = "sm_120";
  ASSERT_TRUE(write_package(folder, contents));
  EXPECT_NE(read("CMakeLists.txt").find("set(CMAKE_CUDA_ARCHITECTURES 120)"), std::string::npos);
}

TEST_F(PackageFolder, ShipsTheHeadersThatItsSourcesInclude) {
  PackageContents contents = sample();
  contents.sources["program.cu"] =
      "#include \"stitch/runtime/reductions.h\"\n# include <stitch/runtime/arena.h>\n";
  auto written = write_package(folder, contents);
  ASSERT_TRUE(written) << written.error().text();
  std::vector<std::string> shipped;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "include"))
    if (entry.is_regular_file())
      shipped.push_back(fs::relative(entry.path(), folder / "include/stitch").string());
  std::ranges::sort(shipped);
  // arena.h stands on errors.h, the example on program.h and weights.h.
  EXPECT_EQ(shipped, (std::vector<std::string>{"program.h", "runtime/arena.h", "runtime/errors.h",
                                               "runtime/reductions.h", "weights.h"}));
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

TEST_F(PackageFolder, ReplacesOnlyWhatWeWrote) {
  ASSERT_TRUE(write_package(folder, sample()));
  PackageContents without_task = sample();
  without_task.task.clear();
  ASSERT_TRUE(write_package(folder, without_task));
  EXPECT_FALSE(fs::exists(folder / "model_new.py"));
  put("regions/r.cu", "// edited");
  EXPECT_FALSE(write_package(folder, sample()));
  EXPECT_EQ(read("regions/r.cu"), "// edited");
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

TEST_F(PackageFolder, AFullDiskIsNoInputOutputError) {
  // What a full disk does to a write, a file-size limit does without filling one.
  auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{}, small{};
  getrlimit(RLIMIT_FSIZE, &limit);
  small = {4096, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  auto written = write_package(folder, sample());
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("File too large"), std::string::npos) << written.error().text();
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(PackageFolder, GoesBesideWhatIsToStay) {
  ASSERT_TRUE(write_package(folder, sample()));
  ASSERT_TRUE(write_file(folder / "NOTES.md", "mine"));
  auto written = write_package(folder, sample(), Overwrite::refuse, "the other one is faster");
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_EQ(written->folder, folder.string() + "-2");
  EXPECT_EQ(written->beside, "the other one is faster");
  EXPECT_EQ(read("NOTES.md"), "mine");
}

}  // namespace
}  // namespace stitch
