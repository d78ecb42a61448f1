// stitchcuda notes and stitchcuda prompts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/testdata/must.h"
#include "cli/commands/doctor.h"
#include "cli/commands/mcp.h"
#include "cli/testdata/ran.h"
#include "serve/testdata/client.h"

namespace stitch {

namespace {

TEST(NotesCommand, AnswersQuestions) {
  const Ran found = stitchcuda({"notes", "bank", "conflicts", "-n", "1"});
  EXPECT_EQ(found.code, 0);
  EXPECT_TRUE(found.out.starts_with("Shared memory bank conflicts")) << found.out;
  auto json = must(parse_json(stitchcuda({"notes", "wgmma", "--gpu", "H200", "--json"}).out));
  EXPECT_EQ(json["notes"][0]["name"], "wgmma");
  EXPECT_EQ(stitchcuda({"notes", "xyzzy"}).code, 0);
  EXPECT_TRUE(stitchcuda({"notes", "xyzzy"}).has("No note matches"));
}

TEST(NotesCommand, ListsAndShows) {
  EXPECT_TRUE(stitchcuda({"notes", "--list"}).has("cp-async"));
  EXPECT_FALSE(stitchcuda({"notes", "--list", "--gpu", "ampere"}).has("wgmma "));
  EXPECT_TRUE(stitchcuda({"notes", "--show", "cp-async"}).has("## cp.async copies"));
}

TEST(NotesCommand, SaysWhatIsWrong) {
  EXPECT_EQ(stitchcuda({"notes"}).code, 2);
  EXPECT_TRUE(stitchcuda({"notes", "--show", "cp-asink"}).has("did you mean cp-async?"));
  EXPECT_TRUE(stitchcuda({"notes", "x", "--gpu", "volta"}).has("unknown GPU or architecture"));
  EXPECT_EQ(stitchcuda({"notes", "x", "--notes", "/no/such/folder"}).code, 2);
  EXPECT_EQ(stitchcuda({"notes", "x", "-n", "0"}).code, 2);
}

TEST(NotesCommand, NoNoteMovesTheCursor) {
  auto scratch = must(ScratchFolder::create("stitch-notes"));
  ASSERT_TRUE(write_file(scratch.path() / "evil.md",
                         "## xyzzy \x1b[2J (evil)\nwhen: \x1b[31m\ntags: a\n\n\x1b]0;b\x07\n"));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"notes", "xyzzy"}, {"notes", "--list"}, {"notes", "--show", "evil"}}) {
    std::vector<std::string> with = words;
    with.insert(with.end(), {"--notes", scratch.path().string()});
    const Ran said = stitchcuda(with);
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_FALSE(said.has("\x1b"));
  }
}

TEST(PromptsCommand, ListsShowsAndChecks) {
  EXPECT_TRUE(stitchcuda({"prompts", "list"}).has("coder_answer"));
  EXPECT_TRUE(stitchcuda({"prompts", "show", "judge"}).has("{{rubric}}"));
  EXPECT_TRUE(stitchcuda({"prompts", "show", "juge"}).has("did you mean judge?"));
  EXPECT_TRUE(stitchcuda({"prompts", "sing"}).has("list, show or check"));
  EXPECT_EQ(stitchcuda({"prompts", "show"}).code, 2);
  auto json = must(parse_json(stitchcuda({"prompts", "list", "--json"}).out));
  EXPECT_EQ(json["prompts"].size(), 9u);

  auto scratch = must(ScratchFolder::create("stitch-prompts"));
  const std::string folder = scratch.path().string();
  EXPECT_TRUE(stitchcuda({"prompts", "check", folder}).has("no prompts in this folder"));
  ASSERT_TRUE(write_file(scratch.path() / "judge.md", "{{source}}"));
  const Ran checked = stitchcuda({"prompts", "check", folder});
  EXPECT_EQ(checked.code, 0);
  EXPECT_TRUE(checked.has("judge does without skill, evidence, change, rubric, schema")) << checked.err;
  EXPECT_TRUE(stitchcuda({"prompts", "show", "judge", "--prompts", folder}).has("{{source}}"));
  ASSERT_TRUE(write_file(scratch.path() / "judge.md", "{{sauce}}"));
  EXPECT_EQ(stitchcuda({"prompts", "check", folder}).code, 2);
}

}  // namespace

// The tools that the command line adds to the server, and that all of them are there.

namespace {

TEST(McpCommand, HasEveryTool) {
  auto options = must(mcp_options({}));
  std::set<std::string> names;
  for (const serve::Tool& tool : options.tools) {
    EXPECT_TRUE(names.insert(tool.name).second) << tool.name;
    EXPECT_GT(tool.description.size(), 40u) << tool.name;
    // One name for the model, one for the program; what an answer holds is described.
    const Json& arguments = (*tool.schema)["properties"];
    for (const char* other : {"task", "target"}) EXPECT_FALSE(arguments.contains(other)) << tool.name;
    EXPECT_TRUE(tool.output) << tool.name;
    EXPECT_EQ(arguments.contains("model"), tool.runs_code) << tool.name;  // a model is Python
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"import", "show", "plan", "code", "region", "write_region", "verify",
                                   "optimize", "notes", "prompts", "profile", "runs", "doctor"}));
}

TEST(McpCommand, ShowsAModel) {
  auto scratch = must(ScratchFolder::create("stitch-mcp"));
  const std::string graph = (scratch.path() / "tiny.txt").string();
  ASSERT_TRUE(
      write_file(graph, "graph \"tiny\"\ninput %x : f32[4]\n%y = relu(%x) : f32[4]\noutput %y\nend\n"));
  auto options = must(mcp_options({.roots = {scratch.path().string()}}));
  serve::Client client(options);
  client.hello();
  Json shown = client.tool("show", {{"model", graph}, {"gpu", "H200"}});
  ASSERT_EQ(shown["isError"], false) << serve::Client::said(shown);
  EXPECT_NE(serve::Client::said(shown).find("relu"), std::string::npos);
  EXPECT_TRUE(shown["structuredContent"].contains("graph"));
  EXPECT_EQ(client.tool("show", {{"model", "/etc/hostname"}})["isError"], true);
  const Json schema = client.ask("resources/read", {{"uri", "stitchcuda://schema/plan"}});
  EXPECT_TRUE(schema.contains("result"));
}

TEST(McpCommand, RefusesFoldersThatAreNotThere) {
  EXPECT_EQ(mcp_options({.roots = {"/no/such/folder"}}).error().message, "no such folder");
  EXPECT_FALSE(mcp_options({.notes = "/no/such/folder"}));
  EXPECT_FALSE(mcp_options({.prompts = "/no/such/folder"}));
}

using enum Check::State;

std::vector<Check> example() {
  return {{"CUDA", "GPU", missing, "no driver", "times are estimates", "get a GPU"},
          {"CUDA", "nvcc", there, "13.0  /usr/local/cuda/bin/nvcc", "", ""},
          {"Python", "torch", there, "2.10.0", "", ""}};
}

TEST(Doctor, EachMissingThingSaysWhatItCostsAndTheFix) {
  EXPECT_EQ(doctor_text(example(), {.width = 80}),
            "CUDA\n"
            "  –  GPU    no driver: times are estimates\n"
            "            fix: get a GPU\n"
            "  ✓  nvcc   13.0  /usr/local/cuda/bin/nvcc\n"
            "\n"
            "Python\n"
            "  ✓  torch  2.10.0\n"
            "\n"
            "Ready, without a GPU: programs run on the emulated device, times are estimates.\n");
}

TEST(Doctor, PlainLocalesGetPlainSymbols) {
  std::vector<Check> checks = example();
  checks[2] = {"Python", "torch", needed, "", "no import", "pip install torch"};
  std::string text = doctor_text(checks, {.utf8 = false});
  EXPECT_NE(text.find("  x  torch  no import\n"), std::string::npos) << text;
  for (char c : text) EXPECT_GT(c, 0) << text;
  EXPECT_EQ(doctor_exit_code(checks), 1);
  EXPECT_EQ(doctor_exit_code(example()), 0);
}

TEST(Doctor, Json) {
  Json document = doctor_json(example());
  EXPECT_EQ(document["ready"], true);
  EXPECT_EQ(document["device"], "emulated");
  EXPECT_EQ(document["checks"][0]["state"], "missing");
  EXPECT_EQ(document["checks"][0]["fix"], "get a GPU");
}

TEST(Doctor, ThisMachine) {
  std::vector<Check> checks = examine_machine();
  EXPECT_GT(checks.size(), 12u);
  for (const Check& check : checks) {
    SCOPED_TRACE(check.name);
    EXPECT_FALSE(check.name.empty());
    if (check.state == there) {
      EXPECT_FALSE(check.found.empty());
    } else {
      EXPECT_FALSE(check.cost.empty());
      EXPECT_FALSE(check.fix.empty());
    }
  }
}

}  // namespace

}  // namespace stitch
