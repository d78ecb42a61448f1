#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/machine/process.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "cli/commands/runs.h"
#include "cli/pages/page.h"
#include "cli/pages/report.h"
#include "cli/testdata/ran.h"
#include "cli/testdata/sample_graphs.h"
#include "cli/testdata/sample_judged.h"
#include "cli/testdata/sample_profile.h"
#include "cli/testdata/sample_runs.h"
#include "cli/testdata/sample_status.h"
#include "cli/testdata/sample_store.h"
#include "graph/text.h"
#include "llm/answers.h"

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

// Every page the tool makes, opened in Chromium: text that overlaps or is cut off, in narrow and wide
// windows, light and dark; contrast; what no key reaches; errors of the console. testdata/browser/look.js has
// what is looked for, viewer_test.js what each page must say. To look at them: STITCH_PAGE_OUT=/tmp/pages
// cli_test --gtest_filter='PagesInABrowser.*'

namespace {

const fs::path source = STITCH_SOURCE_DIR;

class PagesInABrowser : public testing::Test {
 protected:
  void SetUp() override {
    scratch.emplace(must(ScratchFolder::create("stitch_pages")));
    if (const char* told = std::getenv("STITCH_PAGE_OUT")) kept = told;
  }
  void write(const std::string& name, const std::string& text) {
    pages.push_back((kept.empty() ? scratch->path() : kept) / (name + ".html"));
    EXPECT_TRUE(write_file(pages.back(), text));
  }
  void show(const std::string& name, const Graph& graph) {
    write(name, page(View::show,
                     report_json(make_report(graph, "KernelBench/level3/model.py", *find_gpu("H200")))));
  }
  void plan(const std::string& name, const Graph& graph) {
    const fs::path model = scratch->path() / "graph.txt", file = scratch->path() / "planned.html";
    EXPECT_TRUE(write_file(model, print_graph(graph)));
    const Ran ran = stitchcuda({"plan", model, "--gpu", "H200", "--html", file});
    EXPECT_EQ(ran.code, 0) << ran.text();
    if (auto text = read_file(file)) write(name, *text);
  }
  void optimize(const std::string& name, bool measured, double seconds_a_call) {
    Json run = samples::optimized(measured);
    run["seconds_a_call"] = seconds_a_call;
    if (!measured) {
      run["ledger"]["pytorch_estimated_seconds"] = {{"eager", 1.54e-3}, {"eager-graph", 4.62e-4}};
      run["predicted_seconds"] = 1.7e-4;
    }
    write(name, page(View::optimize, samples::reported(std::move(run))));
  }
  // None in a build without a store.
  void run(const std::string& name) {
    auto store = store::RunStore::open(scratch->path() / "runs.db");
    if (!store) return;
    auto found = store->find(add_sample_run(*store));
    ASSERT_TRUE(found);
    auto document = must(run_document(*store, *found));
    write(name, page(View::run, document));
  }
  // What is found on them, a line each: "PAGE, …". One browser for all: it takes a second to start.
  std::pair<int, std::string> look() {
    const fs::path browser = source / "src/cli/testdata/browser";
    Command command{.words = {"python3", browser / "look.py", "--checks", browser / "viewer_test.js"},
                    .time_limit = std::chrono::minutes(8)};
    command.extra_environment["PYTHONDONTWRITEBYTECODE"] = "1";
    for (const fs::path& one : pages) command.words.push_back(one);
    if (!kept.empty()) command.words.insert(command.words.end(), {"--screenshots", kept});
    std::string findings;
    auto finished =
        stitch::run(command, [&](std::string_view line) { findings += std::string(line) + '\n'; });
    if (!finished) return {-1, finished.error().text()};
    return {finished->exit_code, findings + finished->error_tail};
  }

  std::optional<ScratchFolder> scratch;
  fs::path kept;
  std::vector<fs::path> pages;
};

TEST_F(PagesInABrowser, NothingOverlapsOrIsCutOffAndKeysReachEverything) {
  auto summary = samples::bench_summary(source / "docs/results/kernelbench-h200.jsonl");
  ASSERT_TRUE(summary);
  show("show", samples::resnet18());
  show("show-large", samples::transformer(96));
  show("show-empty", Graph{});
  plan("plan", samples::resnet18());
  optimize("optimize", true, 3.08e-4);
  optimize("optimize-slower", true, 9e-4);
  optimize("optimize-emulated", false, 1.7e-4);
  write("profile", page(View::profile, samples::profiled(true)));
  write("profile-emulated", page(View::profile, samples::profiled(false)));
  run("run");
  write("bench", page(View::bench, *summary));
  write("verify-all", page(View::verify_all, samples::judged_candidates(true)));
  write("verify-all-emulated", page(View::verify_all, samples::judged_candidates(false)));
  write("train", page(View::train, samples::training()));
  write("serve", page(View::service, samples::service_status()));
  // What looks would find in vain if nothing could be found.
  write("bad", R"(<!doctype html><meta charset="utf-8"><style>
    body { margin: 0; color: #000; background: #fff; }
    .over { position: absolute; top: 0; left: 0; } .cut { width: 40px; overflow: hidden; white-space: nowrap; }
    .wide { width: 3000px; text-align: right; } .pale { color: #ccc; } .click { cursor: pointer; }
    button:focus { outline: none; }
    </style><p class="over">first</p><p class="over">second</p><br><br><br><br><p class="cut">far too long for this</p>
    <p class="wide">beyond</p><p class="pale">pale</p><p class="click">mouse only</p><button>silent</button>
    <script>nothing.like.this();</script>)");
  const auto [code, findings] = look();
  if (code == 77) GTEST_SKIP() << "there is no Chromium: pages were not looked at";
  EXPECT_EQ(code, 1) << findings;
  for (const std::string& line : split(trim(findings), '\n'))
    EXPECT_TRUE(line.starts_with("bad.html, ")) << line;
  for (const char* expected :
       {"overlap: \"first\" and \"second\"", "cut off: \"far too long", "outside the window: \"beyond\"",
        "the page has to be scrolled sideways", "contrast 1.6: \"pale\"",
        "no key reaches: <p class=\"click\"", "focus can't be seen: <button>", "console: ReferenceError"})
    EXPECT_NE(findings.find(expected), std::string::npos) << expected << "\n" << findings;
}

}  // namespace

}  // namespace stitch
