#include "cli/pages/run_conversation.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/terminal/table.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "llm/answers/code_answer.h"

namespace stitch {

namespace {

Said said_of(const Json& message, std::string role) {
  Said out{.role = std::move(role), .text = word(message, "text"), .reasoning = word(message, "reasoning")};
  out.failed = message.value("failed", Json()) == true;
  const Json calls = message.value("tool_calls", Json::array());
  for (const Json& call : calls) out.calls.emplace_back(word(call, "name"), word(call, "arguments"));
  return out;
}

int64_t count(const Json& usage, const char* key) {
  const Json value = usage.value(key, Json());
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

// `before`: the messages of this agent's last request, which the next one repeats if it goes on from there.
Exchange exchange_of(const Json& line, Json& before) {
  Exchange out{.agent = word(line, "agent"), .model = word(line, "model"), .said = {}};
  const Json messages = line.at("request").value("messages", Json::array());
  const size_t known = std::min(before.size(), messages.size());
  size_t next =
      std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(known), messages.begin()) &&
              before.size() < messages.size()
          ? known
          : 0;
  if (next > 0 && word(messages[next], "role") == "assistant") ++next;  // was the last exchange's answer
  for (; next < messages.size(); ++next)
    out.said.push_back(said_of(messages[next], word(messages[next], "role")));
  before = messages;
  const Json seconds = line.value("seconds", Json());
  if (seconds.is_number()) out.seconds = seconds.get<double>();
  if (!line.contains("reply")) {
    out.error = word(line.at("error"), "message");
    return out;
  }
  const Json& reply = line["reply"];
  out.said.push_back(said_of(reply, "assistant"));
  out.finish = word(reply, "finish");
  const Json usage = reply.value("usage", Json::object());
  out.input = count(usage, "input"), out.output = count(usage, "output");
  out.estimated = usage.value("estimated", Json()) == true;
  return out;
}

std::string tokens_text(const Exchange& each) {
  return format("{}{} in, {} out", each.estimated ? "about " : "", each.input, each.output);
}

std::string figures(const Exchange& each) {
  if (!each.error.empty()) return format("{} · no answer", seconds_text(each.seconds));
  return format("{}{} tokens in, {} out · {}{}", each.estimated ? "about " : "", each.input, each.output,
                seconds_text(each.seconds),
                each.finish == "stop" || each.finish.empty() ? "" : " · ended by " + each.finish);
}

Json to_json(const Said& said) {
  Json out = {{"role", said.role}, {"text", said.text}};
  if (!said.reasoning.empty()) out["reasoning"] = said.reasoning;
  if (said.failed) out["failed"] = true;
  for (const auto& [name, arguments] : said.calls)
    out["calls"].push_back({{"name", name}, {"arguments", arguments}});
  return out;
}

}  // namespace

Result<std::vector<Exchange>> conversation_of(const store::RunStore& store, const agents::PastRun& run) {
  std::vector<Exchange> out;
  std::map<std::string, Json> before;  // by agent
  for (const std::string& hash : run.conversation) {
    STITCH_TRY(const std::string text, store.blob(hash));
    auto line = parse_json(text);
    if (!line || !line->is_object() || !line->contains("request") || !(*line)["request"].is_object() ||
        !(line->contains("reply") || line->contains("error")))
      return at(
          store.file().string(),
          work_error("store_damaged", format("exchange {} of the conversation is damaged", out.size() + 1)));
    Json& last = before.try_emplace(word(*line, "agent"), Json::array()).first->second;
    out.push_back(exchange_of(*line, last));
  }
  return out;
}

Json to_json(const std::vector<Exchange>& all, Detail detail) {
  Json out = Json::array();
  for (const Exchange& each : all) {
    Json one = {{"agent", each.agent}, {"model", each.model}, {"seconds", each.seconds}};
    if (each.error.empty())
      one.update({{"input_tokens", each.input}, {"output_tokens", each.output}, {"finish", each.finish}});
    else
      one["error"] = each.error;
    if (each.estimated) one["estimated"] = true;
    if (detail == Detail::messages) {
      one["messages"] = Json::array();
      for (const Said& said : each.said) one["messages"].push_back(to_json(said));
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::string conversation_table(const std::vector<Exchange>& all, const Terminal& terminal) {
  Table table({{.header = "asks"},
               {.header = "model", .optional = 3},
               {.header = "tokens", .optional = 2},
               {.header = "took", .align = Column::Align::right},
               {.header = "answer", .least = 20, .wrap = true}});
  for (const Exchange& each : all) {
    std::string answer = each.error;
    if (answer.empty()) {
      const Said& reply = each.said.back();
      answer = shorten(trim(reply.text.substr(0, reply.text.find("```"))), 160);
      const auto code = llm::fences_in(reply.text);
      auto add = [&](const std::string& what) { answer += (answer.empty() ? "" : " · ") + what; };
      for (const llm::Fence& fence : code)
        add(format("{} of {}", counted(std::ranges::count(fence.text, '\n'), "line"),
                   fence.language.empty() ? "code" : fence.language));
      for (const auto& [name, arguments] : reply.calls) add("calls " + name);
    }
    table.add_row({each.agent,
                   {printable(each.model), Style::dim},
                   each.error.empty() ? tokens_text(each) : "–",
                   seconds_text(each.seconds),
                   {printable(answer), each.error.empty() ? Style::plain : Style::warning}});
  }
  return table.render(terminal);
}

std::string conversation_markdown(const std::vector<Exchange>& all) {
  std::string out;
  int number = 0;
  for (const Exchange& each : all) {
    out += format("# {}. {} ({}): {}\n\n", ++number, each.agent, each.model, figures(each));
    for (const Said& said : each.said) {
      out += format("## {}{}\n\n", said.role, said.failed ? ": the call failed" : "");
      if (!said.reasoning.empty()) out += "> " + join(split(trim(said.reasoning), '\n'), "\n> ") + "\n\n";
      if (!said.text.empty()) out += trim(said.text) + "\n\n";
      for (const auto& [name, arguments] : said.calls) out += format("calls {} {}\n\n", name, arguments);
    }
    if (!each.error.empty()) out += "no answer: " + each.error + "\n\n";
  }
  return out;
}

}  // namespace stitch
