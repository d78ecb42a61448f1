// stitchcuda llm: which LLM servers are known, and whether one of them works.
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/machine/interrupt.h"
#include "base/terminal/progress.h"
#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "http/client.h"
#include "llm/connect.h"
#include "llm/wire/wire.h"

namespace stitch {

namespace {

struct LlmCommand {
  std::string action;   // list or ask
  std::string profile;  // of ask: PROFILE[/MODEL]
  std::string text;     // of ask
  std::string system;
  std::string config;      // a file instead of the usual ones
  std::string transcript;  // a file that gets the exchange as a line
  bool stream = false;     // show the answer as it comes
  int64_t max_tokens = 0;  // 0: the profile's
};

// Lines stay lines; nothing else in them moves the cursor.
std::string printable_lines(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) {
    for (size_t tab; (tab = line.find('\t')) != std::string::npos;) line.replace(tab, 1, "    ");
    line = printable(line);
  }
  return join(lines, "\n");
}

std::string dollars_text(const std::optional<double>& dollars) {
  if (!dollars) return "price unknown";
  return *dollars > 0 ? format("${:.4f}", *dollars) : "free";
}

bool has_key(const llm::Profile& profile) {
  return static_cast<bool>(llm::key_of(profile, llm::process_environment()));
}

Result<int> run_list(const llm::Config& config, Console& console) {
  if (console.json) {
    Json profiles = Json::array();
    for (const auto& [name, profile] : config.profiles) {
      Json one = {
          {"name", name}, {"api", llm::name(profile.api)}, {"url", profile.url}, {"model", profile.model}};
      one["key_env"] = profile.key_env;
      one["key_present"] = profile.key_env.empty() || has_key(profile);
      one["origin"] = profile.origin;
      profiles.push_back(std::move(one));
    }
    console.out << document_text(
        {{"profiles", profiles}, {"warnings", config.warnings}, {"http", http::has_client()}});
    return 0;
  }
  Table table({{"profile"}, {"api"}, {"url"}, {"model"}, {"key"}, {"from"}});
  for (const auto& [name, profile] : config.profiles) {
    std::string key = profile.key_env.empty()
                          ? "none needed"
                          : format("${} {}", profile.key_env, has_key(profile) ? "is set" : "is not set");
    table.add_row({printable(name), std::string(llm::name(profile.api)), printable(profile.url),
                   profile.model.empty() ? format("llm:{}/MODEL", name) : printable(profile.model), key,
                   printable(profile.origin)});
  }
  console.out << table.render(console.out_terminal, 0);
  for (const std::string& warning : config.warnings) console.err << "warning: " << printable(warning) << '\n';
  if (!http::has_client())
    console.err
        << "warning: built without HTTP support (cpp-httplib was not found): none of them can be reached\n";
  return 0;
}

void print_reply(const llm::Reply& reply, const llm::Profile& profile, const llm::Spent& spent,
                 const std::optional<double>& dollars, bool shown, Console& console) {
  if (console.json) {
    Json document = llm::to_json(reply);
    document["profile"] = profile.name;
    document["requests"] = spent.requests;
    document["dollars"] = dollars ? Json(*dollars) : Json();
    console.out << document_text(document);
    return;
  }
  if (!shown) console.out << printable_lines(reply.text);
  console.out << '\n';
  for (const llm::ToolCall& call : reply.tool_calls)
    console.out << printable(format("calls {}({})", call.name, call.arguments)) << '\n';
  const llm::Usage& usage = reply.usage;
  std::string tokens =
      format("{}{} tokens in, {} out", usage.estimated ? "about " : "", usage.input, usage.output);
  if (usage.cached > 0) tokens += format(" ({} from the cache)", usage.cached);
  console.err << styled(format("{}: {}, {}, {}, {}", printable(reply.model), tokens,
                               seconds_text(reply.seconds), dollars_text(dollars), llm::name(reply.finish)),
                        Style::dim, console.err_terminal)
              << '\n';
}

Result<int> run_ask(const LlmCommand& command, const llm::Config& config, Console& console) {
  if (command.profile.empty() || command.text.empty())
    return user_error("flags", "llm ask needs a profile and a text",
                      "stitchcuda llm ask ollama/qwen2.5-coder \"hello\"");
  STITCH_TRY(const llm::Profile profile, llm::choose_profile(config, command.profile));
  llm::Account account;
  llm::Connection connection{.profile = profile, .account = &account, .retry = {.tries = 1}};
  if (!command.transcript.empty()) {
    STITCH_TRY(connection.transcript, llm::transcript_file(command.transcript));
  }
  STITCH_TRY(const auto chat, llm::connect(std::move(connection)));
  llm::Request request;
  if (!command.system.empty()) request.messages.push_back(llm::system_message(command.system));
  request.messages.push_back(llm::user_message(command.text));
  if (command.max_tokens > 0) request.max_tokens = command.max_tokens;
  StopPolitely polite;
  llm::AskOptions options{.should_stop = stop_requested};
  const bool show = command.stream && !console.json;
  std::optional<Progress> progress;
  if (show)
    options.on_text = [&](std::string_view piece) { console.out << printable_lines(piece) << std::flush; };
  else
    progress.emplace(console.err, console.err_terminal, console.json, "asking " + profile.name);
  auto reply = chat->ask(request, options);
  progress.reset();
  if (!reply && show) console.out << '\n';
  STITCH_TRY(const llm::Reply answer, std::move(reply));
  const llm::Spent spent = account.total();
  std::optional<double> dollars;
  if (spent.unpriced == 0) dollars = spent.dollars;
  print_reply(answer, profile, spent, dollars, show, console);
  return 0;
}

Result<int> run_llm(const LlmCommand& command, Console& console) {
  STITCH_TRY(const llm::Config config, llm::load_config(command.config));
  if (command.action == "list") return run_list(config, console);
  if (command.action == "ask") return run_ask(command, config, console);
  return user_error("flags", format("unknown action '{}'", printable(command.action)),
                    "stitchcuda llm list, or stitchcuda llm ask PROFILE TEXT");
}

}  // namespace

Run add_llm(CLI::App& app) {
  const auto llm = std::make_shared<LlmCommand>();
  Flags flags(app, "llm", "List known LLM servers, or send one a prompt");
  flags("ACTION", llm->action, "list: the profiles; ask: send a prompt, to test a server").required();
  flags("PROFILE", llm->profile, "ask: PROFILE or PROFILE/MODEL");
  flags("TEXT", llm->text, "ask: the prompt");
  flags("--system", llm->system, "TEXT", "the system prompt");
  flags("--stream", llm->stream, "print the answer while it is generated");
  flags("--max-tokens", llm->max_tokens, "NUMBER",
        "maximum number of tokens in the answer (default: the profile's)")
      .between(1, 10000000);
  flags("--config", llm->config, "FILE",
        "the file with [llm.NAME] profiles (default: stitchcuda.toml, then the one in ~/.config)");
  flags("--transcript", llm->transcript, "FILE",
        "append the request and the answer to this file as a line of JSON");
  flags.json();
  flags.examples(
      "stitchcuda llm list\n"
      "stitchcuda llm ask ollama/qwen2.5-coder \"hello\" --stream\n"
      "OPENAI_API_KEY=… stitchcuda llm ask openai/gpt-5-mini \"hello\" --json");
  return [llm](Console& console) { return run_llm(*llm, console); };
}

}  // namespace stitch
