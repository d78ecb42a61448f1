#include <gtest/gtest.h>

#include <vector>

#include "base/file.h"
#include "llm/scripted_server.h"
#include "llm/testing.h"
#include "llm/wire/wire.h"

namespace stitch::llm {

namespace {

// "name=data" for each event, with the bytes in pieces of `size`.
std::vector<std::string> events(std::string_view bytes, size_t size, size_t limit = 1000) {
  std::vector<std::string> out;
  SseParser parser(
      [&](const SseEvent& event) {
        out.push_back(event.name + "=" + event.data);
        return Result<void>();
      },
      limit);
  for (size_t i = 0; i < bytes.size(); i += size)
    if (auto fed = parser.feed(bytes.substr(i, size)); !fed) {
      out.push_back("error " + fed.error().code);
      break;
    }
  return out;
}

TEST(Sse, AnyPiecesAndAnyLineEnds) {
  const std::vector<std::string> expected = {"message={\"a\": 1}", "ping=", "delta=one\ntwo"};
  for (std::string end : {"\n", "\r\n", "\r"}) {
    std::string text =
        "\xEF\xBB\xBF: a comment|data: {\"a\": 1}||event: ping|data||id: 7|retry: "
        "9|event:delta|data:one|data: two||";
    std::string bytes;
    for (char c : text) bytes += c == '|' ? end : std::string(1, c);
    bytes += "x: y" + end;  // so that a last CR is seen to be one
    for (size_t size = 1; size <= bytes.size(); ++size) EXPECT_EQ(events(bytes, size), expected) << size;
  }
}

TEST(Sse, WhatIsCutOffIsNoEvent) {
  EXPECT_EQ(events("data: 1\n\ndata: 2\n", 5), std::vector<std::string>{"message=1"});
  EXPECT_EQ(events("\n\n: x\n\nevent: alone\n\n", 3), std::vector<std::string>{});
}

TEST(Sse, EventsHaveALimit) {
  EXPECT_EQ(events("data: " + std::string(2000, 'x'), 100), std::vector<std::string>{"error llm_too_large"});
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "data: 12345678901234567890\n";
  EXPECT_EQ(events(lines, 64), std::vector<std::string>{"error llm_too_large"});
}

TEST(Sse, TenMegabytesInSmallPieces) {
  std::string bytes = "data: " + std::string(10 << 20, 'x') + "\n\n";
  auto got = events(bytes, 1000, 16 << 20);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].size(), (10u << 20) + 8);
}

// "reasoning|text", with the answer in pieces of every size.
std::string split(std::string_view answer) {
  std::string first;
  for (size_t size = answer.size() + 1; size >= 1; --size) {
    std::string streamed;
    const AskOptions options{.on_text = [&](std::string_view piece) { streamed += piece; }};
    ReplyDraft draft(options, 1000);
    for (size_t i = 0; i < answer.size(); i += size) EXPECT_TRUE(draft.add_text(answer.substr(i, size)));
    const Reply reply = draft.end();
    const std::string both = reply.reasoning + "|" + reply.text;
    if (first.empty()) first = both;
    EXPECT_EQ(both, first) << size;
    if (answer.find("<think>") != std::string_view::npos) {
      EXPECT_EQ(streamed, reply.text);
    }
  }
  return first;
}

TEST(ReplyDraft, ThinkTagsAtTheStartAreReasoning) {
  EXPECT_EQ(split("<think>hm</think>\n\nyes"), "hm|yes");
  EXPECT_EQ(split("\n <think>a < b</thin </think>x"), "a < b</thin |x");
  EXPECT_EQ(split("<think>never ends"), "never ends|");
  EXPECT_EQ(split("template opened it</think>\nanswer"), "template opened it|answer");
  EXPECT_EQ(split("the tag <think>x</think> is known"), "|the tag <think>x</think> is known");
  EXPECT_EQ(split("<thinker> is a word"), "|<thinker> is a word");
  EXPECT_EQ(split("<thi"), "|<thi");
  EXPECT_EQ(split("  "), "|  ");
}

TEST(ReplyDraft, CallsWithoutIdsGetSome) {
  const AskOptions options;
  ReplyDraft draft(options, 1000);
  EXPECT_TRUE(draft.add_call(3, "", "f", "{}"));
  EXPECT_TRUE(draft.add_call(1, "x", "g", ""));
  const Reply reply = draft.end();
  ASSERT_EQ(reply.tool_calls.size(), 2u);
  EXPECT_EQ(reply.tool_calls[0].id, "x");
  EXPECT_EQ(reply.tool_calls[1].id, "call_3");
}

TEST(ReplyDraft, CallsThatNeverEndAreTooLarge) {
  const AskOptions options;
  ReplyDraft draft(options, 1000);
  int count = 0;
  while (draft.add_call(count, "", "", "")) ++count;
  EXPECT_LE(count, 1000);
}

}  // namespace

// What the wires send and what the scripted server answers, for other people's software to look at:
// STITCH_WIRE_OUT=FOLDER llm_test --gtest_filter='WireSamples.*', then ./dev clients llm-types.

namespace {

using namespace testing;

std::vector<std::pair<std::string, Request>> requests() {
  Request full = full_request();
  Request hostile = request("a \xFF broken \x1b text");
  hostile.messages.push_back({.role = Role::assistant});
  hostile.messages.push_back(user_message(""));
  Request calls = request("call");
  calls.tools = full.tools;
  Message called{.role = Role::assistant};
  called.tool_calls = {{"call_1", "read", "{\"half"}, {"call_2", "read", ""}};
  calls.messages.push_back(called);
  for (const ToolCall& call : called.tool_calls) calls.messages.push_back(tool_message(call, ""));
  return {{"plain", request("hello")}, {"full", full}, {"hostile", hostile}, {"calls", calls}};
}

std::vector<std::pair<std::string, Reply>> replies_() {
  Reply full{.text = "Grüße.", .reasoning = "hm", .finish = Finish::tool_calls, .model = "m"};
  full.tool_calls = {{"c1", "read", R"({"path":"a"})"}};
  full.usage = {.input = 20, .output = 5, .cached = 4, .cache_write = 3, .reasoning = 2};
  return {{"plain", {.text = "hello", .finish = Finish::stop, .model = "m"}}, {"full", full}};
}

TEST(WireSamples, AreWritten) {
  const char* wanted = std::getenv("STITCH_WIRE_OUT");
  if (!wanted) GTEST_SKIP() << "STITCH_WIRE_OUT is not set";
  for (Api api : {Api::openai, Api::responses, Api::anthropic}) {
    const fs::path folder = fs::path(wanted) / name(api);
    fs::create_directories(folder);
    auto write = [&](const std::string& file, const std::string& text) {
      ASSERT_TRUE(write_file(folder / file, text));
    };
    for (const auto& [label, ask] : requests())
      for (bool other : {false, true}) {
        Profile profile{.name = "p", .api = api, .model = "some-model"};
        profile.stream = !other;
        profile.json_schema = profile.max_completion_tokens = profile.cache_control = other;
        if (other && api == Api::anthropic && label == "plain")
          profile.extra = std::make_shared<const Json>(
              Json::parse(R"({"thinking": {"type": "enabled", "budget_tokens": 2000}})"));
        write(format("request_{}_{}.json", label, other ? "other" : "usual"),
              wire_of(api).body(profile, ask).dump(1, ' ', false, Json::error_handler_t::replace));
      }
    for (const auto& [label, reply] : replies_()) {
      write(format("reply_{}.json", label), document_of(api, reply));
      std::string events;
      for (const std::string& event : events_of(api, reply, 3)) events += event;
      write(format("events_{}.txt", label), events);
    }
  }
}

}  // namespace

}  // namespace stitch::llm
