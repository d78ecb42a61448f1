// A reply while it comes in: pieces of text, of reasoning, of tool calls.
#pragma once

#include <map>

#include "llm/chat.h"

namespace stitch::llm {

// Splits "<think>…</think>answer" as it streams. A server that knows its model's format does this itself;
// others send it as text. Only at the start of the answer: further on, the tag is what the answer is about.
class ThinkSplitter {
 public:
  struct Pieces {
    std::string text, reasoning;
  };
  Pieces add(std::string_view piece);
  Pieces end();  // what was held back because a tag might have begun

 private:
  enum class State { start, thinking, after, answer };
  State state_ = State::start;
  std::string held_;
};

class ReplyDraft {
 public:
  // `limit`: bytes of text, reasoning and arguments together.
  ReplyDraft(const AskOptions& options, size_t limit) : options_(options), limit_(limit) {}
  Result<void> add_text(std::string_view piece);
  Result<void> add_reasoning(std::string_view piece);
  // Calls are told apart by the server's index. Ids and names come once, arguments in pieces.
  Result<void> add_call(int index, std::string_view id, std::string_view name, std::string_view arguments);
  size_t calls() const { return calls_.size(); }
  size_t bytes() const { return bytes_; }
  Reply& reply() { return reply_; }
  Reply end();

 private:
  Result<void> count(size_t bytes);
  void take(ThinkSplitter::Pieces pieces);
  const AskOptions& options_;
  const size_t limit_;
  size_t bytes_ = 0;
  ThinkSplitter splitter_;
  std::map<int, ToolCall> calls_;
  Reply reply_;
};

}  // namespace stitch::llm
