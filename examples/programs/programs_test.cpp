// Every example program, on the emulated GPU, against the float64 oracle on the graph of its task.
// Needs PyTorch for the import; skips loudly without it.
#include <cmath>
#include <random>

#include "base/machine/process.h"
#include "graph/text.h"
#include "import/python.h"
#include "import/task.h"
#include "loaded_program.h"
#include "oracle/interpreter.h"

namespace stitch {
namespace {

using oracle::Tensor;
const fs::path examples = fs::path(STITCH_SOURCE_DIR) / "examples/programs";

// One exporter for all tasks, each imported and compiled once.
struct Example {
  Graph graph;
  LoadedProgram program;
};
Result<Example*> example(const std::string& name) {
  static auto* exporter = new Result<Exporter>(Exporter::start());
  static auto* all = new std::map<std::string, Example>();
  if (auto found = all->find(name); found != all->end()) return &found->second;
  if (!*exporter) return exporter->error();
  STITCH_TRY(std::shared_ptr<const Task> task,
             open_task(**exporter, examples / name / "task.py", {.weights = false}));
  STITCH_TRY(LoadedProgram program, LoadedProgram::load(examples / name));
  return &all->emplace(name, Example{task->graph, std::move(program)}).first->second;
}

Tensor draw(const TensorType& type, uint64_t seed, bool positive) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<size_t>(type.elements()));
  for (double& value : values) {
    value = static_cast<float>(normal(generator));
    if (positive) value = std::abs(value) + 0.5;
    if (!is_floating(type.dtype)) value = 7;
  }
  return Tensor::of(type.dtype, type.shape, values);
}

double relative_error(const Tensor& expected, const DeviceTensor& got) {
  auto found = Tensor::from_bytes(expected.dtype(), expected.shape(), got.bytes());
  EXPECT_TRUE(found);
  double error = 0, norm = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    double a =
        expected.floating() ? expected.data<double>()[i] : static_cast<double>(expected.data<int64_t>()[i]);
    double b =
        expected.floating() ? found->data<double>()[i] : static_cast<double>(found->data<int64_t>()[i]);
    error += (a - b) * (a - b);
    norm += a * a;
  }
  return std::sqrt(error / std::max(norm, 1e-30));
}

class Programs : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto python = find_python();
    if (!python) GTEST_SKIP() << "SKIPPED: " << python.error().text();
    cudaDeviceReset();
    stitch_emulated_set_order("forward");
    auto loaded = example(GetParam());
    ASSERT_TRUE(loaded) << loaded.error().text();
    graph = &(*loaded)->graph;
    program = &(*loaded)->program;
    signature = signature_of(*graph);
    uint64_t seed = 1;
    for (ValueId id : graph->leaves())
      known.emplace(id, draw((*graph)[id].type, seed++, (*graph)[id].name.ends_with("running_var")));
    created = create();
  }
  void TearDown() override {
    if (created) program->destroy(created);
    EXPECT_STREQ(stitch_emulated_check_memory(), "");
  }

  std::vector<DeviceTensor> upload(const std::vector<ManifestTensor>& tensors, int misaligned = 0) {
    std::vector<DeviceTensor> out;
    for (const ManifestTensor& tensor : tensors) {
      out.emplace_back(tensor.type, misaligned);
      out.back().write(known.at(graph->find(tensor.name)).to_bytes());
    }
    return out;
  }
  std::vector<DeviceTensor> outputs(int misaligned = 0) {
    std::vector<DeviceTensor> out;
    for (const ManifestTensor& tensor : signature.outputs) out.emplace_back(tensor.type, misaligned);
    return out;
  }
  StitchProgram* create() {
    auto parameters = upload(signature.parameters);
    auto params = tensors_of(parameters);
    StitchProgram* made = nullptr;
    EXPECT_EQ(program->create(params.data(), static_cast<int>(params.size()), 0, &made), STITCH_OK)
        << program->last_error();
    return made;
  }
  int run(std::vector<StitchTensor> in, std::vector<StitchTensor> out, cudaStream_t stream = nullptr) {
    return program->run(created, in.data(), static_cast<int>(in.size()), out.data(),
                        static_cast<int>(out.size()), stream);
  }
  std::vector<Tensor> expect(const std::vector<ValueId>& wanted) {
    auto values = oracle::evaluate(*graph, known, wanted);
    EXPECT_TRUE(values);
    return *values;
  }
  std::vector<Tensor> expected_outputs() {
    std::vector<ValueId> wanted = graph->outputs;
    for (const Update& update : graph->updates) wanted.push_back(update.value);
    return expect(wanted);
  }
  void check(const std::vector<Tensor>& expected, const std::vector<DeviceTensor>& got) {
    ASSERT_EQ(expected.size(), got.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_LT(relative_error(expected[i], got[i]), 1e-6) << "output " << i;
  }

  const Graph* graph = nullptr;
  const LoadedProgram* program = nullptr;
  Signature signature;
  oracle::Known known;
  StitchProgram* created = nullptr;
};

TEST_P(Programs, SayWhatTheirGraphAsksFor) {
  auto manifest = parse_manifest(program->manifest());
  ASSERT_TRUE(manifest) << manifest.error().text();
  EXPECT_EQ(*manifest, program->package.manifest);
  EXPECT_EQ(print_manifest(*manifest), program->manifest());
  Manifest wanted = *manifest;
  wanted.signature = signature;
  EXPECT_EQ(print_manifest(*manifest), print_manifest(wanted));
  std::set<std::string> nodes;
  for (const ManifestRegion& region : manifest->regions) {
    for (const std::string& node : region.nodes) EXPECT_TRUE(nodes.insert(node).second) << node;
    for (const auto* slots : {&region.reads, &region.writes})
      for (const Slot& slot : *slots) {
        ValueId id = graph->find(slot.value);
        ASSERT_NE(id, ValueId::none) << slot.value;
        EXPECT_EQ(graph->type(id), slot.type) << slot.value;
      }
  }
  for (const Node& node : graph->nodes) EXPECT_TRUE(nodes.contains((*graph)[node.results[0]].name));
}

TEST_P(Programs, AgreeWithTheOracle) {
  auto expected = expected_outputs();
  for (const char* order : {"forward", "reverse", "shuffle:3"}) {
    stitch_emulated_set_order(order);
    auto in = upload(signature.inputs);
    auto out = outputs();
    ASSERT_EQ(run(tensors_of(in), tensors_of(out)), STITCH_OK) << program->last_error();
    check(expected, out);
  }
}

// The first run goes without a graph, later ones with one of a few; each time with other memory.
TEST_P(Programs, TakeAnyMemoryOnAnyStream) {
  auto expected = expected_outputs();
  cudaStream_t streams[2] = {nullptr, nullptr};
  ASSERT_EQ(cudaStreamCreate(&streams[1]), cudaSuccess);
  std::vector<std::vector<DeviceTensor>> kept;
  for (int i = 0; i < 24; ++i) {
    int misaligned = i % 5 == 4 ? 1 : 0;
    kept.push_back(upload(signature.inputs, misaligned));
    kept.push_back(outputs(misaligned));
    auto in = tensors_of(kept[kept.size() - 2]), out = tensors_of(kept.back());
    for (int repeat = 0; repeat < 2; ++repeat)
      ASSERT_EQ(run(in, out, streams[i % 2]), STITCH_OK) << program->last_error();
    check(expected, kept.back());
  }
  cudaStreamDestroy(streams[1]);
}

TEST_P(Programs, UpdateStatesInPlace) {
  auto in = upload(signature.inputs);
  auto out = outputs();
  auto expected = expected_outputs();
  auto in_tensors = tensors_of(in), out_tensors = tensors_of(out);
  std::vector<size_t> place(out.size());
  for (size_t o = 0; o < out.size(); ++o)
    for (size_t i = 0; i < in.size(); ++i)
      if (signature.outputs[o].target == signature.inputs[i].name) {
        out_tensors[o].data = in_tensors[i].data;
        place[o] = i;
      }
  ASSERT_EQ(run(in_tensors, out_tensors), STITCH_OK) << program->last_error();
  for (size_t o = 0; o < out.size(); ++o) {
    bool updates = !signature.outputs[o].target.empty();
    EXPECT_LT(relative_error(expected[o], updates ? in[place[o]] : out[o]), 1e-6) << "output " << o;
  }
}

TEST_P(Programs, JoinACallersCapture) {
  auto in = upload(signature.inputs);
  auto out = outputs();
  cudaStream_t stream = nullptr;
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t replay = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(run(tensors_of(in), tensors_of(out), stream), STITCH_OK) << program->last_error();
  ASSERT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&replay, captured, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(replay, stream), cudaSuccess);
  check(expected_outputs(), out);
  cudaGraphExecDestroy(replay);
  cudaGraphDestroy(captured);
  cudaStreamDestroy(stream);
}

TEST_P(Programs, RunTheirRegionsAlone) {
  const std::vector<ManifestRegion>& regions = program->package.manifest.regions;
  for (size_t r = 0; r < regions.size(); ++r) {
    std::vector<ValueId> reads, writes;
    for (const Slot& slot : regions[r].reads) reads.push_back(graph->find(slot.value));
    for (const Slot& slot : regions[r].writes) writes.push_back(graph->find(slot.value));
    auto given = expect(reads), expected = expect(writes);
    std::vector<DeviceTensor> in, out;
    for (size_t i = 0; i < reads.size(); ++i) {
      in.emplace_back(graph->type(reads[i]));
      in.back().write(given[i].to_bytes());
    }
    for (ValueId id : writes) out.emplace_back(graph->type(id));
    auto in_tensors = tensors_of(in), out_tensors = tensors_of(out);
    ASSERT_EQ(
        program->run_region(created, static_cast<int>(r), in_tensors.data(), static_cast<int>(in.size()),
                            out_tensors.data(), static_cast<int>(out.size()), nullptr),
        STITCH_OK)
        << program->last_error();
    check(expected, out);
  }
  EXPECT_EQ(program->run_region(created, static_cast<int>(regions.size()), nullptr, 0, nullptr, 0, nullptr),
            STITCH_BAD_ARGUMENT);
}

TEST_P(Programs, RefuseWrongTensors) {
  auto in_memory = upload(signature.inputs);
  auto out_memory = outputs();
  const auto in = tensors_of(in_memory), out = tensors_of(out_memory);
  const std::string x = format("input 0 '{}': ", signature.inputs[0].name);
  auto refused = [&](auto&& change, const std::string& message) {
    auto changed = in;
    change(changed);
    EXPECT_EQ(run(changed, out), STITCH_BAD_ARGUMENT);
    EXPECT_NE(std::string(program->last_error()).find(message), std::string::npos) << program->last_error();
  };
  refused([](auto& tensors) { tensors.pop_back(); },
          format("{} inputs expected, {} given", in.size(), in.size() - 1));
  refused([](auto& tensors) { tensors[0].data = nullptr; }, x + "the data pointer is null");
  refused([](auto& tensors) { tensors[0].data = static_cast<char*>(tensors[0].data) + 2; }, "is not aligned");
  refused([](auto& tensors) { tensors[0].shape[0] -= 1; },
          x + text(signature.inputs[0].type) + " expected, f32[");
  refused([](auto& tensors) { tensors[0].dtype = STITCH_F16; }, " expected, f16[");
  refused([](auto& tensors) { tensors[0].dtype = 77; }, " expected, dtype 77[");
  refused([](auto& tensors) { tensors[0].rank = 99; }, "a tensor of 99 dimensions given");
  refused([](auto& tensors) { tensors[0].strides[0] += 1; }, "} given");
  EXPECT_EQ(program->create(nullptr, 17, 0, nullptr), STITCH_BAD_ARGUMENT);
  EXPECT_EQ(program->run(nullptr, nullptr, 0, nullptr, 0, nullptr), STITCH_BAD_ARGUMENT);
  EXPECT_STREQ(program->last_error(), "the program is null");
}

TEST_P(Programs, LeaveNothingBehind) {
  size_t before = stitch_emulated_allocation_count();
  StitchProgram* another = create();
  program->destroy(another);
  EXPECT_EQ(stitch_emulated_allocation_count(), before);
}

// The folder that is handed over: its own headers, its own example, built and run.
TEST_P(Programs, ArePackagedWithAnExampleThatRuns) {
  const fs::path source = program->package.folder,
                 folder = fs::path(STITCH_BINARY_DIR) / "packages" / GetParam();
  PackageContents contents;
  contents.manifest = program->package.manifest;
  for (fs::recursive_directory_iterator entry(source), end; entry != end; ++entry)
    if (entry->is_regular_file() && entry->path().extension() != ".py")
      contents.sources[fs::relative(entry->path(), source).string()] = *read_file(entry->path());
  contents.task = *read_file(source / "task.py");
  auto written = write_package(folder, contents);
  ASSERT_TRUE(written) << written.error().text();

  auto package = load_package(folder);
  ASSERT_TRUE(package) << package.error().text();
  EXPECT_EQ(package->manifest, contents.manifest);
  emulated::CompileOptions options;
  options.include_dirs = package->include_dirs;
  options.executable = true;
  options.optimise = false;
  std::vector<fs::path> sources = package->sources;
  sources.push_back(folder / "example/main.cpp");
  auto built = emulated::compile_emulated(sources, fs::path(STITCH_BINARY_DIR) / "example_main", options);
  ASSERT_TRUE(built) << built.error().text();
  std::string printed;
  auto finished = stitch::run({{built->string()}, {}, std::chrono::seconds(60)},
                              [&](std::string_view line) { printed += std::string(line) + "\n"; });
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->exit_code, 0) << finished->error_tail;
  EXPECT_NE(printed.find("checksum"), std::string::npos);
  EXPECT_EQ(printed.find("nan"), std::string::npos) << printed;
}

INSTANTIATE_TEST_SUITE_P(All, Programs, testing::Values("layer_norm", "conv_batch_norm_relu", "mlp"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace stitch
