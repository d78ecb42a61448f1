// Answers damaged at random: whatever comes, it is a Reply or an Error, and what is made of its text is, too.
#include <gtest/gtest.h>

#include <random>

#include "llm/answers/code_answer.h"
#include "llm/answers/json_answer.h"
#include "llm/answers/quoted.h"
#include "llm/scripted_bodies.h"
#include "llm/testing.h"

namespace stitch::llm {
namespace {

using namespace testing;

std::string damaged(std::string text, std::minstd_rand& random) {
  constexpr std::string_view spices[] = {"\"",       "{",    "}",          "[",     "null", "-1",
                                         "1e999",    "\n\n", "data: ",     "```",   "\xFF", "<think>",
                                         "</think>", "\\",   "\"error\":", "[DONE]"};
  const int edits = 1 + random() % 3;  // more leave little that still is an answer
  for (int i = 0; i < edits && !text.empty(); ++i) {
    const size_t at = random() % text.size(), length = random() % 20;
    switch (random() % 5) {
      case 0: text[at] = static_cast<char>(random()); break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(at, spices[random() % std::size(spices)]); break;
      case 3: text.insert(at, text.substr(random() % text.size(), length * 10)); break;
      default: text.resize(at + 1);
    }
  }
  return text;
}

Reply sample() {
  Reply reply{.text = "<think>hm</think>Take ```json\n{\"n\": 1}\n``` or\n```cuda\nvoid f() {}\n```\n",
              .reasoning = "think",
              .finish = Finish::tool_calls,
              .model = "m"};
  reply.tool_calls = {{"c1", "read", R"({"path":"a"})"}};
  reply.usage = {.input = 9, .output = 5, .cached = 2};
  return reply;
}

TEST(MutatedAnswers, AreRepliesOrErrors) {
  const Json schema =
      Json::parse(R"({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})");
  std::minstd_rand random(20);
  int replies = 0, errors = 0;
  for (const Wire* wire : {&openai_wire(), &anthropic_wire()}) {
    const bool openai = wire == &openai_wire();
    std::string stream;
    for (const std::string& event : openai ? openai_events(sample(), 3) : anthropic_events(sample(), 3))
      stream += event;
    const std::string document = openai ? openai_document(sample()) : anthropic_document(sample());
    for (int i = 0; i < 1500; ++i) {
      const Result<Reply> reply = [&]() -> Result<Reply> {
        if (i % 2) return read_stream(*wire, damaged(stream, random));
        auto body = parse_json(damaged(document, random));
        if (!body || !body->is_object()) return work_error("llm_format", "");
        const AskOptions options;
        auto reader = wire->reader(options, 1 << 20);
        STITCH_CHECK(reader->whole(*body));
        return reader->end();
      }();
      if (!reply) {
        ++errors;
        EXPECT_TRUE(reply.error().code.starts_with("llm_"));
        continue;
      }
      ++replies;
      const std::string text = damaged(reply->text + " ", random);
      (void)json_from_answer(text, schema);
      (void)code_from_answer(text, "f");
      const std::string shown = quoted("answer", text);
      EXPECT_TRUE(shown.ends_with("```\n"));
    }
  }
  EXPECT_GT(replies, 300);
  EXPECT_GT(errors, 300);
}

}  // namespace
}  // namespace stitch::llm
