#include "llm/answers/repair.h"

#include "llm/answers/quoted.h"

namespace stitch::llm {

namespace {
constexpr size_t longest_echo = 100000;  // bytes of a bad answer that go back to its author

// What is wrong, in words for the model. The answer's own words in it are only quoted.
Message complaint(const Reply& reply, const Error& error, std::string_view again) {
  std::string text = "Your answer cannot be used.\n";
  if (reply.finish == Finish::length)
    text += "It was cut off because it became too long: answer more briefly.\n";
  text += quoted("What is wrong with it", error.text(), "", 8000);
  return user_message(text + std::string(again));
}
}  // namespace

Result<Repaired> ask_with_repair(Chat& chat, Request request, const AskOptions& options,
                                 const std::function<Result<void>(const Reply&)>& read,
                                 std::string_view again) {
  Repaired out;
  for (bool second : {false, true}) {
    STITCH_TRY(out.reply, chat.ask(request, options));
    auto good = read(out.reply);
    // Unanswered tool calls may not stay in a conversation.
    Message said = out.reply.message();
    said.tool_calls.clear();
    said.reasoning_blocks = nullptr;
    if (said.text.size() > longest_echo) said.text = said.text.substr(0, longest_echo) + "\n[…]";
    if (said.text.empty()) said.text = "(nothing)";
    request.messages.push_back(std::move(said));
    out.repaired = second;
    if (good) {
      out.conversation = std::move(request.messages);
      return out;
    }
    if (second)
      return work_error(
          "llm_answer",
          format("the model's answer can't be used, even after a repair request: {}", good.error().message));
    request.messages.push_back(complaint(out.reply, good.error(), again));
  }
  throw Bug("two rounds have an end");
}

}  // namespace stitch::llm
