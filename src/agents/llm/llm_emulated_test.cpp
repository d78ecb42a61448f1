// Regions written by a language model, judged for real on the emulated GPU: a correct fast one is accepted, a
// correct slow one rolled back, a wrong one repaired, one that cheats refused; by answers and with tools.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "agents/optimize.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/written.h"
#include "graph/safetensors.h"
#include "graph/text.h"
#include "llm/scripted_server.h"
#include "plan/document/document.h"
#include "plan/steps.h"
#include "store/database.h"
#include "store/run_store.h"

namespace stitch::agents {
namespace {

constexpr const char* four_nodes =
    "graph \"four\"\ninput %x : f32[300]\n%fast = relu(%x) : f32[300]\n%slow = sigmoid(%fast) : f32[300]\n"
    "%wrong = exp(%slow) : f32[300]\n%cheat = tanh(%wrong) : f32[300]\noutput %cheat\nend\n";

// A kernel that makes `value` of v, launched `launches` times over parts of the tensor.
std::string source(const std::string& region, const std::string& value, int launches,
                   const std::string& extra = "") {
  return format(
      "namespace {{\n__global__ void part(const float* x, float* y, int begin, int end) {{\n"
      "  const int i = begin + blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= end) return;\n"
      "  const float v = x[i];\n  y[i] = {};\n}}\n}}  // namespace\n"
      "StitchStatus enqueue_{}(const float* x, float* y, cudaStream_t stream) {{\n  {}\n"
      "  constexpr int launches = {}, each = (300 + launches - 1) / launches;\n"
      "  for (int begin = 0; begin < 300; begin += each) {{\n"
      "    const int end = begin + each < 300 ? begin + each : 300;\n"
      "    STITCH_OK_OR_RETURN(stitch::launch(\"part\", part, stitch::spread(end - begin, 128), stream, x, "
      "y, begin, "
      "end));\n  }}\n  return STITCH_OK;\n}}\n",
      value, region, extra, launches);
}

std::string written_for(const std::string& region, int tries) {
  if (region == "fast") return source(region, "v > 0 ? v : 0", 1);
  if (region == "slow") return source(region, "1 / (1 + expf(-v))", 300);
  if (region == "wrong") return source(region, tries == 0 ? "1 + v" : "expf(v)", 1);
  return source(region, "tanhf(v)", 1, "(void)system(\"true\");");
}

std::string region_asked_for(const std::string& prompt) {
  for (const char* region : {"fast", "slow", "wrong", "cheat"})
    if (prompt.find(std::string("StitchStatus enqueue_") + region + "(") != std::string::npos) return region;
  return "nobody";
}

class OnTheEmulatedGpu : public testing::TestWithParam<CoderStyle> {};

TEST_P(OnTheEmulatedGpu, AcceptsRollsBackRepairsAndRefuses) {
  auto scratch = must(ScratchFolder::create("stitch-llm-emulated"));
  auto graph = must(parse_graph(four_nodes));
  OptimizeOptions options;
  options.gpu = *find_gpu("H200");
  options.model = scratch.path() / "graph";
  options.out = scratch.path() / "out";
  options.tries = 2;
  options.budget = std::chrono::seconds(3600);  // whatever this machine is busy with
  options.quick = true;
  fs::create_directories(options.model);
  ASSERT_TRUE(write_file(options.model / "graph.txt", four_nodes));
  const plan::Context context(graph, options.gpu, Numerics::standard);
  auto plain = must(plan::first_plan(context, code::catalogue()));
  ASSERT_EQ(plain.regions.size(), 4u);
  options.plan = std::make_shared<const Json>(plan::to_json(context, plain));

  auto server = must(llm::ScriptedServer::start());
  std::map<std::string, int> tries;
  server->otherwise([&](const llm::Asked& asked) {
    const std::string prompt = asked.body->at("messages").dump();
    const std::string region = region_asked_for(prompt);
    if (GetParam() == CoderStyle::answer) {
      const std::string text = written_for(region, tries[region]++);
      return llm::says("```cuda\n" + text + "```\n")(asked);
    }
    // An agent writes when it is asked, or told what became of it, then submits: two turns.
    if (asked.body->at("messages").back().at("role") == "user")
      return llm::calls_tool(
          "write_file",
          Json{{"path", "region.cu"}, {"text", written_for(region, tries[region]++)}}.dump())(asked);
    return llm::calls_tool("submit", "{}")(asked);
  });
  options.llm.config = scratch.path() / "config.toml";
  ASSERT_TRUE(write_file(
      options.llm.config,
      format("[llm.test]\napi = \"openai\"\nurl = \"{}\"\nmodel = \"scripted\"\n", server->url())));
  options.llm.style = GetParam();
  options.llm.regions = 4;
  options.brains.coder = "llm:test";

  auto run = must(optimize(options));
  std::map<std::string, const LedgerEntry*> steps;
  for (const LedgerEntry& entry : run.ledger.entries) steps[entry.step] = &entry;
  for (const char* step : {"plan", "write fast", "write slow", "write wrong", "write cheat"})
    ASSERT_TRUE(steps.contains(step)) << step;
  EXPECT_EQ(steps["write fast"]->outcome, Outcome::better);
  EXPECT_EQ(steps["write slow"]->outcome, Outcome::not_better) << reason(*steps["write slow"]);
  EXPECT_EQ(steps["write wrong"]->outcome, Outcome::better) << reason(*steps["write wrong"]);
  ASSERT_EQ(steps["write wrong"]->tree.size(), 2u);
  EXPECT_EQ(steps["write wrong"]->tree[0].outcome, Outcome::wrong);
  EXPECT_EQ(steps["write cheat"]->outcome, Outcome::not_built);
  EXPECT_EQ(steps["write cheat"]->report->gate, "screen");
  EXPECT_TRUE(run.verdict.passed());
  auto shipped = [&](const char* region) {
    auto text = read_file(options.out / "regions" / (std::string(region) + ".cu"));
    return text && text->find("StitchStatus enqueue_") != std::string::npos &&
           text->find("constexpr int launches") != std::string::npos;
  };
  EXPECT_TRUE(shipped("fast"));
  EXPECT_TRUE(shipped("wrong"));
  EXPECT_FALSE(shipped("slow"));
  EXPECT_FALSE(shipped("cheat"));
}

// The example of the prompts, as an answer: packed weights, a library's product with GELU in its epilogue, a
// setting and scratch memory, in the class half.
class AWrittenRegion : public testing::Test {
 protected:
  void SetUp() override {
    options.gpu = *find_gpu("H200");
    options.numerics = Numerics::half;
    options.model = scratch.path() / "graph";
    options.out = scratch.path() / "out";
    options.tries = 1;
    options.budget = std::chrono::seconds(3600);
    options.quick = true;
    fs::create_directories(options.model);
    ASSERT_TRUE(write_file(options.model / "graph.txt", std::string(code::graph_of_example())));
    std::vector<float> weight(24 * 32), bias(24);
    for (size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i % 13) / 16 - 0.375F;
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) / 32;
    ASSERT_TRUE(write_safetensors(options.model / "weights.safetensors",
                                  {{"weight", {{DType::f32, {24, 32}, {}}, std::as_bytes(std::span(weight))}},
                                   {"bias", {{DType::f32, {24}, {}}, std::as_bytes(std::span(bias))}}}));
    options.llm.config = scratch.path() / "config.toml";
    ASSERT_TRUE(write_file(
        options.llm.config,
        format("[llm.test]\napi = \"openai\"\nurl = \"{}\"\nmodel = \"scripted\"\n", server->url())));
    options.llm.regions = 1;
    options.brains.coder = "llm:test";
  }

  // With `from` in the example replaced by `to`.
  Optimized run(const std::string& from = "", const std::string& to = "") {
    server->otherwise([&, from, to](const llm::Asked& asked) {
      const std::string prompt = asked.body->at("messages").dump();
      const size_t begin = prompt.find("enqueue_", prompt.find("name=\\\"function_signature"));
      const std::string function = prompt.substr(begin, prompt.find('(', begin) - begin);
      region = function.substr(std::string_view("enqueue_").size());
      std::string source(code::example_of_written());
      source.replace(source.find("enqueue_mlp"), std::string_view("enqueue_mlp").size(), function);
      source.replace(source.find(from), from.size(), to);
      return llm::says("```cuda\n" + source + "```\n")(asked);
    });
    return must(optimize(options));
  }

  ScratchFolder scratch = must(ScratchFolder::create("stitch-llm-packed"));
  std::unique_ptr<llm::ScriptedServer> server = must(llm::ScriptedServer::start());
  OptimizeOptions options;
  std::string region;
};

TEST_F(AWrittenRegion, WithPackedWeightsAndALibrarysProductIsAccepted) {
  const Optimized done = run();
  const LedgerEntry& step = done.ledger.entries.back();
  EXPECT_EQ(step.step, "write " + region);
  EXPECT_EQ(step.outcome, Outcome::better) << reason(step);
  EXPECT_TRUE(done.verdict.passed());
  const std::string program = must(read_file(options.out / "program.cu"));
  EXPECT_NE(program.find(format("STITCH_OK_OR_RETURN(pack_{}_weight_half(", region)), std::string::npos);
  EXPECT_NE(program.find("CUBLASLT_EPILOGUE_GELU_BIAS"), std::string::npos);
  const std::string settings = must(read_file(options.out / "manifest.cu"));
  EXPECT_NE(settings.find(format("\"{}.threads\"", region)), std::string::npos);
}

TEST_F(AWrittenRegion, WhosePackingReadsPastItsWeightIsRefused) {
  const Optimized done = run("stream, weight, weight_half, 768", "stream, weight + 768, weight_half, 768");
  const LedgerEntry& step = done.ledger.entries.back();
  EXPECT_EQ(step.step, "write " + region);
  EXPECT_FALSE(step.kept()) << name(step.outcome);
  EXPECT_FALSE(reason(step).empty());
  EXPECT_TRUE(done.verdict.passed()) << "the best program ships";
}

TEST_F(AWrittenRegion, MayBeAGraphThatComputesTheSameWithLess) {
  options.numerics = Numerics::standard;
  options.llm.whole = true;
  fs::remove(options.model / "weights.safetensors");
  const std::string leaves = "input %a : f32[48]\ninput %b : f32[48,64]\n";
  const std::string column = "%c = reshape(%a) shape=[48,1] : f32[48,1]\n", end = "output %y\nend\n";
  ASSERT_TRUE(write_file(options.model / "graph.txt",
                         "graph \"diagonal\"\n" + leaves +
                             "%one = full() shape=[48,48] dtype=f32 value=1.0 : f32[48,48]\n"
                             "%upper = triu(%one) diagonal=0 : f32[48,48]\n"
                             "%eye = tril(%upper) diagonal=0 : f32[48,48]\n" +
                             column +
                             "%scaled = mul(%c, %eye) : f32[48,48]\n"
                             "%y = matmul(%scaled, %b) : f32[48,64]\n" +
                             end));
  server->otherwise(llm::says("Rows are scaled.\n```graph\ngraph \"any\"\n" + leaves + column +
                              "%y = mul(%c, %b) : f32[48,64]\n" + end + "```\n"));
  const Optimized done = must(optimize(options));
  const LedgerEntry& step = done.ledger.entries.back();
  EXPECT_EQ(step.step, "write the whole pass");
  EXPECT_EQ(step.outcome, Outcome::better) << reason(step);
  EXPECT_TRUE(done.verdict.passed());
  EXPECT_EQ(must(read_file(options.out / "regions/forward.cu")).find("eye"), std::string::npos);
}

// Ends the process at one of the run's events, as kill -9 does.
struct KillAt final : EventSink {
  explicit KillAt(int event) : left(event) {}
  void on(const Event&) override {
    ++seen;
    if (--left == 0) ::_exit(137);
  }
  int left, seen = 0;
};

TEST(AnLlmRun, KilledAndResumedAsksNothingTwiceAndShipsTheSameProgram) {
  if (!store::Database::is_built_in()) GTEST_SKIP() << "built without SQLite";
  auto scratch = must(ScratchFolder::create("stitch-llm-resumed"));
  auto server = must(llm::ScriptedServer::start());
  int asked_for = 0, tries = 0;
  server->otherwise([&](const llm::Asked& asked) {
    ++asked_for;
    const std::string region = region_asked_for(asked.body->at("messages").dump());
    return llm::says("```cuda\n" + written_for(region, region == "wrong" ? tries++ : 0) + "```\n")(asked);
  });
  const fs::path config = scratch.path() / "config.toml", model = scratch.path() / "graph";
  ASSERT_TRUE(write_file(
      config, format("[llm.test]\napi = \"openai\"\nurl = \"{}\"\nmodel = \"scripted\"\n", server->url())));
  fs::create_directories(model);
  ASSERT_TRUE(write_file(model / "graph.txt", four_nodes));
  auto graph = must(parse_graph(four_nodes));
  const GpuSpec gpu = *find_gpu("H200");
  const plan::Context context(graph, gpu, Numerics::standard);
  auto plain = must(plan::first_plan(context, code::catalogue()));
  auto run_in = [&](const fs::path& folder, bool resume, int kill_at) -> std::pair<std::string, int> {
    OptimizeOptions options;
    options.gpu = gpu;
    options.model = model;
    options.out = folder / "out";
    options.tries = 2;
    options.budget = std::chrono::seconds(3600);  // whatever this machine is busy with
    options.quick = true;
    options.plan = std::make_shared<const Json>(plan::to_json(context, plain));
    options.llm.config = config;
    options.llm.regions = 4;
    options.brains.coder = "llm:test";
    Recording recording{.store = folder / "runs.db", .resume = {}, .options = "{}", .version = "1"};
    if (resume) {
      auto there = store::RunStore::open(recording.store);
      if (there && there->list() && !there->list()->empty()) recording.resume = there->list()->front().id;
    }
    options.recording = recording;
    KillAt events(kill_at);
    options.events = &events;
    auto run = optimize(options);
    if (!run) return {run.error().text(), events.seen};
    return {*read_file(options.out / "regions/wrong.cu"), events.seen};
  };
  fs::create_directories(scratch.path() / "whole");
  const auto [whole, events] = run_in(scratch.path() / "whole", false, 0);
  ASSERT_NE(whole.find("expf(v)"), std::string::npos) << whole;
  const int asked_once = asked_for;
  for (const int share : {4, 6, 8}) {
    SCOPED_TRACE(format("killed at {} of 10 of {} events", share, events));
    const fs::path folder = scratch.path() / format("killed{}", share);
    fs::create_directories(folder);
    asked_for = tries = 0;
    const pid_t child = ::fork();
    if (child == 0) {
      run_in(folder, false, events * share / 10);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(WEXITSTATUS(status), 137);
    EXPECT_EQ(run_in(folder, true, 0).first, whole);
    EXPECT_LE(asked_for, asked_once + 1);  // the one that was on its way when the process ended
  }
}

INSTANTIATE_TEST_SUITE_P(InStyle, OnTheEmulatedGpu, testing::Values(CoderStyle::answer, CoderStyle::agent),
                         [](const auto& each) {
                           return each.param == CoderStyle::answer ? std::string("answer")
                                                                   : std::string("agent");
                         });

}  // namespace
}  // namespace stitch::agents
