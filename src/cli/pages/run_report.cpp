#include "cli/pages/run_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/terminal/table.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "cli/commands/runs.h"
#include "llm/answers.h"

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

// `before`: the messages of this agent's last request, which the next one repeats if it continues that
// conversation.
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

namespace {

struct Side {
  const store::Run& run;
  agents::PastRun past;
  Sources sources;  // of its best program
};

Result<Side> side_of(const store::RunStore& store, const store::Run& run) {
  STITCH_TRY(agents::PastRun past, agents::read_history(store, run));
  Side out{run, std::move(past), {}};
  if (const int best = best_step(out.past); best >= 0) {
    const auto& attempts = out.past.steps[static_cast<size_t>(best)].attempts;
    if (!attempts.empty()) {
      STITCH_TRY(out.sources, sources_of(store, attempts.back()));
    }
  }
  return out;
}

std::string fate_of(const agents::PastStep& step) {
  if (!step.entry) return "killed";
  const double after = step.entry->value("after_seconds", 0.0);
  return format("{}{}{}", step.kept ? "kept" : word(*step.entry, "outcome"), after > 0 ? ", " : "",
                after > 0 ? seconds_text(after) : "");
}

const agents::PastStep* step_named(const agents::PastRun& run, const std::string& name) {
  for (const agents::PastStep& step : run.steps)
    if (step.name == name) return &step;
  return nullptr;
}

// Names of both runs' steps, the first one's first.
std::vector<std::string> steps_of(const Side& a, const Side& b) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const Side* side : {&a, &b})
    for (const agents::PastStep& step : side->past.steps)
      if (seen.insert(step.name).second) out.push_back(step.name);
  return out;
}

void print(const Side& a, const Side& b, Console& console) {
  const Terminal& terminal = console.out_terminal;
  Table facts({{}, {.header = a.run.id, .least = 12}, {.header = b.run.id, .least = 12}});
  auto row = [&](const char* what, const std::string& left, const std::string& right) {
    facts.add_row({{what, Style::dim},
                   {printable(left), Style::plain},
                   {printable(right), left == right ? Style::dim : Style::bold}});
  };
  row("task", a.run.start.task, b.run.start.task);
  row("state", std::string(name(a.run.state)), std::string(name(b.run.state)));
  row("a call", a_call(a.run.summary), a_call(b.run.summary));
  row("attempts", std::to_string(a.run.summary.attempts), std::to_string(b.run.summary.attempts));
  row("took", seconds_text(a.run.summary.elapsed), seconds_text(b.run.summary.elapsed));
  row("class", a.run.start.numerics, b.run.start.numerics);
  row("GPU", machine_of(a.run.start), machine_of(b.run.start));
  row("brains", a.run.start.brains, b.run.start.brains);
  row("graph", a.run.start.graph.substr(0, 12), b.run.start.graph.substr(0, 12));
  console.out << facts.render(terminal) << '\n';
  Table steps({{.header = "step", .least = 14},
               {.header = a.run.id, .least = 14},
               {.header = b.run.id, .least = 14}});
  for (const std::string& name : steps_of(a, b)) {
    const agents::PastStep *left = step_named(a.past, name), *right = step_named(b.past, name);
    steps.add_row({printable(name), left ? fate_of(*left) : "–", right ? fate_of(*right) : "–"});
  }
  if (!steps.empty()) console.out << steps.render(terminal) << '\n';
  const auto files = diff_sources(a.sources, b.sources);
  if (files.empty())
    console.out << (a.sources.empty() ? "No programs to compare.\n" : "The programs are identical.\n");
  for (const auto& [path, lines] : files) {
    const DiffSize size = size_of(lines);
    console.out << styled(printable(path), Style::bold, terminal)
                << format("  +{} -{}\n", size.added, size.removed);
    for (const DiffLine& line : lines) {
      const Style style = line.kind == DiffLine::Kind::added     ? Style::good
                          : line.kind == DiffLine::Kind::removed ? Style::bad
                          : line.kind == DiffLine::Kind::gap     ? Style::dim
                                                                 : Style::plain;
      console.out << styled(std::string(1, static_cast<char>(line.kind)) + printable(line.text), style,
                            terminal)
                  << '\n';
    }
  }
}

Json compared(const Side& a, const Side& b) {
  Json json = {{"runs", {json_of(a.run), json_of(b.run)}},
               {"steps", Json::array()},
               {"sources", diff_json(a.sources, b.sources)}};
  for (const std::string& name : steps_of(a, b)) {
    Json one = {{"step", name}};
    for (const Side* side : {&a, &b})
      if (const agents::PastStep* step = step_named(side->past, name))
        one[side->run.id] = step->entry ? *step->entry : Json{{"outcome", "killed"}};
    json["steps"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

std::map<std::string, std::vector<DiffLine>> diff_sources(const Sources& before, const Sources& after) {
  std::map<std::string, std::vector<DiffLine>> out;
  static const std::string nothing;
  auto text = [](const Sources& sources, const std::string& path) -> const std::string& {
    auto found = sources.find(path);
    return found == sources.end() ? nothing : found->second;
  };
  for (const Sources* sources : {&before, &after})
    for (const auto& [path, ignored] : *sources)
      if (!out.contains(path) && text(before, path) != text(after, path))
        out[path] = line_diff(text(before, path), text(after, path));
  return out;
}

Json diff_json(const Sources& before, const Sources& after) {
  Json out = Json::array();
  for (const auto& [path, lines] : diff_sources(before, after)) {
    Json one = {{"path", path}, {"lines", Json::array()}};
    for (const DiffLine& line : lines)
      one["lines"].push_back(std::string(1, static_cast<char>(line.kind)) + line.text);
    out.push_back(std::move(one));
  }
  return out;
}

Result<int> diff_runs(const store::RunStore& store, const store::Run& a, const store::Run& b,
                      Console& console) {
  STITCH_TRY(Side left, side_of(store, a));
  STITCH_TRY(Side right, side_of(store, b));
  if (console.json)
    console.out << document_text(compared(left, right));
  else
    print(left, right, console);
  return 0;
}

}  // namespace stitch
