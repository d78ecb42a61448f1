#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/contained.h"
#include "base/machine/interrupt.h"
#include "base/machine/time_account.h"
#include "base/terminal/terminal.h"
#include "base/text.h"
#include "serve/mcp_session.h"
#include "serve/schema.h"

namespace stitch::serve {

namespace {

constexpr auto silence = std::chrono::seconds(5);  // before a heartbeat

// At a line's end, if there is one near.
std::string cut(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = text.rfind('\n', most);
  if (end == std::string::npos || end < most / 2) end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + format("\n… ({} bytes of {})", end, text.size());
}

}  // namespace

class McpSession::Running final : public Call {
 public:
  Running(McpSession& session, Json its_id, const Tool& its_tool, Json its_arguments, Json its_token,
          Reply its_reply)
      : id(std::move(its_id)),
        tool(its_tool),
        arguments(std::move(its_arguments)),
        reply(std::move(its_reply)),
        session_(session),
        token_(std::move(its_token)) {}

  void progress(std::string_view text) override {
    std::lock_guard hold(lock_);
    doing_ = text;
    tell();
  }
  void still_at_it() {
    std::lock_guard hold(lock_);
    if (Clock::now() - told_ >= silence) tell();
  }
  bool stopped() const override { return cancelled; }
  std::string keep(std::string_view kind, std::string_view title, std::string text) override {
    std::string uri = session_.resources_.keep(kind, title, std::move(text));
    session_.send(notification("notifications/resources/list_changed", nullptr));
    return uri;
  }

  const Json id;
  const Tool& tool;
  const Json arguments;
  const Reply reply;
  std::atomic<bool> cancelled = false;
  Clock::time_point cancelled_at;

 private:
  // Progress must increase; the total is unknown.
  void tell() {
    told_ = Clock::now();
    if (token_.is_null() || cancelled) return;
    const double seconds = std::chrono::duration<double>(told_ - begin_).count();
    session_.send(notification("notifications/progress",
                               {{"progressToken", token_},
                                {"progress", ++told_times_},
                                {"message", format("{} ({:.0f} s)", printable(doing_), seconds)}}));
  }

  McpSession& session_;
  const Json token_;
  std::mutex lock_;
  std::string doing_ = "waiting for the previous call";
  int told_times_ = 0;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point told_ = begin_;
};

McpSession::McpSession(const McpOptions& options, int out)
    : options_(options), out_(out), protocol_(protocol_versions().front()), level_(3), worker_([this] {
        work();
      }) {}

McpSession::~McpSession() {
  {
    std::lock_guard hold(lock_);
    over_ = true;
    waiting_.clear();
    if (current_) current_->cancelled = true;
  }
  wake_.notify_all();
  worker_.join();
}

void McpSession::call_tool(const Json& id, const Json& params, const Reply& reply) {
  auto refuse = [&](int code, const std::string& why) {
    reply(std::make_shared<const Json>(error_message(id, code, why)));
  };
  const std::string name = word(params, "name");
  auto tool = std::ranges::find(options_.tools, name, &Tool::name);
  if (tool == options_.tools.end()) {
    std::vector<std::string> names;
    for (const Tool& each : options_.tools) names.push_back(each.name);
    return refuse(rpc::invalid_params,
                  format("unknown tool '{}'; one of: {}", printable(shorten(name, 60)), join(names, ", ")));
  }
  Json arguments = params.value("arguments", Json::object());
  if (arguments.is_null()) arguments = Json::object();
  arguments = with_present_names(*tool->schema, std::move(arguments));
  Json token;
  if (params.contains("_meta") && params["_meta"].is_object()) {
    token = params["_meta"].value("progressToken", Json());
    if (!token.is_string() && !token.is_number_integer()) token = nullptr;
  }
  auto running = std::make_shared<Running>(*this, id, *tool, std::move(arguments), std::move(token), reply);
  // A model mends its arguments when it is told so in an answer; an error of the protocol may never reach it.
  if (auto checked = check_arguments(*tool->schema, running->arguments); !checked) {
    reply(std::make_shared<const Json>(result_message(id, result_of(*running, std::move(checked).error()))));
    return;
  }
  if (tool->quick) {
    run(*running);
    return;
  }
  {
    std::lock_guard hold(lock_);
    constexpr size_t most_waiting = 64;
    if (waiting_.size() >= most_waiting)
      return refuse(rpc::internal_error, format("{} calls are already waiting", most_waiting));
    if (!calls_.emplace(id.dump(), running).second)
      return refuse(rpc::invalid_request, "a call with this id is already running");
    waiting_.push_back(running);
  }
  wake_.notify_all();
}

void McpSession::cancel(const Json& id, const std::string& reason) {
  std::shared_ptr<Running> given_up;
  bool had_begun = false;
  {
    std::lock_guard hold(lock_);
    auto found = calls_.find(id.dump());
    if (found == calls_.end()) return;  // answered already
    given_up = found->second;
    given_up->cancelled_at = Clock::now();
    given_up->cancelled = true;
    had_begun = given_up == current_;
    if (!had_begun) {
      std::erase(waiting_, given_up);
      calls_.erase(found);
    }
  }
  log("info",
      format("{}: cancelled{}", given_up->tool.name, reason.empty() ? "" : ": " + shorten(reason, 200)));
  if (!had_begun) given_up->reply(nullptr);
}

void McpSession::run(Running& running) {
  auto answer = contained([&] { return running.tool.run(running.arguments, running); });
  if (running.cancelled) {
    const double seconds = seconds_since(running.cancelled_at);
    log("info", format("{}: stopped {:.1f} s after it was cancelled", running.tool.name, seconds));
    running.reply(nullptr);
    return;
  }
  Json message = result_message(running.id, result_of(running, std::move(answer)));
  running.reply(std::make_shared<const Json>(std::move(message)));
}

Json McpSession::result_of(const Running& running, Result<Answer> answer) {
  Json content = Json::array();
  auto add_text = [&](const std::string& text) {
    content.push_back({{"type", "text"}, {"text", cut(text, most_text_bytes)}});
  };
  if (!answer) {
    Error error = std::move(answer).error();
    for (std::string* text : {&error.message, &error.fix}) *text = in_arguments(*running.tool.schema, *text);
    add_text(error.text());
    return {{"content", std::move(content)}, {"structuredContent", to_json(error)}, {"isError", true}};
  }
  Json structured = answer->structured ? *answer->structured : Json::object();
  if (auto warnings = structured.find("warnings"); warnings != structured.end())
    for (Json& each : *warnings) {
      const auto before = each.get<std::string>();
      each = in_arguments(*running.tool.schema, before);
      if (const size_t at = answer->text.find(before); at != std::string::npos)
        answer->text.replace(at, before.size(), each.get<std::string>());
    }
  add_text(answer->text);
  if (std::string whole = line_text(structured); whole.size() > most_structured_bytes) {
    const std::string uri = resources_.keep("answer", running.tool.name + "'s answer", std::move(whole));
    answer->resources.push_back(uri);
    structured = {{"too_long", true}, {"resource", uri}};
  }
  // Older clients know no links; the URIs are in the text and the structure, too.
  if (protocol_ >= "2025-06-18")
    for (const std::string& uri : answer->resources)
      content.push_back({{"type", "resource_link"}, {"uri", uri}, {"name", uri.substr(uri_scheme.size())}});
  return {{"content", std::move(content)}, {"structuredContent", std::move(structured)}, {"isError", false}};
}

void McpSession::work() {
  std::unique_lock hold(lock_);
  for (;;) {
    wake_.wait(hold, [&] { return over_ || !waiting_.empty(); });
    if (over_) return;
    current_ = waiting_.front();
    waiting_.pop_front();
    hold.unlock();
    {
      EndChildrenWhen given_up([running = current_] { return running->cancelled.load(); });
      run(*current_);
    }
    hold.lock();
    calls_.erase(current_->id.dump());
    current_.reset();
  }
}

void McpSession::heartbeat() {
  std::vector<std::shared_ptr<Running>> all;
  {
    std::lock_guard hold(lock_);
    for (const auto& [id, running] : calls_) all.push_back(running);
  }
  for (const auto& running : all) running->still_at_it();
}

}  // namespace stitch::serve
