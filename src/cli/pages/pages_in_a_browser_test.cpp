// Every page the tool makes, opened in Chromium: text that overlaps or is cut off, in narrow and wide
// windows, light and dark; contrast; what no key reaches. testdata/browser/look.js has what is looked for. To
// look at them: STITCH_PAGE_OUT=/tmp/pages cli_test --gtest_filter='PagesInABrowser.*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "base/machine/process.h"
#include "cli/commands/optimize/bench.h"
#include "cli/pages/html.h"
#include "cli/pages/optimize_page.h"
#include "cli/pages/page.h"
#include "cli/commands/optimize/plan.h"
#include "cli/pages/run_page.h"
#include "cli/testdata/sample_graphs.h"
#include "cli/testdata/sample_judged.h"
#include "cli/testdata/sample_profile.h"
#include "cli/testdata/sample_runs.h"
#include "cli/testdata/sample_status.h"
#include "cli/testdata/sample_store.h"
#include "cli/commands/judge/verify_all.h"
#include "graph/text.h"
#include "serve/reward/page.h"

namespace stitch {
namespace {

const fs::path source = STITCH_SOURCE_DIR;

struct Looked {
  int code = -1;
  std::string findings;
};

Looked look_at(const std::vector<fs::path>& pages, const fs::path& screenshots) {
  Command command{.words = {"python3", source / "src/cli/testdata/browser/look.py"},
                  .time_limit = std::chrono::minutes(8)};
  command.extra_environment["PYTHONDONTWRITEBYTECODE"] = "1";
  for (const fs::path& page : pages) command.words.push_back(page);
  if (!screenshots.empty()) command.words.insert(command.words.end(), {"--screenshots", screenshots});
  Looked out;
  auto finished = run(command, [&](std::string_view line) { out.findings += std::string(line) + '\n'; });
  if (!finished) return out;
  return {finished->exit_code, out.findings + finished->error_tail};
}

class PagesInABrowser : public testing::Test {
 protected:
  void SetUp() override {
    auto made = ScratchFolder::create("stitch_pages");
    ASSERT_TRUE(made);
    scratch.emplace(std::move(*made));
    if (const char* told = std::getenv("STITCH_PAGE_OUT")) kept = told;
  }
  fs::path write(const std::string& name, const std::string& page) {
    fs::path path = (kept.empty() ? scratch->path() : kept) / name;
    EXPECT_TRUE(write_file(path, page));
    return path;
  }
  std::string planned(const Graph& graph) {
    fs::path model = scratch->path() / "graph.txt", page = scratch->path() / "planned.html";
    EXPECT_TRUE(write_file(model, print_graph(graph)));
    std::ostringstream out, err;
    Console console{out, err, {}, {}};
    auto done = run_plan({.model = model.string(), .gpu = "H200", .html = page.string()}, console);
    EXPECT_TRUE(done) << (done ? "" : done.error().text());
    auto text = read_file(page);
    return text ? *text : "";
  }
  // A run with everything open that a reader may open; none in a build without a store.
  std::string recorded() {
    auto store = store::RunStore::open(scratch->path() / "runs.db");
    if (!store) return html_page("run", "<p>built without SQLite</p>");
    auto run = store->find(add_sample_run(*store));
    auto page = run ? run_page(*store, *run) : Result<std::string>(run.error());
    EXPECT_TRUE(page) << page.error().text();
    return opened(page ? *page : "");
  }
  static std::string opened(std::string page) {
    for (size_t at = 0; (at = page.find("<details", at)) != std::string::npos; at += 13)
      page.insert(at + 8, " open");
    return page;
  }
  // With its sources open; one that is slower than PyTorch has its reasons.
  static std::string reported(double seconds_a_call) {
    Json run = samples::optimized(true);
    const ReportSources sources = samples::report_sources(run);
    run["seconds_a_call"] = seconds_a_call;
    return opened(optimize_page(run, sources));
  }
  std::optional<ScratchFolder> scratch;
  fs::path kept;
};

TEST_F(PagesInABrowser, NothingOverlapsOrIsCutOffAndKeysReachEverything) {
  auto shown = [](const Graph& graph) {
    return report_page(make_report(graph, "KernelBench/level3/model.py", *find_gpu("H200")));
  };
  auto summary = samples::bench_summary(source / "docs/results/kernelbench-h200.jsonl");
  ASSERT_TRUE(summary);
  Looked looked =
      look_at({write("show.html", shown(samples::resnet18())),
               write("show-large.html", shown(samples::transformer(96))),
               write("plan.html", planned(samples::resnet18())), write("optimize.html", reported(3.08e-4)),
               write("optimize-slower.html", reported(9e-4)),
               write("optimize-emulated.html", optimize_page(samples::optimized(false))),
               write("profile.html", profile_page(samples::profiled(true), samples::profiled_sources())),
               write("profile-emulated.html", profile_page(samples::profiled(false), {})),
               write("run.html", recorded()), write("bench.html", bench_page(*summary)),
               write("verify-all.html", verify_all_page(samples::judged_candidates(true))),
               write("verify-all-emulated.html", verify_all_page(samples::judged_candidates(false))),
               write("train.html", samples::training_page()),
               write("serve.html", serve::service_page(samples::service_status()))},
              kept);
  if (looked.code == 77) GTEST_SKIP() << "there is no Chromium: pages were not looked at";
  EXPECT_EQ(looked.code, 0) << looked.findings;
}

// The pages are looked at in vain if nothing could be found.
TEST_F(PagesInABrowser, WhatIsWrongIsFound) {
  fs::path bad = write("bad.html", R"(<!doctype html><meta charset="utf-8"><style>
    body { margin: 0; color: #000; background: #fff; }
    .over { position: absolute; top: 0; left: 0; } .cut { width: 40px; overflow: hidden; white-space: nowrap; }
    .wide { width: 3000px; text-align: right; } .pale { color: #ccc; } .click { cursor: pointer; }
    button:focus { outline: none; }
    </style><p class="over">first</p><p class="over">second</p><br><br><br><br><p class="cut">far too long for this</p>
    <p class="wide">beyond</p><p class="pale">pale</p><p class="click">mouse only</p><button>silent</button>)");
  Looked looked = look_at({bad}, {});
  if (looked.code == 77) GTEST_SKIP() << "there is no Chromium";
  EXPECT_EQ(looked.code, 1) << looked.findings;
  for (const char* expected :
       {"overlap: \"first\" and \"second\"", "cut off: \"far too long", "outside the window: \"beyond\"",
        "the page has to be scrolled sideways", "contrast 1.6: \"pale\"",
        "no key reaches: <p class=\"click\"", "focus can't be seen: <button>"})
    EXPECT_NE(looked.findings.find(expected), std::string::npos) << expected << "\n" << looked.findings;
}

}  // namespace
}  // namespace stitch
