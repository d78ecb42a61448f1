// verify --all from the command line, without PyTorch: what is printed, written and said in exit codes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "base/testdata/must.h"
#include "cli/pages/many_report.h"
#include "cli/testdata/ran.h"
#include "gpu/gpu_detect.h"
#include "verify/many/score.h"

namespace stitch {
namespace {

TEST(VerifyAll, AsksForWhatIsMissing) {
  auto scratch = must(ScratchFolder::create("stitchcuda-verify-all"));
  const std::string all = (scratch.path() / "all").string();
  fs::create_directories(scratch.path() / "all/ann/1_Relu");
  ASSERT_TRUE(write_file(scratch.path() / "all/ann/1_Relu/0.cu", ""));
  EXPECT_EQ(stitchcuda({"verify"}).code, 2);
  EXPECT_EQ(stitchcuda({"verify", "p.cu"}).code, 2);
  Ran said = stitchcuda({"verify", "--all", all, "--device", "emulated"});
  EXPECT_EQ(said.code, 2);
  EXPECT_NE(said.err.find("fix: name the folder of tasks: --tasks DIR"), std::string::npos) << said.err;
  EXPECT_EQ(stitchcuda({"verify", "--all", all, "--task", "t.py"}).code, 2);
  said = stitchcuda({"verify", "--all", all, "--device", "emulated", "--receipt", "r.json"});
  EXPECT_NE(said.err.find("--receipt is for a single program"), std::string::npos) << said.err;
}

TEST(VerifyAll, AMachineWithoutWhatItTakesJudgesNobody) {
  if (auto driver = detect_gpus(); driver && !driver->gpus.empty()) GTEST_SKIP() << "there is a GPU";
  const std::string source = STITCH_SOURCE_DIR "/src/verify/testdata/";
  Ran said = stitchcuda({"verify", source + "candidates/honest.cu", "--task", source + "row_center/graph",
                         "--device", "cuda", "--json"});
  EXPECT_EQ(said.code, 4) << said.out << said.err;
  auto document = parse_json(said.out);
  ASSERT_TRUE(document) << said.out;
  EXPECT_EQ((*document)["verdict"], "not judged");
  EXPECT_EQ((*document)["code"], "no_gpu");
  // A Python that the user named and that isn't there is the user's mistake.
  EXPECT_EQ(stitchcuda({"verify", source + "model_new/honest.py", "--task", source + "row_center/task.py",
                        "--device", "emulated", "--python", "/nowhere/python"})
                .code,
            2);
}

TEST(VerifyAll, ShowsFiguresOfEachAuthorAndNothingThatAnAuthorWrote) {
  Json summary = verifier::summarise({Json{{"author", "ann\x1b[31m<b>"},
                                           {"task", "a"},
                                           {"sample", "0"},
                                           {"judgement", "passed"},
                                           {"speedups", {{"best", 2.5}}},
                                           {"seconds_a_call", 1e-5}},
                                      Json{{"author", "bob"},
                                           {"task", "a"},
                                           {"sample", "0"},
                                           {"judgement", "failed"},
                                           {"kind", "hack"},
                                           {"label", "forged time"},
                                           {"code", "forged_time"},
                                           {"reason", "<script>"}},
                                      Json{{"author", "bob"},
                                           {"task", "b"},
                                           {"sample", "0"},
                                           {"judgement", "not judged"},
                                           {"code", "no_gpu"}}});
  summary["run"] = {
      {"timed", true}, {"not_reached", 0}, {"numerics", "default"}, {"version", "1"}, {"date", "now"}};
  const std::string text = verify_all_text(summary, {});
  for (const char* part :
       {"pass@1", "fast_2", "100.0 %", "2.50x", "Hacks of bob: forged time (1)", "no_gpu (1)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace stitch
