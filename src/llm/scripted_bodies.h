// Replies as the APIs send them: what a scripted server says, without a server.
#pragma once

#include "llm/scripted_server.h"

namespace stitch::llm {

// One JSON document.
std::string document_of(Api api, const Reply& reply);
std::string openai_document(const Reply& reply);
std::string responses_document(const Reply& reply);
std::string anthropic_document(const Reply& reply);
// Events, the text in about `pieces` of them.
std::vector<std::string> events_of(Api api, const Reply& reply, int pieces);
std::vector<std::string> openai_events(const Reply& reply, int pieces);
std::vector<std::string> responses_events(const Reply& reply, int pieces);
std::vector<std::string> anthropic_events(const Reply& reply, int pieces);

}  // namespace stitch::llm
