// Asks, and once more if the answer is not what was asked for.
#pragma once

#include "llm/chat.h"

namespace stitch::llm {

struct Repaired {
  Reply reply;
  std::vector<Message> conversation;
  bool repaired = false;
};

// `read` takes the value out of a reply; its error is shown to the model with `again`, what to answer now.
// After the second failure "llm_answer".
Result<Repaired> ask_with_repair(Chat& chat, Request request, const AskOptions& options,
                                 const std::function<Result<void>(const Reply&)>& read,
                                 std::string_view again);

}  // namespace stitch::llm
