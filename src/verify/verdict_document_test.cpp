#include "verify/verdict_document.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stitch::verifier {
namespace {

// A program's error message is in a gate's summary: it moves no cursor.
TEST(VerdictTable, HasNoEscapeCodes) {
  const Verdict verdict{.gates = {{.gate = "load",
                                   .outcome = Outcome::failed,
                                   .code = "refused",
                                   .summary = "no\x1b[2Jpassed\r"}},
                        .notes = {"a\x1b]0;title\x07"}};
  const std::string text = table(verdict, {});
  EXPECT_EQ(text.find_first_of("\x1b\x07\r"), std::string::npos) << text;
}

TEST(GatesText, NamesWhatWasNotRun) {
  Verdict verdict;
  verdict.gates = {{.gate = "build", .outcome = Outcome::passed},
                   {.gate = "sanitizer", .outcome = Outcome::skipped, .summary = "not asked for"},
                   {.gate = "correctness", .outcome = Outcome::passed}};
  EXPECT_EQ(gates_text(verdict), "passed 2 of 3 gates; not run: sanitizer (not asked for)");
  verdict.gates.erase(verdict.gates.begin() + 1);
  EXPECT_EQ(gates_text(verdict), "passed all 2 gates");
}

TEST(VerdictDocument, ReadsBackWhatWasWritten) {
  const Verdict verdict{.header = std::make_shared<const Json>(Json{{"program", "p"}}),
                        .gates = {{.gate = "correctness",
                                   .id = GateId::correctness,
                                   .outcome = Outcome::passed,
                                   .seconds = 0.1},
                                  {.gate = "timing",
                                   .id = GateId::timing,
                                   .outcome = Outcome::failed,
                                   .fault = Fault::wrong,
                                   .code = "wrong_when_timed",
                                   .summary = "off by \"one\"",
                                   .evidence = std::make_shared<const Json>(Json{{"error", 0.1}})}},
                        .notes = {"weak"},
                        .timing = std::make_shared<const Json>(Json{{"program", {{"seconds", 1.25e-3}}}}),
                        .library = "/cache/lib.so"};
  const std::string written = to_document(verdict).dump();
  auto parsed = parse_json(written);
  ASSERT_TRUE(parsed);
  auto read = read_verdict(*parsed);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(to_document(*read).dump(), written);
  EXPECT_EQ(read->failure()->fault, Fault::wrong);
  EXPECT_EQ(to_json(*read).dump(), to_json(verdict).dump());
}

TEST(VerdictDocument, RefusesWhatIsNone) {
  Json document = to_document({});
  document["stitch_verdict"] = 2;
  EXPECT_EQ(read_verdict(document).error().message, "the verdict is of another version");
  EXPECT_FALSE(read_verdict(Json::array()));
  document = to_document({.gates = {{.gate = "load"}}});
  document["gates"][0]["fault"] = "nobody's";
  EXPECT_FALSE(read_verdict(document));
}

}  // namespace
}  // namespace stitch::verifier
