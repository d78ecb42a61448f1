#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/terminal/terminal.h"
#include "base/text.h"
#include "serve/mcp_session.h"

namespace stitch::serve {

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
