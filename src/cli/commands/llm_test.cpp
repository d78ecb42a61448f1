#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "cli/testdata/ran.h"
#include "llm/profiles/profile.h"
#include "llm/scripted_server.h"

namespace stitch {

namespace {

class LlmCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder.emplace(must(ScratchFolder::create("llm_command")));
    config = (folder->path() / "c.toml").string();
    if (!llm::can_read_config()) GTEST_SKIP() << "built without toml++";
    ASSERT_TRUE(write_file(
        config,
        "[llm.near]\nurl = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n"
        "[llm.keyed]\nurl = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\nkey_env = \"NO_SUCH_KEY_SET\"\n"));
  }
  std::optional<ScratchFolder> folder;
  std::string config;
};

TEST_F(LlmCommandTest, ListShowsWhetherKeysAreThere) {
  Ran ran = stitchcuda({"llm", "list", "--config", config.c_str()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("$NO_SUCH_KEY_SET is not set"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("llm:ollama/MODEL"), std::string::npos);
  const Json document = Json::parse(stitchcuda({"llm", "list", "--json", "--config", config.c_str()}).out);
  for (const Json& profile : document["profiles"])
    if (profile["name"] == "keyed") {
      EXPECT_EQ(profile["key_present"], false);
    }
  EXPECT_EQ(document["profiles"].size(), 9u);
}

TEST_F(LlmCommandTest, MistakesGetOneMessage) {
  auto said = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "llm");
    words.insert(words.end(), {"--config", config.c_str()});
    Ran ran = stitchcuda(words);
    return std::to_string(ran.code) + " " + ran.err;
  };
  EXPECT_EQ(said({"tell"}),
            "2 error: unknown action 'tell'\nfix: stitchcuda llm list, or stitchcuda llm ask "
            "PROFILE TEXT\n");
  EXPECT_EQ(said({"ask", "near"}),
            "2 error: llm ask needs a profile and a text\nfix: stitchcuda llm ask ollama/qwen2.5-coder "
            "\"hello\"\n");
  EXPECT_EQ(said({"ask", "nera", "hello"}), "2 error: unknown LLM profile 'nera'\nfix: did you mean near?\n");
  EXPECT_EQ(said({"ask", "ollama", "hello"}),
            "2 error: the profile ollama needs a model\nfix: llm:ollama/MODEL\n");
  EXPECT_EQ(said({"ask", "keyed", "hello"}),
            "2 error: the profile keyed needs a key, but $NO_SUCH_KEY_SET is not set\nfix: export "
            "NO_SUCH_KEY_SET=…\n");
  ASSERT_TRUE(write_file(config, "[llm.near]\nkey = \"sk-secret\"\n"));
  const std::string secret = said({"list"});
  EXPECT_EQ(secret.find("sk-secret"), std::string::npos);
  EXPECT_TRUE(secret.starts_with("2 error: ")) << secret;
}

TEST_F(LlmCommandTest, AServerThatIsNotThere) {
  Ran ran = stitchcuda({"llm", "ask", "near", "hello", "--json", "--config", config.c_str()});
  EXPECT_EQ(ran.code, 1);
  const Json error = Json::parse(ran.out)["error"];
  EXPECT_TRUE(error["code"] == "llm_unreachable" || error["code"] == "llm_no_http") << error;
}

TEST_F(LlmCommandTest, AsksAndShowsTheAnswerEscaped) {
  auto server = must(llm::ScriptedServer::start());
  server->otherwise(llm::says("two\nlines\x1b[2J", 4));
  ASSERT_TRUE(write_file(config, "[llm.near]\nurl = \"" + server->url() +
                                     "\"\nmodel = \"m\"\nprice = {input = 10, output = 50}\n"));
  const std::string record = (folder->path() / "chat.jsonl").string();
  for (bool stream : {false, true}) {
    std::vector<std::string> words = {"llm",      "ask",          "near",     "hello",
                                      "--config", config.c_str(), "--system", "Be brief."};
    if (stream) words.emplace_back("--stream");
    Ran ran = stitchcuda(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, "two\nlines?[2J\n");
    EXPECT_NE(ran.err.find("scripted-model: 100 tokens in, 10 out, "), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find(", $0.0015, stop\n"), std::string::npos) << ran.err;
  }
  Ran ran = stitchcuda({"llm", "ask", "near/other", "hello", "--json", "--transcript", record.c_str(),
                        "--config", config.c_str()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Json document = Json::parse(ran.out);
  EXPECT_EQ(document["usage"]["input"], 100);
  EXPECT_TRUE(document["dollars"].is_null());  // the price was the other model's
  EXPECT_EQ(server->asked()[0].body->at("messages").size(), 2u);
  EXPECT_EQ(server->asked()[2].body->at("model"), "other");
  EXPECT_NE(read_file(record)->find("\"hello\""), std::string::npos);
}

}  // namespace

// stitchcuda write: what lies in the folder when the model goes away after a wrong try.

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
