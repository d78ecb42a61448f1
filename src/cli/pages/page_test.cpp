#include "cli/pages/page.h"

#include <gtest/gtest.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "cli/pages/report.h"
#include "cli/testdata/sample_graphs.h"

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
  auto read = parse_json(document_in(text));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, document);
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
}  // namespace stitch
