#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "agents/record/shipped.h"
#include "base/json.h"
#include "base/machine/process.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "build/build.h"
#include "build/compile_emulated/compile.h"
#include "program/package.h"

namespace stitch::agents {

namespace {

ProgramFacts program(const char* judged, const char* seconds) {
  return {{"task", "a"},          {"class", ""},      {"numerics", "default"}, {"times", "measured"},
          {"gpu", "NVIDIA H200"}, {"judged", judged}, {"seconds", seconds}};
}

TEST(ShippedBefore, AFullyJudgedProgramIsNotReplacedByAQuickOne) {
  EXPECT_EQ(why_better(program("fully", "2e-5"), program("quickly", "1e-5")),
            "it passed every gate, this one only the quick ones");
  EXPECT_EQ(why_better(program("quickly", "1e-5"), program("fully", "2e-5")), "");
}

TEST(ShippedBefore, AFasterProgramIsNotReplaced) {
  EXPECT_EQ(why_better(program("fully", "1e-5"), program("fully", "2e-5")),
            "it takes 10 us per call, this one 20 us (measured)");
  EXPECT_EQ(why_better(program("fully", "1.99e-5"), program("fully", "2e-5")), "") << "noise";
  EXPECT_EQ(why_better(program("fully", "3e-5"), program("fully", "2e-5")), "");
}

TEST(ShippedBefore, OnlyLikeIsComparedWithLike) {
  for (const char* what : {"task", "class", "numerics", "times", "gpu"}) {
    ProgramFacts there = program("fully", "1e-5");
    there[what] = "another";
    EXPECT_EQ(why_better(there, program("quickly", "2e-5")), "") << what;
  }
  EXPECT_EQ(why_better({}, program("quickly", "2e-5")), "");
}

TEST(ShippedBefore, IsLookedAtBeforeTheWork) {
  auto scratch = must(ScratchFolder::create("stitch-shipped"));
  OptimizeOptions options{.model = scratch.path() / "model.py", .out = scratch.path() / "out"};
  ASSERT_TRUE(write_file(options.model, "class Model: pass"));
  EXPECT_TRUE(check_place(options));
  auto there = OutputFolder::create(options.out);
  ASSERT_TRUE(there);
  for (const auto& [fact, value] : facts_of(options, true)) there->note(fact, value);
  ASSERT_TRUE(there->publish());
  EXPECT_TRUE(check_place(options)) << "as fully judged as this one";
  options.quick = true;
  auto refused = check_place(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code(), 2);
  options.overwrite = Overwrite::force;
  EXPECT_TRUE(check_place(options));
}

}  // namespace

// A program that leaves the house: its weights, its records, an install target, and a project that finds it;
// built and run on the emulated GPU.

namespace {

class ShippedWhole : public testing::Test {
 protected:
  void SetUp() override {
    scratch.emplace(must(ScratchFolder::create("stitchcuda-shipped")));
    folder = scratch->path() / "package";
    const fs::path source = fs::path(STITCH_SOURCE_DIR) / "examples/programs/layer_norm";
    auto package = must(load_package(source));
    contents.manifest = package.manifest;
    for (const char* below : {"", "regions"})
      for (const auto& entry : fs::directory_iterator(source / below))
        if (entry.path().extension() == ".cu" || entry.path().extension() == ".h")
          contents.sources[(fs::path(below) / entry.path().filename()).string()] = *read_file(entry.path());
  }

  // All ones, under the names that the manifest has.
  std::shared_ptr<const Safetensors> make_weights() {
    std::vector<std::pair<std::string, TensorBytes>> tensors;
    for (const ManifestTensor& tensor : contents.manifest.signature.parameters) {
      ones.emplace_back(static_cast<size_t>(tensor.type.elements()), 1.0f);
      tensors.emplace_back(tensor.data, TensorBytes{{tensor.type.dtype, tensor.type.shape, {}},
                                                    std::as_bytes(std::span(ones.back()))});
    }
    EXPECT_TRUE(write_safetensors(scratch->path() / "model.safetensors", tensors));
    auto opened = Safetensors::open(scratch->path() / "model.safetensors");
    return opened ? std::make_shared<const Safetensors>(*std::move(opened)) : nullptr;
  }

  // What a command printed; its exit code if it failed.
  static std::string output_of(std::vector<std::string> words) {
    std::string out;
    auto finished = run({std::move(words), {}, std::chrono::seconds(120)},
                        [&](std::string_view line) { out.append(line) += '\n'; });
    if (!finished) return finished.error().text();
    return finished->exit_code == 0
               ? out
               : format("exit code {}: {}{}", finished->exit_code, out, finished->error_tail);
  }

  std::optional<ScratchFolder> scratch;
  fs::path folder;
  PackageContents contents;
  std::deque<std::vector<float>> ones;
};

TEST_F(ShippedWhole, IsInstalledFoundAndRun) {
  ASSERT_TRUE(add_weights(contents, make_weights(), ShipWeights::automatic));
  auto written = must(write_package(folder, contents));
  auto package = must(load_package(folder));
  auto built = must(build::build({.sources = package.sources, .include_dirs = package.include_dirs}));
  auto emulated = emulated::find_installation();
  ASSERT_TRUE(emulated);
  // In place of the CUDA toolkit; what is compiled already needs no nvcc.
  const fs::path toolkit = scratch->path() / "toolkit.cmake", prefix = scratch->path() / "installed";
  ASSERT_TRUE(write_file(toolkit,
                         format("add_library(CUDA::cudart_static SHARED IMPORTED GLOBAL)\n"
                                "set_target_properties(CUDA::cudart_static PROPERTIES IMPORTED_LOCATION {}\n"
                                "  INTERFACE_INCLUDE_DIRECTORIES {} INTERFACE_COMPILE_FEATURES cxx_std_20)\n",
                                emulated->runtime.string(), emulated->headers.string())));
  const std::string in_place_of_cuda = "-DCMAKE_PROJECT_INCLUDE=" + toolkit.string();
  const std::string build = (scratch->path() / "build").string(), use = (scratch->path() / "use").string();
  auto fine = [](const std::string& said) { return !said.starts_with("exit code"); };
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"cmake", "-S", folder.string(), "-B", build, in_place_of_cuda,
                                 "-DCMAKE_BUILD_TYPE=Debug", "-DPROGRAM_LIBRARY=" + built.library.string()},
        {"cmake", "--build", build},
        {"cmake", "--install", build, "--prefix", prefix.string()},
        {"cmake", "-S", (folder / "example/find_package").string(), "-B", use, in_place_of_cuda,
         "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_PREFIX_PATH=" + prefix.string()},
        {"cmake", "--build", use}}) {
    const std::string said = output_of(words);
    ASSERT_TRUE(fine(said)) << join(words, " ") << "\n" << said;
  }
  const fs::path installed = prefix / "lib/layer_norm";
  for (const char* file :
       {"libprogram.so", "weights.safetensors", "manifest.json", "include/stitch/weights.h"})
    EXPECT_TRUE(fs::exists(installed / file)) << file;
  const std::string ran = output_of({use + "/uses_program", installed.string()});
  EXPECT_NE(ran.find("checksum"), std::string::npos) << ran;
  EXPECT_EQ(ran, output_of({build + "/example", folder.string()}).substr(0, ran.find('\n') + 1) +
                     ran.substr(ran.find('\n') + 1));  // the same but for the time
  // Weights that are cut off are an error with a name.
  fs::resize_file(installed / "weights.safetensors", 40);
  EXPECT_NE(
      output_of({use + "/uses_program", installed.string()}).find("is no safetensors file, or a damaged one"),
      std::string::npos);
}

// What the example makes up of each dtype, by its own functions.
TEST_F(ShippedWhole, ExampleFillsInputsOfEveryDtype) {
  ASSERT_TRUE(write_package(folder, contents));
  auto package = must(load_package(folder));
  auto built = must(build::build({.sources = package.sources, .include_dirs = package.include_dirs}));
  auto emulated = emulated::find_installation();
  ASSERT_TRUE(emulated);
  const fs::path source = scratch->path() / "filled.cpp", program = scratch->path() / "filled";
  ASSERT_TRUE(write_file(source, R"(#include <algorithm>
#define main example_main
#include "main.cpp"
#undef main

int main() {
  for (int32_t dtype = STITCH_F64; dtype <= STITCH_BOOL; ++dtype) {
    std::vector<unsigned char> memory(64 * element_size(dtype));
    fill(memory, 64, dtype);
    double sum = 0, least = 1, most = 0;
    for (size_t i = 0; i < 64; ++i) {
      const double value = element(memory, i, dtype);
      sum += value;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    std::printf(least >= 0 && most <= 1 && sum > 16 && sum < 48 ? "filled " : "%d: sum %g ", dtype, sum);
  }
}
)"));
  const std::string compiled = output_of(
      {"g++", "-std=c++20", "-I", emulated->headers.string(), "-I", (folder / "include").string(), "-I",
       (folder / "example").string(), source.string(), built.library.string(), emulated->runtime.string(),
       "-Wl,-rpath," + emulated->runtime.parent_path().string(), "-o", program.string()});
  ASSERT_FALSE(compiled.starts_with("exit code")) << compiled;
  EXPECT_EQ(output_of({program.string()}),
            "filled filled filled filled filled filled filled filled filled \n");
}

TEST_F(ShippedWhole, HasItsWeightsOrSaysWhyNot) {
  auto weights = make_weights();
  auto readme = [&](ShipWeights when, const std::shared_ptr<const Safetensors>& given) {
    fs::remove_all(folder);
    auto added = add_weights(contents, given, when);
    if (!added) return added.error().text();
    auto written = write_package(folder, contents);
    return written ? *read_file(folder / "README.md") : written.error().text();
  };
  EXPECT_NE(readme(ShipWeights::automatic, weights).find("`weights.safetensors` holds the model's weights"),
            std::string::npos);
  EXPECT_EQ(Safetensors::open(folder / "weights.safetensors")->tensors().size(),
            contents.manifest.signature.parameters.size());
  EXPECT_NE(readme(ShipWeights::never, weights).find("not in this folder (they were not asked for)"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "weights.safetensors"));
  EXPECT_NE(readme(ShipWeights::automatic, nullptr).find("the model was imported without"),
            std::string::npos);
  EXPECT_NE(readme(ShipWeights::always, nullptr).find("fix: import the model again"), std::string::npos);
}

TEST_F(ShippedWhole, TakesItsRecordsAlongAndNoPlaces) {
  const fs::path source = scratch->path() / "home/model.py";
  fs::create_directories(source.parent_path());
  ASSERT_TRUE(write_file(source, "class Model: pass\n"));
  Task task{.source = source, .text = "class Model: pass\n"};
  OptimizeOptions options{.out = folder};
  options.gpu.name = "H200";
  Optimized optimized;
  optimized.judged_fully = true;
  optimized.seconds_a_call = 2e-5;
  optimized.published.folder = folder;
  optimized.verdict.header = std::make_shared<const Json>(Json{{"program", folder.string()},
                                                               {"task", source.string()},
                                                               {"device", "emulated"},
                                                               {"date", "2026-01-01"},
                                                               {"reference", {{"torch", "2.11"}}}});
  optimized.verdict.gates = {{.gate = "correctness",
                              .id = verifier::GateId::correctness,
                              .outcome = verifier::Outcome::passed,
                              .summary = "12 trials, worst relative error 1e-7",
                              .evidence = std::make_shared<const Json>(
                                  Json{{"from", (source.parent_path() / "own.py").string() + ":3"}})}};
  contents.results = results_of(optimized, {}, options);
  auto written = must(write_package(folder, contents));
  must(write_records(optimized, {}, task, options, {scratch->path()}));
  const std::string readme = *read_file(folder / "README.md");
  for (const char* text : {"passed all 1 gates", "planned for H200", "worst relative error 1e-7",
                           "us per call", "2026-01-01", "PyTorch 2.11"})
    EXPECT_NE(readme.find(text), std::string::npos) << text << "\n" << readme;
  EXPECT_EQ((*parse_json(*read_file(folder / "verdict.json")))["gates"][0]["evidence"]["from"], "own.py:3");
  for (const char* file : {"verdict.json", "ledger.json", "receipt.json"})
    EXPECT_TRUE(fs::exists(folder / file)) << file;
  // Nothing of it names a place of this machine, and all of it is ours to replace.
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string text = *read_file(entry.path());
    for (const std::string& place :
         {scratch->path().string(), std::string(STITCH_SOURCE_DIR), std::string("/home/")})
      EXPECT_EQ(text.find(place), std::string::npos) << entry.path() << " has " << place;
  }
  EXPECT_TRUE(OutputFolder::check(folder));
}

}  // namespace

}  // namespace stitch::agents
