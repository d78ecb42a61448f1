// stitchcuda write: what lies in the folder when the model goes away after a wrong try.
#include "cli/commands/optimize/write.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/text.h"
#include "cli/run_cli.h"
#include "llm/scripted_server.h"

namespace stitch {
namespace {

TEST(Write, KeepsEveryTryWhenTheModelGoesAway) {
  const fs::path judged = fs::path(STITCH_SOURCE_DIR) / "src/verify/testdata";
  auto scratch = ScratchFolder::create("stitch-write");
  ASSERT_TRUE(scratch);
  const std::string wrong = *read_file(judged / "model_new/raises.py");
  auto server = llm::ScriptedServer::start({llm::says("```python\n" + wrong + "```\n")});
  ASSERT_TRUE(server) << server.error().text();
  const fs::path out = scratch->path() / "out", config = scratch->path() / "config.toml";
  // Every request after the first finds the try on disk.
  (*server)->otherwise([&](const llm::Asked& asked) {
    EXPECT_TRUE(fs::exists(out / "tries/1/verdict.json"));
    return llm::fails_with(401, "no such key")(asked);
  });
  ASSERT_TRUE(write_file(config, format("[llm.test]\napi = \"openai\"\nurl = \"{}\"\nmodel = \"scripted\"\n",
                                        (*server)->url())));
  const std::vector<std::string> words = {"stitchcuda", "write",    judged / "row_center/task.py",
                                          "-o",         out,        "--coder",
                                          "llm:test",   "--config", config,
                                          "--device",   "emulated", "--quick"};
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::ostringstream said, err;
  EXPECT_EQ(run_cli(static_cast<int>(argv.size()), argv.data(), said, err), 1) << err.str();
  EXPECT_EQ(*read_file(out / "tries/1/model_new.py"), wrong);
  const Json document = *parse_json(*read_file(out / "written.json"));
  EXPECT_EQ(document.at("tries").size(), 1u);
  EXPECT_NE(document.at("ended").get<std::string>().find("key"), std::string::npos);
  EXPECT_GT(document.at("time").at("phases").value("import", 0.0), 0);
  EXPECT_NE(said.str().find("1 try of 4 was made: "), std::string::npos) << said.str();
}

}  // namespace
}  // namespace stitch
