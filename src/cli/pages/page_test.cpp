#include <gtest/gtest.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/testdata/must.h"
#include "cli/pages/page.h"
#include "cli/pages/report.h"
#include "cli/testdata/ran.h"
#include "cli/testdata/sample_graphs.h"
#include "llm/answers/code_answer.h"

namespace stitch {

namespace {

std::string document_in(const std::string& page) {
  const std::string begin = "id=\"document\">";
  const size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

TEST(Page, HoldsTheDocumentWhateverItsTextsSay) {
  const Json document = {{"a", "</script><script>alert(1)</script>"}, {"b", "<!-- <b>{{js}}"}, {"c", "ü ☃"}};
  const std::string text = page(View::bench, document);
  EXPECT_EQ(document_in(text).find('<'), std::string::npos);
  auto read = must(parse_json(document_in(text)));
  EXPECT_EQ(read, document);
  EXPECT_EQ(text.find("<script>alert"), std::string::npos);
  EXPECT_NE(text.find("<body class=\"bench\">"), std::string::npos);
  EXPECT_TRUE(parse_json(document_in(page(View::run, {{"broken", "\xff\xfe"}})))) << "invalid UTF-8";
}

TEST(Page, NeedsNothingFromOutside) {
  const std::string text = page(View::show, Json::object());
  EXPECT_NE(text.find("default-src 'none'"), std::string::npos);
  for (const char* outside : {"https://", "//cdn", " src=", "@import", "url(h", "{{"})
    EXPECT_EQ(text.find(outside), std::string::npos) << outside;
  EXPECT_NE(text.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(Page, ThirteenHundredNodesAreQuickAndSmall) {
  const Graph graph = samples::transformer(96);
  const std::clock_t start = std::clock();
  const std::string text = page(View::show, report_json(make_report(graph, "model.py", *find_gpu("H200"))));
  EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC);
  EXPECT_LT(text.size(), 3'000'000u);
}

}  // namespace

// The candidate of docs/c-abi.md is what a reader copies: it builds and passes as it stands there.

namespace {

TEST(CAbiPage, HasACandidateThatPasses) {
  auto scratch = must(ScratchFolder::create("stitch-c-abi"));
  auto page = must(read_file(fs::path(STITCH_SOURCE_DIR) / "docs/c-abi.md"));
  const std::string task = scratch.path() / "task.py", candidate = scratch.path() / "candidate.cu";
  for (const llm::Fence& fence : llm::fences_in(page)) {
    if (fence.language != "python" && fence.language != "cuda") continue;
    ASSERT_TRUE(write_file(fence.language == "cuda" ? candidate : task, fence.text));
  }
  const Ran ran = stitchcuda({"verify", candidate, "--task", task, "--device", "emulated"});
  EXPECT_EQ(ran.code, 0) << ran.text();
}

}  // namespace

}  // namespace stitch
