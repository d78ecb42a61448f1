// JSON out of what a model said: bare, in a fence, in the middle of prose; checked against a schema.
#pragma once

#include "llm/chat.h"

namespace stitch::llm {

// The first block that satisfies the schema; else "llm_answer" with what is wrong with the best one.
Result<Json> json_from_answer(std::string_view text, const Json& schema);

struct JsonAnswer {
  std::shared_ptr<const Json> value;
  Reply reply;                        // the last one
  std::vector<Message> conversation;  // the request's messages and all that followed, the reply included
  bool repaired = false;
};
// What a schema can't say, such as that each node is covered once. An error's message goes back to the model.
using AnswerCheck = std::function<Result<void>(const Json&)>;

// Asks, reads, checks. An answer that fails gets its errors as the next message, once; then "llm_answer".
Result<JsonAnswer> ask_json(Chat& chat, Request request, const Json& schema, const AskOptions& options = {},
                            const AnswerCheck& check = {});

// The arguments of a call, checked against the tool that it names among `tools`; "llm_answer" says what is
// wrong, in words for the model.
Result<Json> tool_arguments(const ToolCall& call, const std::vector<ToolSpec>& tools);

}  // namespace stitch::llm
