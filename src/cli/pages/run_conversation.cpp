#include "cli/pages/run_conversation.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/terminal/table.h"
#include "base/text.h"
#include "base/terminal/wording.h"
#include "cli/pages/html.h"
#include "llm/answers/fences.h"

namespace stitch {

namespace {

constexpr size_t most_shown = 20000;  // bytes of one message on a page

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

// Other people's text, line by line.
std::string in_lines(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) {
    for (size_t tab; (tab = line.find('\t')) != std::string::npos;) line.replace(tab, 1, "  ");
    line = printable(line);
  }
  return join(lines, "\n");
}

std::string shown(const std::string& text) {
  if (text.size() <= most_shown) return text;
  return text.substr(0, most_shown) +
         format("\n… ({} bytes in all: stitchcuda runs export has them)", text.size());
}

std::string html_of(const std::string& markdown) {
  std::string out;
  for (const llm::Passage& each : llm::passages_in(shown(markdown)))
    out += each.code ? format("<pre class=\"code\">{}</pre>\n", escaped(in_lines(each.fence.text)))
                     : format("<p class=\"words\">{}</p>\n", escaped(in_lines(trim(each.fence.text))));
  return out;
}

std::string html_of(const Said& said, bool open) {
  std::string body;
  if (!said.reasoning.empty())
    body +=
        format("<details><summary class=\"soft\">reasoning</summary>{}</details>\n", html_of(said.reasoning));
  body += html_of(said.text);
  for (const auto& [name, arguments] : said.calls) {
    body += format("<p class=\"words\">calls <b>{}</b></p>\n", escaped(printable(name)));
    // Texts of a call (a source that is written) as they are, not as JSON spells them.
    auto parsed = parse_json(arguments);
    if (!parsed || !parsed->is_object()) {
      body += format("<pre class=\"code\">{}</pre>\n", escaped(in_lines(shown(arguments))));
      continue;
    }
    for (const auto& [key, value] : parsed->items())
      body += format("<p class=\"words soft\">{}</p><pre class=\"code\">{}</pre>\n", escaped(printable(key)),
                     escaped(in_lines(shown(value.is_string() ? value.get<std::string>() : value.dump()))));
  }
  return format("<details class=\"said {0}\"{1}><summary>{0}{2}</summary>\n{3}</details>\n",
                escaped(printable(said.role)), open ? " open" : "", said.failed ? ": the call failed" : "",
                body);
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

Json to_json(const std::vector<Exchange>& all) {
  Json out = Json::array();
  for (const Exchange& each : all) {
    Json one = {{"agent", each.agent}, {"model", each.model}, {"seconds", each.seconds}};
    if (each.error.empty())
      one.update({{"input_tokens", each.input}, {"output_tokens", each.output}, {"finish", each.finish}});
    else
      one["error"] = each.error;
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

std::string conversation_html(const std::vector<Exchange>& all) {
  std::string out;
  int number = 0;
  for (const Exchange& each : all) {
    out +=
        format("<section class=\"exchange\"><h3>{}. {} <span class=\"soft\">{} · {}</span></h3>\n", ++number,
               escaped(printable(each.agent)), escaped(printable(each.model)), escaped(figures(each)));
    for (const Said& said : each.said) out += html_of(said, said.role == "assistant");
    if (!each.error.empty()) out += format("<p class=\"words bad\">{}</p>\n", escaped(printable(each.error)));
    out += "</section>\n";
  }
  return out;
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
