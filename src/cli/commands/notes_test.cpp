// stitchcuda notes and stitchcuda prompts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "cli/run_cli.h"

namespace stitch {
namespace {

struct Said {
  int code;
  std::string out, err;
  bool has(std::string_view text) const { return (out + err).find(text) != std::string::npos; }
};

Said say(std::vector<std::string> words) {
  words.insert(words.begin(), "stitchcuda");
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  std::ostringstream out, err;
  const int code = run_cli(static_cast<int>(arguments.size()), arguments.data(), out, err);
  return {code, out.str(), err.str()};
}

TEST(NotesCommand, AnswersQuestions) {
  const Said found = say({"notes", "bank", "conflicts", "-n", "1"});
  EXPECT_EQ(found.code, 0);
  EXPECT_TRUE(found.out.starts_with("Shared memory bank conflicts")) << found.out;
  auto json = parse_json(say({"notes", "wgmma", "--gpu", "H200", "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["notes"][0]["name"], "wgmma");
  EXPECT_EQ(say({"notes", "xyzzy"}).code, 0);
  EXPECT_TRUE(say({"notes", "xyzzy"}).has("No note matches"));
}

TEST(NotesCommand, ListsAndShows) {
  EXPECT_TRUE(say({"notes", "--list"}).has("cp-async"));
  EXPECT_FALSE(say({"notes", "--list", "--gpu", "ampere"}).has("wgmma "));
  EXPECT_TRUE(say({"notes", "--show", "cp-async"}).has("title: cp.async copies"));
}

TEST(NotesCommand, SaysWhatIsWrong) {
  EXPECT_EQ(say({"notes"}).code, 2);
  EXPECT_TRUE(say({"notes", "--show", "cp-asink"}).has("did you mean cp-async?"));
  EXPECT_TRUE(say({"notes", "x", "--gpu", "volta"}).has("unknown GPU or architecture"));
  EXPECT_EQ(say({"notes", "x", "--notes", "/no/such/folder"}).code, 2);
  EXPECT_EQ(say({"notes", "x", "-n", "0"}).code, 2);
}

TEST(NotesCommand, NoNoteMovesTheCursor) {
  auto scratch = ScratchFolder::create("stitch-notes");
  ASSERT_TRUE(scratch);
  ASSERT_TRUE(
      write_file(scratch->path() / "evil.md",
                 "---\ntitle: xyzzy \x1b[2J\napplies to: all\nwhen: \x1b[31m\ntags: a\n---\n\x1b]0;b\x07\n"));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"notes", "xyzzy"}, {"notes", "--list"}, {"notes", "--show", "evil"}}) {
    std::vector<std::string> with = words;
    with.insert(with.end(), {"--notes", scratch->path().string()});
    const Said said = say(with);
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_FALSE(said.has("\x1b"));
  }
}

TEST(PromptsCommand, ListsShowsAndChecks) {
  EXPECT_TRUE(say({"prompts", "list"}).has("coder_answer"));
  EXPECT_TRUE(say({"prompts", "show", "judge"}).has("{{rubric}}"));
  EXPECT_TRUE(say({"prompts", "show", "juge"}).has("did you mean judge?"));
  EXPECT_TRUE(say({"prompts", "sing"}).has("list, show or check"));
  EXPECT_EQ(say({"prompts", "show"}).code, 2);
  auto json = parse_json(say({"prompts", "list", "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["prompts"].size(), 9u);

  auto scratch = ScratchFolder::create("stitch-prompts");
  ASSERT_TRUE(scratch);
  const std::string folder = scratch->path().string();
  EXPECT_TRUE(say({"prompts", "check", folder}).has("no prompts in this folder"));
  ASSERT_TRUE(write_file(scratch->path() / "judge.md", "{{source}}"));
  const Said checked = say({"prompts", "check", folder});
  EXPECT_EQ(checked.code, 0);
  EXPECT_TRUE(checked.has("judge does without skill, evidence, change, rubric, schema")) << checked.err;
  EXPECT_TRUE(say({"prompts", "show", "judge", "--prompts", folder}).has("{{source}}"));
  ASSERT_TRUE(write_file(scratch->path() / "judge.md", "{{sauce}}"));
  EXPECT_EQ(say({"prompts", "check", folder}).code, 2);
}

}  // namespace
}  // namespace stitch
