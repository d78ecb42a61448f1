#include <sstream>

#include "cli/profile.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "cli/profile_document.h"
#include "cli/run_cli.h"
#include "cli/testdata/sample_profile.h"

namespace stitch {
namespace {

struct Ran {
  int code = 0;
  std::string out, err;
};

Ran profile_of(const ProfileCommand& command, bool json = false) {
  std::ostringstream out, err;
  Console console{out, err, {}, {}, json};
  auto code = run_profile(command, console);
  return {code ? *code : code.error().exit_code(), out.str(), code ? err.str() : code.error().text()};
}

const std::string known = std::string(STITCH_SOURCE_DIR) + "/tools/known_bottlenecks/";

TEST(Profile, OfAProgramAlone) {
  auto scratch = ScratchFolder::create("stitch_profile");
  ASSERT_TRUE(scratch);
  const std::string page = scratch->path() / "page.html", trace = scratch->path() / "trace.json";
  const ProfileCommand command{
      .target = known + "tiny_kernels.cu", .device = "emulated", .html = page, .trace = trace};
  const Ran ran = profile_of(command);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("20 kernels"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("add_one"), std::string::npos) << ran.out;
  auto text = read_file(page);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("id=\"timeline\""), std::string::npos);
  auto events = parse_json(*read_file(trace));
  ASSERT_TRUE(events);
  EXPECT_GE(events->at("traceEvents").size(), 20u);
  const Ran again = profile_of(command);
  EXPECT_EQ(again.code, 0) << again.err;  // our own files may be written over
  const Ran document = profile_of({.target = known + "tiny_kernels.cu", .device = "emulated"}, true);
  auto json = parse_json(document.out);
  ASSERT_TRUE(json) << document.out;
  EXPECT_EQ(json->at("sides").size(), 1u);
  EXPECT_EQ(json->at("sides")[0].at("times"), "none");
}

TEST(Profile, MistakesAreTheUsers) {
  EXPECT_EQ(profile_of({.target = "nothing.cu"}).code, 2);
  EXPECT_EQ(profile_of({.target = "nothing.py"}).code, 2);
  EXPECT_EQ(profile_of({.target = "model.py", .task = "other.py"}).code, 2);
  EXPECT_EQ(profile_of({.target = known + "tiny_kernels.cu", .program = "other"}).code, 2);
  EXPECT_EQ(profile_of({.target = known + "tiny_kernels.cu", .device = "toaster"}).code, 2);
  EXPECT_EQ(profile_of({.target = known + "tiny_kernels.cu", .baseline = "all"}).code, 2);
  EXPECT_EQ(profile_of({.target = known + "tiny_kernels.cu", .numerics = "vague"}).code, 2);
}

TEST(ProfilePage, HoldsEverythingAndEscapesIt) {
  const std::string page = profile_page(samples::profiled(true), samples::profiled_sources());
  EXPECT_EQ(page.find("<b>nothing</b>"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt;nothing"), std::string::npos);
  EXPECT_NE(page.find("href=\"#source-0\""), std::string::npos);
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
  // Names inside the page's data can't end its script.
  const size_t data = page.find("id=\"data\">");
  ASSERT_NE(data, std::string::npos);
  EXPECT_GT(page.find('<', data), page.find("]}", data));
}

TEST(ProfileText, NamesBothSides) {
  const std::string text = profile_text(samples::profiled(true), {});
  for (const char* expected : {"PyTorch (eager): 70 kernels", "program (resnet18): 40 kernels", "bottleneck",
                               "launch-bound", "counters: no permission"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
}

}  // namespace
}  // namespace stitch
