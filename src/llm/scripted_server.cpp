#include "llm/scripted_server.h"

#include <httplib.h>
#include <atomic>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"
#include "llm/wire/wire.h"

namespace stitch::llm {

namespace {

class HttpScriptedServer final : public ScriptedServer {
 public:
  explicit HttpScriptedServer(std::vector<Answer> answers)
      : answers_(std::make_move_iterator(answers.begin()), std::make_move_iterator(answers.end())) {
    server_.set_keep_alive_max_count(1);
    server_.set_tcp_nodelay(true);
    server_.set_write_timeout(120);  // a busy machine reads ten megabytes slowly (httplib: 5 s)
    for (Api api : {Api::openai, Api::responses, Api::anthropic})
      server_.Post("/v1" + wire_of(api).path(),
                   [this, api](const httplib::Request& request, httplib::Response& response) {
                     serve(api, request, response);
                   });
    port_ = server_.bind_to_any_port("127.0.0.1");
  }

  ~HttpScriptedServer() override {
    ending_ = true;
    server_.stop();
    if (listening_.joinable()) listening_.join();
  }

  bool start() {
    if (port_ <= 0) return false;
    listening_ = std::thread([this] { server_.listen_after_bind(); });
    for (int i = 0; i < 2000 && !server_.is_running(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return server_.is_running();
  }

  void push(Answer answer) override {
    std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  void otherwise(Answer answer) override {
    std::lock_guard lock(mutex_);
    otherwise_ = std::move(answer);
  }
  std::vector<Asked> asked() const override {
    std::lock_guard lock(mutex_);
    return asked_;
  }
  std::string url() const override { return format("http://127.0.0.1:{}/v1", port_); }

 private:
  void serve(Api api, const httplib::Request& request, httplib::Response& response) {
    Asked asked{.api = api, .body = nullptr, .headers = {}};
    auto body = parse_json(request.body);
    asked.body = std::make_shared<const Json>(body ? std::move(*body) : Json(request.body));
    asked.stream = asked.body->is_object() && asked.body->value("stream", false);
    for (const auto& [key, value] : request.headers) asked.headers.emplace_back(lower_case(key), value);
    Answer answer = fails_with(500, "the script has no more answers");
    {
      std::lock_guard lock(mutex_);
      asked_.push_back(asked);
      if (!answers_.empty()) {
        answer = std::move(answers_.front());
        answers_.pop_front();
      } else if (otherwise_) {
        answer = otherwise_;
      }
    }
    send(answer(asked), asked.stream, response);
  }

  void send(Scripted scripted, bool stream, httplib::Response& response) {
    response.status = scripted.status;
    for (const auto& [key, value] : scripted.headers) response.set_header(key, value);
    std::string type = scripted.content_type;
    if (type.empty()) type = stream && scripted.status == 200 ? "text/event-stream" : "application/json";
    auto chunk = std::make_shared<size_t>(0);
    auto script = std::make_shared<const Scripted>(std::move(scripted));
    response.set_chunked_content_provider(type, [this, chunk, script](size_t, httplib::DataSink& sink) {
      if (*chunk < script->chunks.size()) {
        if (*chunk > 0 && script->seconds_between > 0) rest(script->seconds_between);
        const std::string& bytes = script->chunks[(*chunk)++];
        return bytes.empty() || sink.write(bytes.data(), bytes.size());
      }
      while (script->hang && !ending_ && sink.is_writable()) rest(0.002);
      if (script->hang || script->drop) return false;  // the connection is cut
      sink.done();
      return true;
    });
  }

  void rest(double seconds) const {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (!ending_ && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  mutable std::mutex mutex_;
  std::deque<Answer> answers_;
  Answer otherwise_;
  std::vector<Asked> asked_;
  std::atomic<bool> ending_ = false;
  httplib::Server server_;
  int port_ = 0;
  std::thread listening_;
};

}  // namespace

Result<std::unique_ptr<ScriptedServer>> ScriptedServer::start(std::vector<Answer> answers) {
  auto server = std::make_unique<HttpScriptedServer>(std::move(answers));
  if (!server->start()) return work_error("scripted_server", "cannot listen on 127.0.0.1");
  return std::unique_ptr<ScriptedServer>(std::move(server));
}

Profile ScriptedServer::profile(Api api) const {
  return {.name = "scripted",
          .api = api,
          .url = url(),
          .model = "scripted-model",
          .max_tokens = 1000,
          .timeout = 30,
          .price = Price{.input = 1, .output = 2},
          .json_schema = true};
}

}  // namespace stitch::llm
