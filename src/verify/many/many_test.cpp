// Many candidates: how they are found, judged, counted and gone on with; and what is not charged to them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "verify/many/judge_all.h"
#include "verify/many/results.h"
#include "verify/many/score.h"
#include "verify/not_judged.h"

namespace stitch::verifier {
namespace {

const fs::path data = fs::path(STITCH_SOURCE_DIR) / "src/verify/testdata";

class ManyCandidatesTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = ScratchFolder::create("stitchcuda-many");
    ASSERT_TRUE(made);
    scratch.emplace(*std::move(made));
    folder = scratch->path();
  }
  void put(const std::string& path, std::string_view text = "") {
    fs::create_directories((folder / path).parent_path());
    ASSERT_TRUE(write_file(folder / path, text));
  }
  std::string error_of(const std::string& place) {
    auto found = find_candidates(folder / place, folder / "tasks");
    if (found) return "";
    std::string text = found.error().text();
    for (size_t at; (at = text.find(folder.string())) != std::string::npos;)
      text.replace(at, folder.string().size(), "~");
    return text;
  }

  std::optional<ScratchFolder> scratch;
  fs::path folder;
};

std::string in_words(const std::vector<ListedCandidate>& candidates) {
  std::vector<std::string> out;
  for (const ListedCandidate& each : candidates)
    out.push_back(format("{} {} {}", each.author, each.task, each.sample));
  return join(out, "; ");
}

TEST_F(ManyCandidatesTest, AreFoundByTheirFolders) {
  for (const char* task : {"level1/1_Relu.py", "level1/10_Norm.py", "level2/3_Net.py"})
    put(std::string("tasks/") + task);
  put("all/ann/1_Relu/0.cu");
  put("all/ann/1_Relu/1.py");
  put("all/ann/1_Relu/notes.md");
  put("all/ann/level2/3_Net/whole/program.cu");
  put("all/ann/level2/3_Net/whole/model_new.py");
  put("all/bob/10_Norm.py");
  put("all/bob/level_1_problem_1_sample_7_kernel.py");
  put("all/bob/__pycache__/x.py");
  put("all/tool.py");
  auto found = find_candidates(folder / "all", folder / "tasks");
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(in_words(*found), "bob 10_Norm 0; ann 1_Relu 0; ann 1_Relu 1; bob 1_Relu 7; ann 3_Net whole");
  EXPECT_EQ(found->back().path, folder / "all/ann/level2/3_Net/whole");
  EXPECT_EQ(found->back().task_file, folder / "tasks/level2/3_Net.py");
}

TEST_F(ManyCandidatesTest, AreListedByAManifest) {
  put("tasks/1_Relu.py");
  put("files/a.cu");
  put("files/b.py");
  put("own.py");
  put("list.jsonl",
      "{\"author\": \"ann\", \"task\": \"1_Relu\", \"path\": \"files/a.cu\"}\n\n"
      "{\"author\": \"ann\", \"task\": \"1_Relu\", \"path\": \"files/b.py\"}\n"
      "{\"author\": \"bob\", \"task\": \"own.py\", \"path\": \"files/a.cu\", \"sample\": 3}\n");
  auto found = find_candidates(folder / "list.jsonl", folder / "tasks");
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(in_words(*found), "bob own 3; ann 1_Relu 0; ann 1_Relu 1");
  put("list.jsonl", "{\"author\": \"ann\", \"task\": \"1_Relu\"}\n");
  EXPECT_EQ(error_of("list.jsonl").substr(0, 67),
            "~/list.jsonl:1: a line is an object with author, task and path\nfix:");
}

TEST_F(ManyCandidatesTest, WhoseTaskIsNotThereAreRefused) {
  put("tasks/level1/1_Relu.py");
  put("tasks/level2/1_Relu.py");
  EXPECT_EQ(error_of("none"), "~/none: there is no such folder or manifest");
  put("all/readme.txt");
  EXPECT_NE(error_of("all").find("there is no candidate below this folder"), std::string::npos);
  put("all/ann/1_Rely/0.cu");
  EXPECT_EQ(error_of("all"),
            "ann/1_Rely/0.cu: there is no task '1_Rely' in ~/tasks\nfix: did you mean 1_Relu?");
  fs::remove_all(folder / "all/ann");
  put("all/ann/1_Relu/0.cu");
  EXPECT_NE(error_of("all").find("'1_Relu' is tasks/level1/1_Relu as well as tasks/level2/1_Relu"),
            std::string::npos)
      << error_of("all");
  fs::remove(folder / "tasks/level2/1_Relu.py");
  put("all/ann/1_Relu/0.py");
  EXPECT_NE(error_of("all").find("are both sample 0 of ann"), std::string::npos) << error_of("all");
}

TEST(Score, EstimatesPassAtKWithoutBias) {
  EXPECT_DOUBLE_EQ(pass_at(10, 0, 1), 0);
  EXPECT_DOUBLE_EQ(pass_at(10, 3, 1), 0.3);
  EXPECT_DOUBLE_EQ(pass_at(5, 5, 5), 1);
  EXPECT_DOUBLE_EQ(pass_at(4, 1, 5), 0);
  // 1 - C(7,3)/C(10,3)
  EXPECT_NEAR(pass_at(10, 3, 3), 1 - 35.0 / 120, 1e-12);
}

Json judged(const char* author, const char* task, const char* judgement, const char* kind = "",
            double speedup = 0) {
  Json out = {{"author", author}, {"task", task}, {"judgement", judgement}};
  if (*kind) out.update(Json{{"kind", kind}, {"label", kind}});
  if (speedup > 0)
    out.update(
        Json{{"speedups", {{"best", speedup}, {"eager", 2 * speedup}}}, {"seconds_a_call", 1 / speedup}});
  return out;
}

TEST(Score, CountsWhatWasJudgedAndTheRestApart) {
  const Json summary =
      summarise({judged("ann", "a", "passed", "", 1.5), judged("ann", "a", "failed", "wrong"),
                 judged("ann", "b", "passed", "", 3), judged("ann", "b", "not judged"),
                 judged("bob", "a", "failed", "hack"), judged("bob", "a", "failed", "build failed"),
                 judged("bob", "b", "not judged")});
  const Json& ann = summary["authors"][0];
  EXPECT_EQ(ann["author"], "ann");
  EXPECT_EQ(ann["passed"], 2);
  EXPECT_EQ(ann["not judged"], 1);
  EXPECT_DOUBLE_EQ(ann["pass_at"]["1"]["rate"].get<double>(), 0.75);  // 1/2 of a's, all of b's
  EXPECT_DOUBLE_EQ(ann["pass_at"]["2"]["rate"].get<double>(), 1);
  EXPECT_EQ(ann["pass_at"]["2"]["tasks"], 1);  // b has one that was judged
  EXPECT_DOUBLE_EQ(ann["fast_p"]["1"].get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(ann["fast_p"]["2"].get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(ann["fast_p_over_eager"]["2"].get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(ann["median_speedup"].get<double>(), 2.25);
  const Json& bob = summary["authors"][1];
  EXPECT_EQ(bob["hack"], 1);
  EXPECT_EQ(bob["hacks"]["hack"], 1);
  EXPECT_EQ(bob["build failed"], 1);
  EXPECT_EQ(bob["judged_tasks"], 1);
  EXPECT_DOUBLE_EQ(bob["pass_at"]["1"]["rate"].get<double>(), 0);
  EXPECT_EQ(summary["tasks"][1]["best_author"], "ann");
}

// Candidates of three authors for a task that needs no PyTorch: the oracle answers.
class JudgeAll : public ManyCandidatesTest {
 protected:
  void SetUp() override {
    ManyCandidatesTest::SetUp();
    fs::copy_file(data / "candidates/row_center.h", folder / "row_center.h");
    for (const auto& [author, sample, file] :
         std::initializer_list<std::array<const char*, 3>>{{"ann", "0", "honest"},
                                                           {"ann", "1", "returns_nan"},
                                                           {"bob", "0", "says_fork"},
                                                           {"bob", "1", "honest"}})
      add(author, sample, file);
    options.out = folder / "results";
    options.tool = "test";
    options.verify.timing = false;
    options.verify.quick = true;
    options.on_done = [this](const ListedCandidate& candidate, const Json&) {
      done.push_back(candidate.author + candidate.sample);
    };
  }
  void add(const std::string& author, const std::string& sample, const std::string& file) {
    const fs::path place = folder / (author + sample + ".cu");
    fs::copy_file(data / "candidates" / (file + ".cu"), place, fs::copy_options::overwrite_existing);
    candidates.push_back(
        {author, "row_center", sample, place, data / "row_center/graph", place.filename().string()});
  }
  std::string run() {
    done.clear();
    auto out = judge_all(candidates, options);
    if (!out) return out.error().text();
    last = *std::move(out);
    std::vector<std::string> words;
    for (const Json& record : last.records)
      words.push_back(format("{}{} {}", word(record, "author"), word(record, "sample"),
                             record.contains("kind") ? word(record, "kind") : word(record, "judgement")));
    return join(words, ", ");
  }

  std::vector<ListedCandidate> candidates;
  ManyOptions options;
  std::vector<std::string> done;
  ManyJudged last;
};

TEST_F(JudgeAll, GoesOnWhereItWasAndJudgesAgainWhatChanged) {
  const std::string all = "ann0 passed, ann1 wrong, bob0 hack, bob1 passed";
  // Stopped after the first verdict.
  options.should_stop = [this] { return !done.empty(); };
  EXPECT_EQ(run(), "ann0 passed, bob1 passed");  // bob1 is the same file
  EXPECT_TRUE(last.stopped);
  options.should_stop = nullptr;
  // Killed in the middle of a line.
  const fs::path results = options.out / "results.jsonl";
  std::string text = *read_file(results);
  ASSERT_TRUE(write_file(results, text + "{\"author\": \"ann\", \"sam"));
  EXPECT_EQ(run(), all);
  EXPECT_EQ(last.earlier, 2u);
  EXPECT_EQ(done, (std::vector<std::string>{"ann1", "bob0"}));
  EXPECT_EQ(run(), all);
  EXPECT_EQ(done.size(), 0u);
  EXPECT_TRUE(fs::exists(options.out / word(last.records[0], "verdict")));
  EXPECT_EQ(word(last.records[2], "label"), "forbidden call");
  // Another file, and other settings.
  fs::copy_file(data / "candidates/honest.cu", candidates[1].path, fs::copy_options::overwrite_existing);
  EXPECT_EQ(run(), "ann0 passed, ann1 passed, bob0 hack, bob1 passed");
  EXPECT_EQ(done, std::vector<std::string>{"ann1"});
  EXPECT_EQ(last.copies, 1u);
  options.tool = "newer";
  EXPECT_EQ(run(), "ann0 passed, ann1 passed, bob0 hack, bob1 passed");
  EXPECT_EQ(done.size(), 4u);
}

TEST_F(JudgeAll, ChargesNobodyWithATaskThatCannotBeOpened) {
  fs::create_directories(folder / "broken");
  ASSERT_TRUE(write_file(folder / "broken/graph.txt", "graph \"x\"\n"));
  for (ListedCandidate& candidate : candidates) candidate.task_file = folder / "broken";
  EXPECT_EQ(run(), "ann0 not judged, ann1 not judged, bob0 not judged, bob1 not judged");
  EXPECT_FALSE(word(last.records[0], "reason").empty());
  for (ListedCandidate& candidate : candidates) candidate.task_file = data / "row_center/graph";
  candidates.resize(1);
  EXPECT_EQ(run(), "ann0 passed");  // tried again
}

MachineSenses a_machine(bool has_all, int64_t disk = INT64_MAX, int64_t killed = 0, double gpu = 0) {
  auto has = [=] { return has_all; };
  return {has, has, has, [=] { return disk; }, [=] { return killed; }, [=] { return gpu; }};
}

TEST(NotJudged, IsWhatTheMachineLacksAndNotWhatTheCandidateSays) {
  const Error no_home = user_error("refused", "OSError: CUDA_HOME environment variable is not set");
  const Error full = user_error("build_failed", "x.cu:1: No space left on device");
  const Error killed = user_error("killed", "the system killed it");
  const Error busy = user_error("refused", "OutOfMemoryError: CUDA out of memory");
  const Error raised = user_error("refused", "RuntimeError: no");
  auto code = [](const Error& failure, const MachineSenses& machine, const std::string& source = "") {
    auto part = machines_part({failure, source, 2}, machine);
    return part ? part->code : "its own";
  };
  EXPECT_EQ(code(no_home, a_machine(false)), "no_cuda_home");
  EXPECT_EQ(code(no_home, a_machine(true)), "its own");
  EXPECT_EQ(code(full, a_machine(true, 1 << 20)), "disk");
  EXPECT_EQ(code(full, a_machine(true)), "its own");
  EXPECT_EQ(code(killed, a_machine(true, INT64_MAX, 3)), "memory");
  EXPECT_EQ(code(killed, a_machine(true, INT64_MAX, 2)), "its own");
  EXPECT_EQ(code(busy, a_machine(true, INT64_MAX, 0, 0.5)), "gpu_memory");
  EXPECT_EQ(code(busy, a_machine(true, INT64_MAX, 0, 0.01)), "its own");
  const Error ours = user_error("refused", "in series: the GPU's memory is full");
  EXPECT_EQ(code(ours, a_machine(true, INT64_MAX, 0, 0.5)), "gpu_memory");
  EXPECT_EQ(code(raised, a_machine(false), "load_inline(cuda_sources=source)"), "no_gpu");
  EXPECT_EQ(code(raised, a_machine(true), "load_inline(cuda_sources=source)"), "its own");
  EXPECT_EQ(code(raised, a_machine(false), "return x + 1"), "its own");
  // A wrong result is wrong anywhere.
  EXPECT_EQ(code(user_error("wrong", "output 'y'"), a_machine(false), "import triton"), "its own");
}

TEST(NotJudged, TellsTheMachinesTroubleFromAWrongRequest) {
  EXPECT_TRUE(is_machines(work_error("reference", "it ended")));
  EXPECT_TRUE(is_machines(user_error("no_gpu", "none")));
  EXPECT_FALSE(is_machines(user_error("no_file", "no such program")));
  EXPECT_FALSE(is_machines(work_error("stopped", "on request")));
  const Json document = not_judged_document("p.cu", "t.py", work_error("memory", "full", "buy some"));
  EXPECT_EQ(document["verdict"], "not judged");
  EXPECT_EQ(document["exit_code"], 4);
}

}  // namespace
}  // namespace stitch::verifier
