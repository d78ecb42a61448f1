#include "llm/http_chat.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/machine/time_account.h"
#include "base/terminal/terminal.h"
#include "base/text.h"
#include "http/message.h"
#include "llm/account.h"
#include "llm/wire/wire.h"

namespace stitch::llm {

namespace {

// The client's errors under this room's names, with what to do about a model's server.
Error of_model(Error error, const http::Call& call) {
  if (!error.code.starts_with("http_")) return error;
  error.code.replace(0, 4, "llm");
  if (error.code == "llm_timeout") error.fix = "raise the profile's timeout if it needs longer";
  if (error.code == "llm_unreachable")
    error.fix =
        call.proxy ? "check HTTPS_PROXY and HTTP_PROXY, or name the host in NO_PROXY"
                   : format("is a server running at {}? Is a proxy needed (HTTPS_PROXY)?", call.url.origin());
  return error;
}

class HttpTransport final : public Transport {
 public:
  explicit HttpTransport(Environment environment) : environment_(std::move(environment)) {}

  Result<http::Response> post(http::Call call) override {
    if (const auto proxy = proxy_for(call.url, environment_)) {
      call.proxy = http::parse_url(*proxy);
      if (!call.proxy || call.proxy->secure)
        return user_error("llm_unreachable", "the proxy in the environment is not an http:// address",
                          "HTTPS_PROXY=http://HOST:PORT");
    }
    auto answer = http::call(call);
    if (!answer) return of_model(std::move(answer).error(), call);
    return answer;
  }

 private:
  const Environment environment_;
};

}  // namespace

std::shared_ptr<Transport> http_transport(Environment environment) {
  return std::make_shared<HttpTransport>(std::move(environment));
}

namespace {

// One word of NO_PROXY: *, a host, the end of one, any of them with a port.
bool excepts(std::string word, const http::Url& url) {
  if (word == "*") return true;
  const std::string port = format(":{}", url.port);
  if (word.ends_with(port)) word.erase(word.size() - port.size());
  if (word.starts_with("*.")) word.erase(0, 1);
  const std::string host = lower_case(url.host);
  if (word.starts_with('.')) return host.ends_with(word) || host == word.substr(1);
  return !word.empty() && (host == word || host.ends_with("." + word));
}

}  // namespace

std::optional<std::string> proxy_for(const http::Url& url, const Environment& environment) {
  if (const std::string host = lower_case(url.host); http::is_loopback(host) || host.ends_with(".localhost"))
    return std::nullopt;
  auto first_of = [&](std::initializer_list<const char*> variables) {
    for (const char* variable : variables)
      if (auto value = environment(variable); value && !trim(*value).empty()) return trim(*value);
    return std::string();
  };
  for (const std::string& word : split(lower_case(first_of({"no_proxy", "NO_PROXY"})), ','))
    if (excepts(trim(word), url)) return std::nullopt;
  std::string proxy = url.secure ? first_of({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
                                 : first_of({"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"});
  if (proxy.empty()) return std::nullopt;
  if (proxy.find("://") == std::string::npos) proxy = "http://" + proxy;
  return proxy;
}

namespace {

constexpr size_t longest_error = 64 << 10;
constexpr size_t escapes = 2;
constexpr size_t overhead = 64;  // bytes of JSON around each few bytes of a streamed answer

// The body of a 200: a stream, or one JSON document from a server that doesn't stream. What it is shows in
// its first byte; the content type is often wrong.
class Body {
 public:
  Body(ReplyReader& reader, size_t limit)
      : reader_(reader),
        limit_(limit),
        parser_([this](const SseEvent& event) { return reader_.event(event); }, limit * 2) {}

  Result<void> feed(std::string_view bytes) {
    received_ += bytes.size();
    if (kind_ == Kind::unknown) {
      bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n\xEF\xBB\xBF"), bytes.size()));
      if (!bytes.empty()) kind_ = bytes.front() == '{' || bytes.front() == '<' ? Kind::whole : Kind::stream;
    }
    // JSON's escapes make a document larger than its text; events are much larger.
    if (received_ > limit_ * (kind_ == Kind::whole ? escapes : overhead))
      return work_error("llm_too_large", format("the model's answer is larger than {} bytes", limit_));
    if (kind_ == Kind::stream) return parser_.feed(bytes);
    text_ += bytes;
    return {};
  }

  Result<Reply> end() {
    if (kind_ == Kind::unknown) return work_error("llm_dropped", "the server's answer was empty");
    if (kind_ == Kind::whole) {
      auto body = parse_json(text_);
      if (!body && text_.starts_with('{')) return work_error("llm_dropped", "the server's JSON was cut off");
      if (!body || !body->is_object())
        return work_error("llm_format",
                          format("the answer is neither a stream nor JSON; it begins with: {}",
                                 shorten(printable(text_.substr(0, 400)), 80)),
                          "is the profile's url that of an API?");
      STITCH_CHECK(reader_.whole(*body));
    }
    return reader_.end();
  }

 private:
  enum class Kind { unknown, stream, whole };
  ReplyReader& reader_;
  const size_t limit_;
  SseParser parser_;
  Kind kind_ = Kind::unknown;
  size_t received_ = 0;
  std::string text_;
};

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(1000 * seconds));
}

// A server may repeat the key in what it says.
std::string hide(std::string text, const std::string& key) {
  for (size_t at; key.size() > 3 && (at = text.find(key)) != std::string::npos;)
    text.replace(at, key.size(), "[key]");
  return text;
}

// Servers take different parts of JSON Schema, and some none.
bool is_about_schemas(const Error& error) {
  if (error.code != "llm_request") return false;
  const std::string said = lower_case(error.message);
  return std::ranges::any_of(std::array{"schema", "response_format", "text.format", "grammar", "guided"},
                             [&](const char* part) { return said.find(part) != std::string::npos; });
}

void estimate_usage(Reply& reply, const Request& request) {
  if (reply.usage.total() > 0) return;
  size_t bytes = reply.text.size() + reply.reasoning.size();
  for (const ToolCall& call : reply.tool_calls) bytes += call.name.size() + call.arguments.size();
  reply.usage = {
      .input = estimated_tokens(request), .output = static_cast<int64_t>(bytes / 3), .estimated = true};
}

}  // namespace

HttpChat::HttpChat(Profile profile, std::string key, std::shared_ptr<Transport> transport, size_t limit)
    : profile_(std::move(profile)), key_(std::move(key)), transport_(std::move(transport)), limit_(limit) {}

Result<Reply> HttpChat::ask(const Request& request, const AskOptions& options) {
  Request sent = request;
  if (refuses_schemas_) sent.answer_schema = nullptr;
  auto reply = ask_once(sent, options);
  if (!reply && sent.answer_schema && profile_.json_schema && is_about_schemas(reply.error())) {
    // ask_json() checks the answer against the schema all the same.
    sent.answer_schema = nullptr;
    reply = ask_once(sent, options);
    if (reply) refuses_schemas_ = true;
  }
  if (reply) return reply;
  Error error = std::move(reply).error();
  error.message = hide(error.message, key_);
  return error;
}

Result<Reply> HttpChat::ask_once(const Request& request, const AskOptions& options) {
  const Wire& wire = wire_of(profile_.api);
  const std::string address = without_slash(profile_.url) + wire.path();
  auto url = http::parse_url(address);
  if (!url) return user_error("llm_request", format("'{}' is not an http address", address));
  const auto reader = wire.reader(options, limit_);
  Body body(*reader, limit_);
  std::string refusal;
  const auto start = Clock::now();
  http::Call call{.method = "POST",
                  .url = *std::move(url),
                  .headers = wire.headers(key_),
                  .body = line_text(wire.body(profile_, request)),
                  .time_limit = std::chrono::hours(7 * 24),
                  .silence_limit = milliseconds(profile_.timeout),
                  .should_stop = options.should_stop};
  call.headers.emplace_back("Content-Type", "application/json");
  call.headers.emplace_back("Accept", profile_.stream ? "text/event-stream" : "application/json");
  if (options.deadline)
    call.time_limit = std::chrono::ceil<std::chrono::milliseconds>(*options.deadline - start);
  call.receive = [&](const http::Response& so_far, std::string_view bytes) {
    if (so_far.status == 200) return body.feed(bytes);
    if (refusal.size() < longest_error) refusal += bytes;
    return Result<void>();
  };
  STITCH_TRY(const http::Response head, transport_->post(std::move(call)));
  if (head.status != 200) {
    if (auto wait = retry_after(head); wait && options.on_retry_after) options.on_retry_after(*wait);
    return status_error(profile_, head.status, refusal);
  }
  STITCH_TRY(Reply reply, body.end());
  reply.seconds = seconds_since(start);
  if (reply.model.empty()) reply.model = profile_.model;
  estimate_usage(reply, request);
  return reply;
}

namespace {

// A server's own words, for one line of a terminal.
std::string said_by(std::string_view body) {
  if (trim(body).empty()) return "";
  auto parsed = parse_json(body);
  std::string text = parsed && parsed->is_object() ? error_message(*parsed) : std::string(body);
  return ": " + shorten(printable(trim(text)), 300);
}

}  // namespace

Error status_error(const Profile& profile, int status, std::string_view body) {
  const std::string said = said_by(body);
  const std::string who = format("{} ({})", profile.url, status);
  switch (status) {
    case 401:
    case 403:
      return user_error(
          "llm_auth", format("{} rejects the API key{}", who, said),
          profile.key_env.empty()
              ? format("name the variable that holds its key: key_env of [llm.{}]", profile.name)
              : format("check the key in ${}", profile.key_env));
    case 402: return user_error("llm_request", format("{} requires payment{}", who, said));
    case 404:
      return user_error(
          "llm_model",
          format("{} has no model '{}', or no {}{}", who, profile.model, wire_of(profile.api).path(), said),
          format("check model, url and api of the profile {}", profile.name));
    case 413:
      return user_error("llm_request", format("{} rejects the request as too large{}", who, said),
                        format("set context of the profile {}", profile.name));
    case 429:
      return work_error("llm_rate_limit", format("{} limits the request rate{}", who, said),
                        "wait, or use another profile");
    case 408:
    case 425: return work_error("llm_timeout", format("{} timed out{}", who, said));
    default: break;
  }
  if (status >= 500)
    return work_error("llm_server", format("{} failed{}", who, said),
                      status == 529 || status == 503 ? "it is overloaded: try later, or another profile"
                                                     : "its log may say why");
  if (status >= 300 && status < 400)
    return user_error("llm_request", format("{} redirects to another address", who),
                      "put that address into the profile's url: keys are not sent on");
  return user_error("llm_request", format("{} rejects the request{}", who, said));
}

std::optional<double> retry_after(const http::Response& head) {
  if (auto milliseconds = parse_number(head.header("retry-after-ms"))) return *milliseconds / 1000;
  auto seconds = parse_number(head.header("retry-after"));
  return seconds && *seconds >= 0 ? seconds : std::nullopt;
}

}  // namespace stitch::llm
