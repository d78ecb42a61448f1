// What needs PyTorch: the example programs through every gate, Python candidates, receipts.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "verify/receipt.h"
#include "verify/verify.h"

namespace stitch::verifier {

namespace {

const fs::path source = STITCH_SOURCE_DIR;
const fs::path testdata = source / "src/verify/testdata";

std::vector<std::string> names_in(const fs::path& folder, const std::string& extension) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (extension.empty() ? entry.is_directory() : entry.path().extension() == extension)
      names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

std::string in_words(const Verdict& verdict) {
  const GateReport* failure = verdict.failure();
  return failure ? failure->gate + ": " + failure->code : "passed";
}

class ExamplePrograms : public testing::TestWithParam<std::string> {};
class PythonCandidates : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(ExamplePrograms, PassEveryGate) {
  fs::path folder = source / "examples/programs" / GetParam();
  auto verdict = verify({.program = folder, .task = folder / "task.py"});
  ASSERT_TRUE(verdict) << verdict.error().text();
  EXPECT_TRUE(verdict->passed()) << table(*verdict, {});
  for (const char* gate : {"correctness", "conduct", "thread order", "regions", "profile", "coverage"})
    EXPECT_EQ(verdict->gate(gate)->outcome, Outcome::passed) << gate << ": " << verdict->gate(gate)->summary;
}
INSTANTIATE_TEST_SUITE_P(, ExamplePrograms, testing::ValuesIn(names_in(source / "examples/programs", "")),
                         [](const auto& info) { return info.param; });

TEST_P(PythonCandidates, GetTheirVerdict) {
  fs::path file = testdata / "model_new" / (GetParam() + ".py");
  auto verdict = verify({.program = file, .task = testdata / "row_center/task.py", .quick = false});
  ASSERT_TRUE(verdict) << verdict.error().text();
  std::string text = *read_file(file);
  EXPECT_EQ(in_words(*verdict), text.substr(3, text.find("\"\"\"", 3) - 3)) << table(*verdict, {});
  EXPECT_EQ(verdict->header->at("trust"), "python");
}
INSTANTIATE_TEST_SUITE_P(, PythonCandidates, testing::ValuesIn(names_in(testdata / "model_new", ".py")),
                         [](const auto& info) { return info.param; });

// The same verdicts where every trial stays with PyTorch, outputs are judged from the arena, and as little is
// asked as of gigabytes.
TEST(HeldTrials, ChangeNoVerdict) {
  VerifyOptions options{.task = testdata / "row_center/task.py"};
  options.hold_above = options.few_above = 0;
  auto verifier = Verifier::open(options);
  ASSERT_TRUE(verifier) << verifier.error().text();
  for (const char* file :
       {"candidates/honest.cu", "candidates/wrong_in_one_element.cu", "candidates/returns_nan.cu",
        "candidates/returns_the_previous_output.cu", "candidates/corrupts_inputs.cu",
        "candidates/never_writes_the_last_row.cu", "candidates/computes_only_once.cu",
        "candidates/ignores_its_weights.cu", "candidates/accepts_other_shapes.cu", "model_new/honest.py",
        "model_new/writes_its_input.py"}) {
    options.program = testdata / file;
    auto verdict = (*verifier)->judge(options);
    ASSERT_TRUE(verdict) << file << ": " << verdict.error().text();
    std::string text = *read_file(options.program);
    EXPECT_NE(text.substr(0, text.find('\n')).find(in_words(*verdict)), std::string::npos)
        << file << "\n"
        << table(*verdict, {});
  }
}

// A program with states and several outputs, with nothing but types on this side.
TEST(HeldTrials, PassEveryGate) {
  fs::path folder = source / "examples/programs" / names_in(source / "examples/programs", "").front();
  VerifyOptions options{.program = folder, .task = folder / "task.py"};
  options.hold_above = 0;
  auto verdict = verify(options);
  ASSERT_TRUE(verdict) << verdict.error().text();
  EXPECT_TRUE(verdict->passed()) << table(*verdict, {});
  for (const char* gate : {"correctness", "sensitivity", "conduct", "thread order", "regions", "profile"})
    EXPECT_EQ(verdict->gate(gate)->outcome, Outcome::passed) << gate << ": " << verdict->gate(gate)->summary;
}

TEST(Receipt, CanBeRepeatedAndNotBeForged) {
  auto scratch = ScratchFolder::create("stitchcuda-receipt");
  ASSERT_TRUE(scratch);
  fs::path program = scratch->path() / "program.cu", receipt = scratch->path() / "receipt.json";
  fs::copy_file(testdata / "candidates/honest.cu", program);
  fs::copy_file(testdata / "candidates/row_center.h", scratch->path() / "row_center.h");
  auto verdict = verify({.program = program, .task = testdata / "row_center/graph", .receipt = receipt});
  ASSERT_TRUE(verdict) << verdict.error().text();
  ASSERT_TRUE(verdict->passed()) << table(*verdict, {});
  auto check = check_receipt({.receipt = receipt});
  ASSERT_TRUE(check) << check.error().text();
  EXPECT_TRUE(check->passed);

  std::string text = *read_file(receipt);
  size_t at = text.find("\"passed\"");
  ASSERT_TRUE(
      write_file(scratch->path() / "forged.json", text.substr(0, at) + "\"passEd\"" + text.substr(at + 8)));
  auto forged = check_receipt({.receipt = scratch->path() / "forged.json"});
  ASSERT_FALSE(forged);
  EXPECT_NE(forged.error().message.find("changed"), std::string::npos);

  ASSERT_TRUE(write_file(program, *read_file(program) + "\n"));
  auto changed = check_receipt({.receipt = receipt});
  ASSERT_TRUE(changed) << changed.error().text();
  EXPECT_FALSE(changed->passed);
  EXPECT_EQ(changed->differences, std::vector<std::string>{"the program's file 'program.cu' has changed"});
}

}  // namespace stitch::verifier
