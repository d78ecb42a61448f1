#include "llm/transcript.h"

#include <gtest/gtest.h>

#include "llm/testing.h"

namespace stitch::llm {
namespace {

using namespace testing;

// A conversation of two agents as lines.
std::string recorded() {
  std::string lines;
  TranscriptSink sink = [&](const Json& exchange) {
    lines += exchange.dump() + "\n";
    return Result<void>();
  };
  Reply full{
      .text = "done", .reasoning = "hm", .finish = Finish::tool_calls, .usage = {.input = 5, .output = 2}};
  full.tool_calls = {{"1", "read", "{}"}};
  full.reasoning_blocks = std::make_shared<const Json>(Json::array({{{"type", "thinking"}}}));
  RecordingChat coder(std::make_unique<FakeChat>(std::deque<Outcome>{replies(full), errs("llm_timeout")}),
                      Agent::coder, "p", "m", sink);
  RecordingChat planner(std::make_unique<FakeChat>(std::deque<Outcome>{replies("a plan")}), Agent::planner,
                        "p", "m", sink);
  EXPECT_TRUE(coder.ask(full_request(), {}));
  EXPECT_TRUE(planner.ask(request("plan?"), {}));
  EXPECT_FALSE(coder.ask(request("again"), {}));
  return lines;
}

TEST(Transcript, ReplaysByAgentInOrder) {
  auto parsed = Transcript::parse(recorded());
  ASSERT_TRUE(parsed) << parsed.error().text();
  auto transcript = std::make_shared<Transcript>(std::move(*parsed));
  ReplayChat planner(transcript, Agent::planner), coder(transcript, Agent::coder);
  std::string streamed;
  EXPECT_EQ(
      planner.ask(request("plan?"), {.on_text = [&](std::string_view piece) { streamed += piece; }})->text,
      "a plan");
  EXPECT_EQ(streamed, "a plan");
  auto reply = coder.ask(full_request(), {});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->reasoning, "hm");
  EXPECT_EQ(reply->tool_calls[0].name, "read");
  EXPECT_EQ(reply->finish, Finish::tool_calls);
  EXPECT_EQ(reply->usage.total(), 7);
  EXPECT_EQ(reply->reasoning_blocks->size(), 1u);
  EXPECT_EQ(coder.ask(request("again"), {}).error().code, "llm_timeout");
  EXPECT_EQ(coder.ask(request("more"), {}).error().message,
            "the coder sends 3 requests, but only 2 were recorded");
}

std::string difference(const Request& now) {
  auto parsed = Transcript::parse(recorded());
  return parsed->answer(Agent::coder, now).error().message;
}

TEST(Transcript, SaysWhatDiffers) {
  const std::string start = "request 1 of the coder differs from the recorded one: ";
  Request now = full_request();
  now.messages[1].text = "Read a.txt and\x1b c.txt.";
  EXPECT_EQ(difference(now),
            start +
                "message 2 (user), line 1: recorded \"Read a.txt and b.txt.\", now \"Read a.txt "
                "and? c.txt.\"");
  now = full_request();
  now.messages[1].text += "\nPlease.";
  EXPECT_EQ(difference(now), start + "message 2 (user), line 2: recorded no such line, now \"Please.\"");
  now = full_request();
  now.messages.pop_back();
  EXPECT_EQ(difference(now), start + "6 messages were recorded, now there are 5");
  now = full_request();
  now.messages[2].tool_calls.pop_back();
  EXPECT_EQ(difference(now), start + "message 3 (assistant) differs in its tool calls");
  now = full_request();
  now.messages[0].role = Role::user;
  EXPECT_EQ(difference(now), start + "message 1 (user) was a message of system");
  now = full_request();
  now.temperature = 0.6;
  EXPECT_EQ(difference(now), start + "\"temperature\" differs");
}

TEST(Transcript, FilesAreAppendedToAndReadBack) {
  auto folder = ScratchFolder::create("transcript");
  ASSERT_TRUE(folder);
  const fs::path path = folder->path() / "chat.jsonl";
  for (int i = 0; i < 2; ++i) {
    auto sink = transcript_file(path);
    ASSERT_TRUE(sink);
    RecordingChat chat(std::make_unique<FakeChat>(std::deque<Outcome>{replies("\xFF broken")}), Agent::judge,
                       "p", "m", *sink);
    EXPECT_TRUE(chat.ask(request("\xFE?"), {}));
    EXPECT_FALSE(chat.sink_error());
  }
  auto read = Transcript::read(path);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(read->answer(Agent::judge, request("\xFE?")));
  EXPECT_TRUE(read->answer(Agent::judge, request("\xFE?")));
  EXPECT_FALSE(transcript_file(folder->path() / "no" / "such" / "folder"));
}

TEST(Transcript, BadLinesAreNamed) {
  EXPECT_EQ(Transcript::parse("\n{\"agent\": ").error().where, "line 2");
  EXPECT_EQ(Transcript::parse("{\"agent\": \"coder\", \"request\": {}}").error().code, "llm_replay");
  EXPECT_EQ(Transcript::read("/no/such/file").error().exit_code(), 2);
}

TEST(Transcript, ASinkThatFailsDoesNotLoseTheReply) {
  RecordingChat chat(std::make_unique<FakeChat>(std::deque<Outcome>{replies("ok")}), Agent::coder, "p", "m",
                     [](const Json&) -> Result<void> { return work_error("disk", "full"); });
  EXPECT_TRUE(chat.ask(request("?"), {}));
  EXPECT_EQ(chat.sink_error()->code, "disk");
}

}  // namespace
}  // namespace stitch::llm
