// Runs that are written down: killed anywhere and resumed, they ship the same program, and nothing that was
// judged is judged again. A store that fails costs the record alone.
#include "agents/record/recorded_run.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "agents/llm/scripted.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "plan/document/document.h"
#include "store/database.h"

namespace stitch::agents {
namespace {

using namespace scripted;

// Counts what happens, and ends the process at one moment of it, as kill -9 does.
struct Executioner final : EventSink {
  void tick() {
    if (++ticks == kill_at) ::_exit(137);
  }
  void on(const Event& event) override {
    if (auto* warning = std::get_if<Warning>(&event)) warnings.emplace_back(warning->text);
    tick();
  }
  int ticks = 0, kill_at = 0;
  std::vector<std::string> warnings;
};

// Answers by who signed the program, and leaves a line of each in a file that outlives the process.
class SigningVerifier final : public JudgeAlone {
 public:
  SigningVerifier(std::map<std::string, Answer> answers, fs::path log, Executioner& executioner)
      : answers_(std::move(answers)), log_(std::move(log)), executioner_(executioner) {}
  Result<verifier::Verdict> judge(const fs::path& program, Judging judging,
                                  const std::function<bool()>&) override {
    executioner_.tick();
    auto text = read_file(program / "program.cu");
    if (!text) return text.error();
    const std::string who = trim(text->substr(text->rfind("// ") + 3));
    std::ofstream(log_, std::ios::app) << who << ' ' << static_cast<int>(judging) << '\n';
    auto found = answers_.find(who);
    auto answer = found == answers_.end() ? passes(9)() : found->second();
    executioner_.tick();
    return answer;
  }

 private:
  std::map<std::string, Answer> answers_;
  fs::path log_;
  Executioner& executioner_;
};

class ARecordedRun : public testing::Test {
 protected:
  void SetUp() override {
    if (!store::Database::is_built_in()) GTEST_SKIP() << "built without SQLite";
    task.graph = tiny_graph();
    context.emplace(task.graph, gpu, Numerics::standard);
    scratch.emplace(must(ScratchFolder::create("stitch-recorded")));
  }

  struct Ended {
    std::string ledger, program;
    int ticks = 0;
  };
  // In a folder of its own; `resume`: what is there goes on.
  Result<Ended> run(const fs::path& folder, bool resume, int kill_at = 0) {
    fs::create_directories(folder);
    Executioner executioner;
    executioner.kill_at = kill_at;
    OptimizeOptions options;
    options.out = folder / "out";
    options.budget = std::chrono::seconds(1000);
    Recording recording{.store = folder / "runs.db", .resume = {}, .options = "{}", .version = "1"};
    if (resume) {
      STITCH_TRY(store::RunStore there, store::RunStore::open(recording.store));
      STITCH_TRY(std::vector<store::Run> runs, there.list());
      if (runs.empty()) return this->run(folder, false, kill_at);  // it had not even begun
      recording.resume = runs.front().id;
    }
    Brains brains;
    auto planner = std::make_unique<ScriptedPlanner>(std::vector<std::string>{"plain", "a", "b", "c"});
    planner->new_steps = {"e"};
    brains.planner = std::move(planner);
    auto coder = std::make_unique<ScriptedCoder>();
    coder->revisions = 1;
    brains.coder = std::move(coder);
    const fs::path trouble = folder / "trouble";
    brains.verifier = std::make_unique<SigningVerifier>(
        std::map<std::string, Answer>{{"plain 1", passes(8)},
                                      {"a 1", is_wrong()},
                                      {"a 2", passes(6)},
                                      {"b 1", passes(7)},
                                      // Trouble of our own, once.
                                      {"c 1",
                                       [=]() -> Result<verifier::Verdict> {
                                         if (fs::exists(trouble)) return passes(4)();
                                         (void)write_file(trouble, "");
                                         return work_error("reference", "as the script says");
                                       }},
                                      {"e 1", passes(3)}},
        folder / "judged", executioner);
    STITCH_TRY(
        std::unique_ptr<RecordedRun> record,
        RecordedRun::open(recording, {.task = "tiny", .graph = plan::graph_hash(task.graph)}, &executioner));
    record->attach(*context, brains, options, Clock::now());
    auto optimized = optimize(task, *context, brains, options);
    record->finish(optimized);
    if (!optimized) return optimized.error();
    std::vector<std::string> words;
    for (const LedgerEntry& entry : optimized->ledger.entries)
      words.push_back(format("{} {}", entry.step, name(entry.outcome)));
    auto text = read_file(options.out / "program.cu");
    if (!text) return text.error();
    return Ended{join(words, ", "), *text, executioner.ticks};
  }

  // In a process of its own, which is expected to be killed.
  void run_and_kill(const fs::path& folder, bool resume, int kill_at) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto ended = run(folder, resume, kill_at);
      ::_exit(ended ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_TRUE(WEXITSTATUS(status) == 137 || WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
  }

  // How often the most often judged program was.
  static std::map<std::string, int> judged(const fs::path& folder) {
    std::map<std::string, int> out;
    auto text = read_file(folder / "judged");
    for (const std::string& line : split(text ? *text : "", '\n'))
      if (!line.empty()) ++out[line];
    return out;
  }

  Task task{.source = "tiny.py"};
  const GpuSpec gpu = *find_gpu("H200");
  std::optional<plan::Context> context;
  std::optional<ScratchFolder> scratch;
};

TEST_F(ARecordedRun, KilledAnywhereAndResumedShipsTheSameProgram) {
  auto whole = must(run(scratch->path() / "whole", false));
  EXPECT_EQ(whole.ledger, "plain better, a better, b not better, c better, e better");
  const auto judged_once = judged(scratch->path() / "whole");
  std::mt19937 random(7);
  std::uniform_int_distribution<int> when(1, whole.ticks - 1);
  for (int i = 0; i < 20; ++i) {
    const fs::path folder = scratch->path() / std::to_string(i);
    const int first = when(random), second = when(random);
    SCOPED_TRACE(format("killed at {} of {}, then at {}", first, whole.ticks, second));
    run_and_kill(folder, false, first);
    if (i % 4 == 1) run_and_kill(folder, true, second);
    {
      auto store = store::RunStore::open(folder / "runs.db");
      if (store && !store->list()->empty() && store->list()->front().state == store::RunState::shipped)
        continue;  // the second life was long enough
    }
    auto resumed = must(run(folder, true));
    EXPECT_EQ(resumed.program, whole.program);
    EXPECT_EQ(resumed.ledger, whole.ledger);
    EXPECT_EQ(store::RunStore::open(folder / "runs.db")->list()->front().summary.kept, 4);
    // Whatever was being judged in the moment is judged again, and nothing else.
    int more = 0;
    for (const auto& [program, times] : judged(folder)) {
      auto found = judged_once.find(program);
      more += times - (found == judged_once.end() ? 0 : found->second);
    }
    EXPECT_LE(more, i % 4 == 1 ? 2 : 1);
  }
}

TEST_F(ARecordedRun, HasEveryAttemptWithItsSources) {
  const fs::path folder = scratch->path() / "run";
  ASSERT_TRUE(run(folder, false));
  auto store = store::RunStore::open(folder / "runs.db", store::RunStore::Access::read);
  ASSERT_TRUE(store) << store.error().text();
  const store::Run record = store->list()->front();
  EXPECT_EQ(record.state, store::RunState::shipped);
  EXPECT_EQ(record.summary.attempts, 7);
  EXPECT_EQ(record.summary.kept, 4);
  auto attempts = must(store->events(record, "attempt"));
  std::vector<std::string> words;
  for (const store::StoredEvent& event : attempts) {
    const Json body = *parse_json(event.body);
    auto source = must(store->blob(body.at("sources").at("program.cu").get<std::string>()));
    words.push_back(trim(source.substr(source.rfind("// ") + 3)) + ": " + word(body, "outcome"));
  }
  EXPECT_EQ(join(words, ", "),
            "plain 1: better, a 1: wrong, a 2: better, b 1: not better, c 1: our trouble, c 1: better, e 1: "
            "better");
}

TEST_F(ARecordedRun, OfAChangedModelIsNotResumed) {
  const fs::path folder = scratch->path() / "run";
  run_and_kill(folder, false, 8);
  auto graph = parse_graph("graph \"tiny\"\ninput %x : f32[5]\n%y = relu(%x) : f32[5]\noutput %y\nend\n");
  task.graph = *std::move(graph);
  context.emplace(task.graph, gpu, Numerics::standard);
  auto resumed = run(folder, true);
  ASSERT_FALSE(resumed);
  EXPECT_EQ(resumed.error().code, "run_changed");
}

TEST_F(ARecordedRun, GoesOnWithoutAStoreThatFails) {
  const fs::path folder = scratch->path() / "run";
  fs::create_directories(folder);
  Executioner heard;
  OptimizeOptions options;
  options.out = folder / "out";
  Brains brains;
  brains.planner = std::make_unique<ScriptedPlanner>(std::vector<std::string>{"plain", "a"});
  brains.coder = std::make_unique<ScriptedCoder>();
  auto breaks = [&]() -> Result<verifier::Verdict> {
    auto other = store::RunStore::open(folder / "runs.db");
    (void)other->database().execute("DROP TABLE events");
    return passes(3)();
  };
  brains.verifier = std::make_unique<ScriptedVerifier>(std::deque<Answer>{passes(4), breaks, passes(3)});
  auto record = must(RecordedRun::open({.store = folder / "runs.db"}, {.task = "tiny"}, &heard));
  record->attach(*context, brains, options, Clock::now());
  auto optimized = must(optimize(task, *context, brains, options));
  EXPECT_EQ(optimized.seconds_a_call, 3);
  ASSERT_EQ(heard.warnings.size(), 1u);  // once
  EXPECT_TRUE(heard.warnings[0].starts_with("the run is no longer recorded: ")) << heard.warnings[0];
}

TEST_F(ARecordedRun, KeepsTheConversation) {
  const fs::path folder = scratch->path() / "run";
  fs::create_directories(folder);
  const store::RunStart start{.task = "tiny", .graph = plan::graph_hash(task.graph)};
  std::string id;
  {
    auto record = must(RecordedRun::open({.store = folder / "runs.db"}, start, nullptr));
    record->add_to_conversation("{\"ask\": 1}");
    record->add_to_conversation("{\"ask\": 1}");
    id = record->id();
  }
  auto record = must(RecordedRun::open({.store = folder / "runs.db", .resume = id}, start, nullptr));
  EXPECT_EQ(record->conversation(), (std::vector<std::string>{"{\"ask\": 1}", "{\"ask\": 1}"}));
}

}  // namespace
}  // namespace stitch::agents
