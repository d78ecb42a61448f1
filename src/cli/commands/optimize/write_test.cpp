// stitchcuda write: what lies in the folder when the model goes away after a wrong try.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "cli/testdata/ran.h"
#include "llm/scripted_server.h"

namespace stitch {
namespace {

TEST(Write, KeepsEveryTryWhenTheModelGoesAway) {
  const fs::path judged = fs::path(STITCH_SOURCE_DIR) / "src/verify/testdata";
  auto scratch = must(ScratchFolder::create("stitch-write"));
  const std::string wrong = *read_file(judged / "model_new/raises.py");
  auto server = must(llm::ScriptedServer::start({llm::says("```python\n" + wrong + "```\n")}));
  const fs::path out = scratch.path() / "out", config = scratch.path() / "config.toml";
  // Every request after the first finds the try on disk.
  server->otherwise([&](const llm::Asked& asked) {
    EXPECT_TRUE(fs::exists(out / "tries/1/verdict.json"));
    return llm::fails_with(401, "no such key")(asked);
  });
  ASSERT_TRUE(write_file(
      config, format("[llm.test]\napi = \"openai\"\nurl = \"{}\"\nmodel = \"scripted\"\n", server->url())));
  const Ran ran = stitchcuda({"write", judged / "row_center/task.py", "-o", out, "--coder", "llm:test",
                              "--config", config, "--device", "emulated", "--quick"});
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_EQ(*read_file(out / "tries/1/model_new.py"), wrong);
  const Json document = *parse_json(*read_file(out / "written.json"));
  EXPECT_EQ(document.at("tries").size(), 1u);
  EXPECT_NE(document.at("ended").get<std::string>().find("key"), std::string::npos);
  EXPECT_GT(document.at("time").at("phases").value("import", 0.0), 0);
  EXPECT_NE(ran.out.find("1 try of 4 was made: "), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace stitch
