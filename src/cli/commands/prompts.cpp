// stitchcuda prompts: shows the prompts of LLM brains, and checks a folder of others.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "prompts/templates.h"

namespace stitch {

namespace {

struct PromptsCommand {
  std::string action;  // list, show, check
  std::string name;    // of a prompt; check: a folder
  std::string folder;  // whose prompts replace the built-in ones
};

Json prompt_json(const prompts::Prompt& prompt) {
  Json json = {{"name", prompt.name}, {"purpose", prompt.purpose}, {"values", prompt.values}};
  if (!prompt.file.empty()) json["file"] = prompt.file.string();
  return json;
}

void say_json(const Json& json, Console& console) { console.out << document_text(json); }

void list_prompts(const std::vector<prompts::Prompt>& all, Console& console) {
  if (console.json) {
    Json rows = Json::array();
    for (const prompts::Prompt& prompt : all) rows.push_back(prompt_json(prompt));
    say_json({{"prompts", std::move(rows)}}, console);
    return;
  }
  Table table({{.header = "prompt"},
               {.header = "what for"},
               {.header = "values", .least = 20},
               {.header = "file", .optional = 1}});
  for (const prompts::Prompt& prompt : all)
    table.add_row({prompt.name, prompt.purpose, join(prompt.values, " "),
                   prompt.file.empty() ? "built in" : printable(prompt.file.string())});
  console.out << table.render(console.out_terminal);
}

void show_prompt(const prompts::Prompt& prompt, Console& console) {
  if (console.json) {
    Json json = prompt_json(prompt);
    json["text"] = prompt.text;
    say_json(json, console);
    return;
  }
  for (const std::string& line : split(trim(prompt.text), '\n')) console.out << printable(line) << '\n';
}

void report_check(const std::vector<prompts::Prompt>& all, const std::string& folder, Console& console) {
  Json rows = Json::array();
  for (const prompts::Prompt& prompt : all) {
    if (prompt.file.empty()) continue;
    const std::vector<std::string> left_out = prompts::unused(prompt);
    rows.push_back({{"name", prompt.name}, {"unused", left_out}});
    if (!console.json && !left_out.empty())
      console.err << styled("warning:", Style::warning, console.err_terminal) << ' ' << prompt.name
                  << " does without " << join(left_out, ", ") << '\n';
  }
  if (console.json)
    say_json({{"folder", folder}, {"prompts", std::move(rows)}}, console);
  else
    console.out << format("{}: {} of {} prompts, all fine\n", printable(folder), rows.size(), all.size());
}

Result<int> run_prompts(const PromptsCommand& command, Console& console) {
  if (command.action == "check") {
    if (command.name.empty())
      return user_error("usage", "a folder is required", "stitchcuda prompts check FOLDER");
    STITCH_TRY(const auto all, prompts::with_folder(command.name));
    if (std::ranges::all_of(all, [](const prompts::Prompt& prompt) { return prompt.file.empty(); }))
      return at(command.name, user_error("prompts", "no prompts in this folder",
                                         "files such as coder_answer.md: stitchcuda prompts list"));
    report_check(all, command.name, console);
    return 0;
  }
  std::vector<prompts::Prompt> all = prompts::built_in();
  if (!command.folder.empty()) {
    STITCH_TRY(all, prompts::with_folder(command.folder));
  }
  if (command.action == "list") {
    list_prompts(all, console);
    return 0;
  }
  if (command.action == "show") {
    if (command.name.empty())
      return user_error("usage", "the name of a prompt is required", "stitchcuda prompts show planner");
    STITCH_TRY(const prompts::Prompt prompt, prompts::find(all, command.name));
    show_prompt(prompt, console);
    return 0;
  }
  return user_error("prompts", format("unknown action '{}'", command.action), "list, show or check");
}

}  // namespace

Run add_prompts(CLI::App& app) {
  const auto prompts = std::make_shared<PromptsCommand>();
  Flags flags(app, "prompts", "Show or check the prompts of LLM brains");
  flags("ACTION", prompts->action, "list, show or check").required();
  flags("NAME", prompts->name, "show: a prompt; check: a folder of prompts");
  flags("--prompts", prompts->folder, "FOLDER", "a folder of prompts that replace the built-in ones");
  flags.json();
  flags.examples(
      "stitchcuda prompts list\n"
      "stitchcuda prompts show coder_answer\n"
      "stitchcuda prompts check my_prompts/");
  return [prompts](Console& console) { return run_prompts(*prompts, console); };
}

}  // namespace stitch
