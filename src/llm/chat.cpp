#include "llm/chat.h"

#include <array>

namespace stitch::llm {

namespace {
constexpr std::array<std::string_view, 4> roles = {"system", "user", "assistant", "tool"};
constexpr std::array<std::string_view, 5> finishes = {"stop", "length", "tool_calls", "refused", "other"};
constexpr std::array<std::string_view, 5> agents = {"planner", "coder", "verifier", "judge", "person"};

template <class Value>
std::optional<Value> find_name(std::string_view text, const auto& names) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return static_cast<Value>(i);
  return std::nullopt;
}
}  // namespace

std::string_view name(Role role) { return roles[static_cast<size_t>(role)]; }
std::string_view name(Finish finish) { return finishes[static_cast<size_t>(finish)]; }
std::string_view name(Agent agent) { return agents[static_cast<size_t>(agent)]; }
std::optional<Finish> parse_finish(std::string_view text) { return find_name<Finish>(text, finishes); }
std::optional<Agent> parse_agent(std::string_view text) { return find_name<Agent>(text, agents); }

Message system_message(std::string text) { return {.role = Role::system, .text = std::move(text)}; }
Message user_message(std::string text) { return {.role = Role::user, .text = std::move(text)}; }
Message tool_message(const ToolCall& call, std::string text, bool failed) {
  return {.role = Role::tool, .text = std::move(text), .tool_call_id = call.id, .failed = failed};
}

Message Reply::message() const {
  return {
      .role = Role::assistant, .text = text, .tool_calls = tool_calls, .reasoning_blocks = reasoning_blocks};
}

}  // namespace stitch::llm
