#include "llm/wire/reply_draft.h"

namespace stitch::llm {

namespace {
constexpr std::string_view open_tag = "<think>", close_tag = "</think>";
constexpr std::string_view blanks = " \t\r\n";

// How many of the last characters could be the beginning of `tag`.
size_t partial(std::string_view text, std::string_view tag) {
  for (size_t length = std::min(text.size(), tag.size() - 1); length > 0; --length)
    if (text.ends_with(tag.substr(0, length))) return length;
  return 0;
}
}  // namespace

ThinkSplitter::Pieces ThinkSplitter::add(std::string_view piece) {
  Pieces out;
  held_ += piece;
  if (state_ == State::start) {
    const size_t first = held_.find_first_not_of(blanks);
    if (first == std::string::npos) return out;
    const std::string_view begun = std::string_view(held_).substr(first);
    if (begun.starts_with(open_tag)) {
      held_.erase(0, first + open_tag.size());
      state_ = State::thinking;
    } else if (open_tag.starts_with(begun)) {
      return out;
    } else {
      state_ = State::answer;
    }
  }
  if (state_ == State::thinking) {
    const size_t close = held_.find(close_tag);
    if (close == std::string::npos) {
      const size_t safe = held_.size() - partial(held_, close_tag);
      out.reasoning = held_.substr(0, safe);
      held_.erase(0, safe);
      return out;
    }
    out.reasoning = held_.substr(0, close);
    held_.erase(0, close + close_tag.size());
    state_ = State::after;
  }
  if (state_ == State::after) {
    held_.erase(0, std::min(held_.find_first_not_of(blanks), held_.size()));
    if (held_.empty()) return out;
    state_ = State::answer;
  }
  out.text = std::exchange(held_, {});
  return out;
}

ThinkSplitter::Pieces ThinkSplitter::end() {
  std::string rest = std::exchange(held_, {});
  return state_ == State::thinking ? Pieces{{}, std::move(rest)} : Pieces{std::move(rest), {}};
}

Result<void> ReplyDraft::count(size_t bytes) {
  bytes_ += bytes;
  if (bytes_ > limit_)
    return work_error("llm_too_large", format("the model's answer is larger than {} bytes", limit_));
  return {};
}

void ReplyDraft::take(ThinkSplitter::Pieces pieces) {
  reply_.reasoning += pieces.reasoning;
  reply_.text += pieces.text;
  if (!pieces.reasoning.empty() && options_.on_reasoning) options_.on_reasoning(pieces.reasoning);
  if (!pieces.text.empty() && options_.on_text) options_.on_text(pieces.text);
}

Result<void> ReplyDraft::add_text(std::string_view piece) {
  STITCH_CHECK(count(piece.size()));
  take(splitter_.add(piece));
  return {};
}

Result<void> ReplyDraft::add_reasoning(std::string_view piece) {
  STITCH_CHECK(count(piece.size()));
  take({{}, std::string(piece)});
  return {};
}

Result<void> ReplyDraft::add_call(int index, std::string_view id, std::string_view name,
                                  std::string_view arguments) {
  STITCH_CHECK(
      count(id.size() + name.size() + arguments.size() + 1));  // + 1: empty calls can't go on for ever
  ToolCall& call = calls_[index];
  if (call.id.empty()) call.id = id;
  if (call.name.empty()) call.name = name;
  call.arguments += arguments;
  return {};
}

Reply ReplyDraft::end() {
  take(splitter_.end());
  // Where the prompt's template opened the tag, only its end is in the answer.
  if (size_t close = reply_.text.find(close_tag);
      close != std::string::npos && reply_.text.find(open_tag) >= close) {
    reply_.reasoning += reply_.text.substr(0, close);
    const size_t answer = reply_.text.find_first_not_of(blanks, close + close_tag.size());
    reply_.text.erase(0, std::min(answer, reply_.text.size()));
  }
  for (auto& [index, call] : calls_) {
    if (call.id.empty()) call.id = format("call_{}", index);  // some servers name none, but want one back
    reply_.tool_calls.push_back(std::move(call));
  }
  if (!reply_.tool_calls.empty() && reply_.finish == Finish::stop) reply_.finish = Finish::tool_calls;
  return std::move(reply_);
}

}  // namespace stitch::llm
