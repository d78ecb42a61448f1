#include "llm/wire/reply_draft.h"

#include <gtest/gtest.h>

namespace stitch::llm {
namespace {

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
}  // namespace stitch::llm
