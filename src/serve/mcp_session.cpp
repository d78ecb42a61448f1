#include "serve/mcp_session.h"

#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/terminal/terminal.h"
#include "base/text.h"

namespace stitch::serve {

Json result_message(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json error_message(const Json& id, int code, std::string_view message) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}};
}

Json notification(std::string_view method, Json params) {
  Json message = {{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.is_null()) message["params"] = std::move(params);
  return message;
}

bool LinesIn::take(std::string& line) {
  const size_t end = pending_.find('\n', looked_);
  if (end == std::string::npos) {
    looked_ = pending_.size();
    return false;
  }
  line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  looked_ = 0;
  return true;
}

LinesIn::Got LinesIn::next(std::string& line, int wait_ms) {
  for (;;) {
    if (take(line)) {
      if (!std::exchange(dropping_, false) && line.size() <= most_bytes_) return Got::line;
      return Got::too_long;
    }
    if (pending_.size() > most_bytes_) {
      dropping_ = true;
      pending_.clear();
      looked_ = 0;
    }
    if (ended_) {
      if (pending_.empty()) return Got::end;
      pending_ += '\n';  // a last line without one
      continue;
    }
    pollfd ready{descriptor_, POLLIN, 0};
    const int count = ::poll(&ready, 1, wait_ms);
    if (count < 0 && errno != EINTR) return Got::end;
    if (count <= 0) return Got::nothing_yet;
    std::array<char, 1 << 16> buffer;
    const ssize_t bytes = ::read(descriptor_, buffer.data(), buffer.size());
    if (bytes > 0)
      pending_.append(buffer.data(), static_cast<size_t>(bytes));
    else if (bytes == 0 || (errno != EINTR && errno != EAGAIN))
      ended_ = true;
  }
}

void LinesOut::send(std::string_view line) {
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  std::lock_guard hold(lock_);
  while (!rest.empty()) {
    const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
    if (count > 0)
      rest.remove_prefix(static_cast<size_t>(count));
    else if (count < 0 && errno != EINTR)
      return;
  }
}

namespace {

constexpr std::array<std::string_view, 8> levels = {"debug", "info",     "notice", "warning",
                                                    "error", "critical", "alert",  "emergency"};
int level_named(std::string_view name) {
  return static_cast<int>(std::ranges::find(levels, name) - levels.begin());
}

bool is_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

}  // namespace

void McpSession::take_long_line() {
  send(error_message(
      nullptr, rpc::invalid_request,
      format("a message larger than {} was discarded", bytes_text(static_cast<double>(most_message_bytes)))));
}

void McpSession::take_line(const std::string& line) {
  if (trim(line).empty()) return;
  auto message = parse_json(line);
  if (!message) {
    send(error_message(nullptr, rpc::parse_error, "no JSON: " + printable(message.error().text())));
    return;
  }
  if (message->is_array()) {
    take_batch(*message);
    return;
  }
  take_message(*message, [this](std::shared_ptr<const Json> answer) {
    if (answer) send(*answer);
  });
}

// Version 2025-03-26 has batches. Their answers go out together, when the last one is there.
void McpSession::take_batch(const Json& batch) {
  struct Answers {
    std::mutex lock;
    Json messages = Json::array();
    size_t awaited;
  };
  auto answers = std::make_shared<Answers>();
  answers->awaited = batch.size();
  if (batch.empty()) send(error_message(nullptr, rpc::invalid_request, "an empty batch"));
  for (const Json& message : batch)
    take_message(message, [this, answers](std::shared_ptr<const Json> answer) {
      std::lock_guard hold(answers->lock);
      if (answer) answers->messages.push_back(*answer);
      if (--answers->awaited == 0 && !answers->messages.empty()) send(answers->messages);
    });
}

void McpSession::take_message(const Json& message, const Reply& reply) {
  auto refuse = [&](const Json& id, int code, std::string_view why) {
    reply(std::make_shared<const Json>(error_message(id, code, why)));
  };
  const Json none;
  if (!message.is_object() || word(message, "jsonrpc") != "2.0")
    return refuse(none, rpc::invalid_request, "not a JSON-RPC 2.0 message");
  const bool has_id = message.contains("id");
  if (has_id && !is_id(message["id"]))
    return refuse(none, rpc::invalid_request, "'id' must be a string or an integer");
  if (!message.contains("method")) {
    // An answer to something that we never ask.
    if (message.contains("result") || message.contains("error")) return reply(nullptr);
    return refuse(has_id ? message["id"] : none, rpc::invalid_request, "'method' is missing");
  }
  const Json id = has_id ? message["id"] : none;
  if (!message["method"].is_string()) return refuse(id, rpc::invalid_request, "'method' must be a string");
  const auto method = message["method"].get<std::string>();
  const Json params = message.value("params", Json::object());
  if (!params.is_object()) {
    if (!has_id) return reply(nullptr);
    return refuse(id, rpc::invalid_params, "'params' must be an object");
  }
  if (!has_id) {
    take_notification(method, params);
    return reply(nullptr);
  }
  // Newer clients first ask for methods that we don't have, to see how old we are: those are answered below.
  if (!greeted_ && is_known(method) && method != "initialize" && method != "ping")
    return refuse(id, rpc::invalid_request, "the session must begin with initialize");
  if (method == "tools/call") return call_tool(id, params, reply);
  if (method == "logging/setLevel") {
    const int level = level_named(word(params, "level"));
    if (level == static_cast<int>(levels.size()))
      return refuse(id, rpc::invalid_params, "'level' must be one of debug … emergency");
    level_ = level;
    return reply(std::make_shared<const Json>(result_message(id, Json::object())));
  }
  int code = rpc::invalid_params;
  auto answered = answer(method, params, code);
  if (!answered) return refuse(id, code, answered.error().text());
  reply(std::make_shared<const Json>(result_message(id, *std::move(answered))));
}

void McpSession::take_notification(const std::string& method, const Json& params) {
  if (method == "notifications/cancelled" && params.contains("requestId") && is_id(params["requestId"]))
    cancel(params["requestId"], word(params, "reason"));
}

void McpSession::log(std::string_view level, std::string_view text) {
  if (level_named(level) < level_) return;
  send(notification("notifications/message",
                    {{"level", level}, {"logger", "stitchcuda"}, {"data", printable(text)}}));
}

void serve_mcp(const McpOptions& options, int in, int out) {
  McpSession session(options, out);
  LinesIn lines(in, most_message_bytes);
  constexpr int look_ms = 500;
  for (std::string line;;) switch (lines.next(line, look_ms)) {
      case LinesIn::Got::line: session.take_line(line); break;
      case LinesIn::Got::too_long: session.take_long_line(); break;
      case LinesIn::Got::nothing_yet: session.heartbeat(); break;
      case LinesIn::Got::end: return;
    }
}

namespace {

constexpr std::string_view instructions =
    "StitchCUDA turns a PyTorch model into a verified CUDA program, and verifies CUDA that you wrote: "
    "against float64, with secret inputs, beside PyTorch's best baselines. Start with doctor (is there a "
    "GPU?) and show. optimize does everything by itself; or plan, code, then write_region with a kernel of "
    "your own for one region, which is built and checked at once. verify is the judge of any program folder,"
    " .cu file or KernelBench ModelNew. notes answers questions on CUDA techniques. Without a GPU everything"
    " runs on an emulated one, and times are estimates.";

// The one that MCP clients offer to people.
constexpr std::string_view task_prompt =
    "Make the PyTorch model in {} fast on this machine's GPU, with StitchCUDA's tools.\n"
    "1. doctor and show: is there a GPU, what does the model cost, what is its floor?\n"
    "2. optimize into a new folder. Read the ledger: which steps gained, what limits the program now?\n"
    "3. Where a region is far from its floor: search the notes, write a better kernel with the signature "
    "that the "
    "region's file has, and try it with write_region. Read the failing gate's evidence when it is refused.\n"
    "4. verify the best folder without quick, and report its speed against the best baseline, the numerics "
    "class and "
    "what is left to gain. Don't report a speed that verify didn't measure.";

std::string uri_of(std::string_view kind, std::string_view name) {
  return format("{}{}/{}", uri_scheme, kind, name);
}

Json resource_json(const Resource& resource) {
  return {{"uri", resource.uri}, {"name", resource.title}, {"mimeType", resource.type}};
}

}  // namespace

const std::vector<std::string>& protocol_versions() {
  static const std::vector<std::string> all = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
  return all;
}

bool McpSession::is_known(std::string_view method) {
  static constexpr std::array<std::string_view, 10> all = {"initialize",     "ping",
                                                           "tools/list",     "tools/call",
                                                           "resources/list", "resources/templates/list",
                                                           "resources/read", "prompts/list",
                                                           "prompts/get",    "logging/setLevel"};
  return std::ranges::find(all, method) != all.end();
}

Result<Json> McpSession::answer(const std::string& method, const Json& params, int& code) {
  if (method == "initialize") {
    if (!params.contains("protocolVersion") || !params["protocolVersion"].is_string())
      return user_error("params", "'protocolVersion' is required");
    return initialize(params);
  }
  if (method == "ping") return Json::object();
  if (method == "tools/list") return list_tools();
  if (method == "resources/list") return list_resources();
  if (method == "resources/templates/list") return list_resource_templates();
  if (method == "resources/read") return read_resource(params, code);
  if (method == "prompts/list") return list_prompts();
  if (method == "prompts/get") return get_prompt(params);
  code = rpc::no_such_method;
  return user_error("method", format("unknown method '{}'", printable(shorten(method, 80))));
}

Json McpSession::initialize(const Json& params) {
  greeted_ = true;
  const std::vector<std::string>& known = protocol_versions();
  const auto asked = params["protocolVersion"].get<std::string>();
  protocol_ = std::ranges::find(known, asked) != known.end() ? asked : known.front();
  return {{"protocolVersion", protocol_},
          {"capabilities",
           {{"tools", Json::object()},
            {"resources", {{"listChanged", true}}},
            {"prompts", Json::object()},
            {"logging", Json::object()}}},
          {"serverInfo", {{"name", "stitchcuda"}, {"title", "StitchCUDA"}, {"version", options_.version}}},
          {"instructions", instructions}};
}

Json McpSession::list_tools() const {
  Json tools = Json::array();
  for (const Tool& tool : options_.tools) {
    Json listed = {{"name", tool.name},
                   {"title", tool.title},
                   {"description", tool.description},
                   {"inputSchema", *tool.schema}};
    if (tool.output) listed["outputSchema"] = *tool.output;
    listed["annotations"] = {{"title", tool.title},
                             {"readOnlyHint", !tool.writes_files && !tool.runs_code},
                             {"destructiveHint", false},
                             {"openWorldHint", false}};
    tools.push_back(std::move(listed));
  }
  return {{"tools", std::move(tools)}};
}

Json McpSession::list_resources() const {
  Json list = Json::array();
  if (options_.plan_schema)
    list.push_back(resource_json({uri_of("schema", "plan"), "JSON Schema of plans", "application/json", {}}));
  for (const Resource& resource : resources_.list()) list.push_back(resource_json(resource));
  return {{"resources", std::move(list)}};
}

Json McpSession::list_resource_templates() const {
  Json list = Json::array();
  auto add = [&](const char* path, const char* name, const char* type) {
    list.push_back({{"uriTemplate", std::string(uri_scheme) + path}, {"name", name}, {"mimeType", type}});
  };
  add("verdict/{id}", "a verdict of this session, with all evidence", "application/json");
  add("plan/{id}", "a plan document of this session", "application/json");
  add("profile/{id}", "a profile of this session, with its timelines", "application/json");
  add("graph/{id}", "a graph of this session, as text", "text/plain");
  add("answer/{id}", "an answer that was too long to inline", "application/json");
  add("notes/{name}", "a technique note", "text/markdown");
  add("prompts/{name}", "a prompt of the LLM brains", "text/markdown");
  return {{"resourceTemplates", std::move(list)}};
}

Result<Resource> McpSession::find_resource(const std::string& uri) const {
  if (auto kept = resources_.find(uri)) return *kept;
  if (options_.plan_schema && uri == uri_of("schema", "plan"))
    return Resource{uri, "", "application/json", options_.plan_schema->dump(2)};
  for (const notes::Note& note : options_.notes)
    if (uri == uri_of("notes", note.name)) return Resource{uri, "", "text/markdown", notes::text_of(note)};
  for (const prompts::Prompt& prompt : options_.prompts)
    if (uri == uri_of("prompts", prompt.name)) return Resource{uri, "", "text/markdown", prompt.text};
  return user_error("resource", format("there is no resource '{}'", printable(shorten(uri, 120))),
                    "only the latest documents of a session are kept; resources/list names them");
}

Result<Json> McpSession::read_resource(const Json& params, int& code) const {
  if (!params.contains("uri") || !params["uri"].is_string()) return user_error("params", "'uri' is required");
  code = rpc::no_such_resource;
  STITCH_TRY(const Resource resource, find_resource(params["uri"].get<std::string>()));
  return Json{{"contents", {{{"uri", resource.uri}, {"mimeType", resource.type}, {"text", resource.text}}}}};
}

Json McpSession::list_prompts() const {
  const Json argument = {{"name", "model"}, {"description", "the model's .py file"}, {"required", true}};
  return {{"prompts",
           {{{"name", "optimize_model"},
             {"title", "Make a model fast"},
             {"description", "plan, write and verify a CUDA program for a PyTorch model"},
             {"arguments", {argument}}}}}};
}

Result<Json> McpSession::get_prompt(const Json& params) const {
  if (word(params, "name") != "optimize_model")
    return user_error("params", "'name' must be optimize_model, the only prompt");
  const std::string model = word(params.value("arguments", Json::object()), "model");
  if (model.empty()) return user_error("params", "the argument 'model' is required");
  std::string text(task_prompt);
  text.replace(text.find("{}"), 2, quote(shorten(model, 400)));
  const Json content = {{"type", "text"}, {"text", text}};
  return Json{{"description", "Make a model fast"}, {"messages", {{{"role", "user"}, {"content", content}}}}};
}

}  // namespace stitch::serve
