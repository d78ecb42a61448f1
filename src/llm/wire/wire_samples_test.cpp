// What the wires send and what the scripted server answers, for other people's software to look at:
// STITCH_WIRE_OUT=FOLDER llm_test --gtest_filter='WireSamples.*', then ./dev clients llm-types.
#include <gtest/gtest.h>

#include "base/file.h"
#include "llm/scripted_bodies.h"
#include "llm/testing.h"

namespace stitch::llm {
namespace {

using namespace testing;

std::vector<std::pair<std::string, Request>> requests() {
  Request full = full_request();
  Request hostile = request("a \xFF broken \x1b text");
  hostile.messages.push_back({.role = Role::assistant});
  hostile.messages.push_back(user_message(""));
  Request calls = request("call");
  calls.tools = full.tools;
  Message called{.role = Role::assistant};
  called.tool_calls = {{"call_1", "read", "{\"half"}, {"call_2", "read", ""}};
  calls.messages.push_back(called);
  for (const ToolCall& call : called.tool_calls) calls.messages.push_back(tool_message(call, ""));
  return {{"plain", request("hello")}, {"full", full}, {"hostile", hostile}, {"calls", calls}};
}

std::vector<std::pair<std::string, Reply>> replies_() {
  Reply full{.text = "Grüße.", .reasoning = "hm", .finish = Finish::tool_calls, .model = "m"};
  full.tool_calls = {{"c1", "read", R"({"path":"a"})"}};
  full.usage = {.input = 20, .output = 5, .cached = 4, .cache_write = 3, .reasoning = 2};
  return {{"plain", {.text = "hello", .finish = Finish::stop, .model = "m"}}, {"full", full}};
}

TEST(WireSamples, AreWritten) {
  const char* wanted = std::getenv("STITCH_WIRE_OUT");
  if (!wanted) GTEST_SKIP() << "STITCH_WIRE_OUT is not set";
  for (Api api : {Api::openai, Api::responses, Api::anthropic}) {
    const fs::path folder = fs::path(wanted) / name(api);
    fs::create_directories(folder);
    auto write = [&](const std::string& file, const std::string& text) {
      ASSERT_TRUE(write_file(folder / file, text));
    };
    for (const auto& [label, ask] : requests())
      for (bool other : {false, true}) {
        Profile profile{.name = "p", .api = api, .model = "some-model"};
        profile.stream = !other;
        profile.json_schema = profile.max_completion_tokens = profile.cache_control = other;
        if (other && api == Api::anthropic && label == "plain")
          profile.extra = std::make_shared<const Json>(
              Json::parse(R"({"thinking": {"type": "enabled", "budget_tokens": 2000}})"));
        write(format("request_{}_{}.json", label, other ? "other" : "usual"),
              wire_of(api).body(profile, ask).dump(1, ' ', false, Json::error_handler_t::replace));
      }
    for (const auto& [label, reply] : replies_()) {
      write(format("reply_{}.json", label), document_of(api, reply));
      std::string events;
      for (const std::string& event : events_of(api, reply, 3)) events += event;
      write(format("events_{}.txt", label), events);
    }
  }
}

}  // namespace
}  // namespace stitch::llm
