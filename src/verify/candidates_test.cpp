// Programs that cheat, break or misbehave, each with the verdict it must get: the first line of its file.
// STITCHCUDA_TEST_DEVICE=cuda runs them on the GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "verify/verify.h"

namespace stitch::verifier {

namespace {

const fs::path testdata = fs::path(STITCH_SOURCE_DIR) / "src/verify/testdata";

bool on_gpu() {
  const char* device = std::getenv("STITCHCUDA_TEST_DEVICE");
  return device && std::string_view(device) == "cuda";
}

std::vector<std::string> candidates() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(testdata / "candidates"))
    if (entry.path().extension() == ".cu") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

// "correctness: wrong | passed on cuda"
std::vector<std::string> expected_verdicts(const fs::path& file) {
  std::string text = *read_file(file);
  std::string line = trim(text.substr(3, text.find('\n') - 3));
  std::vector<std::string> out;
  for (const std::string& part : split(line, '|')) {
    std::string one = trim(part);
    if (one.ends_with(" on cuda")) {
      if (!on_gpu()) continue;
      one = one.substr(0, one.size() - 8);
    }
    // "gate: code | code" shares the gate.
    if (one.find(':') == std::string::npos && one != "passed" && !out.empty())
      one = out.back().substr(0, out.back().find(':') + 2) + one;
    out.push_back(one);
  }
  return out;
}

VerifyOptions options_for(const fs::path& program) {
  VerifyOptions options{.program = program};
  options.device = on_gpu() ? runner::Device::cuda : runner::Device::emulated;
  options.time_limit = std::chrono::seconds(on_gpu() ? 10 : 5);
  options.build_time_limit = std::chrono::seconds(12);
  options.memory_limit = int64_t{on_gpu() ? 8 : 1} << 30;
  options.timing = on_gpu();
  options.rehearse_timing = !on_gpu();
  return options;
}

std::string verdict_in_words(const Verdict& verdict) {
  const GateReport* failure = verdict.failure();
  return failure ? failure->gate + ": " + failure->code : "passed";
}

class Candidates : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(Candidates, GetTheirVerdict) {
  fs::path file = testdata / "candidates" / (GetParam() + ".cu");
  auto verdict = verify(testdata / "row_center/graph", options_for(file));
  ASSERT_TRUE(verdict) << verdict.error().text();
  std::vector<std::string> expected = expected_verdicts(file);
  std::string got = verdict_in_words(*verdict);
  EXPECT_TRUE(std::ranges::find(expected, got) != expected.end())
      << "expected " << join(expected, " or ") << "\n"
      << table(*verdict, {});
  if (const GateReport* failure = verdict->failure()) {
    EXPECT_FALSE(failure->summary.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(, Candidates, testing::ValuesIn(candidates()),
                         [](const auto& info) { return info.param; });

}  // namespace stitch::verifier
