// Requests, replies and usage as JSON, for transcripts and stores.
#pragma once

#include "llm/chat.h"

namespace stitch::llm {

Json to_json(const Message& message);
Json to_json(const Request& request);
Json to_json(const Usage& usage);
Json to_json(const Reply& reply);
Result<Reply> reply_from_json(const Json& document);
Usage usage_from_json(const Json& document);

}  // namespace stitch::llm
