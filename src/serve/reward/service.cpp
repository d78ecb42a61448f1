#include "serve/reward/service.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/machine/time_account.h"
#include "base/text.h"
#include "serve/fleet/desk.h"
#include "serve/reward/forms.h"
#include "serve/reward/journal.h"
#include "serve/reward/local_judges.h"
#include "serve/reward/statistics.h"
#include "serve/reward/tasks.h"
#include "verify/not_judged.h"

namespace stitch::serve {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double longest_wait = 600;  // seconds that a client may wait for an answer

SharedJson lost_answer() {
  Json verdict = {{"verdict", verifier::not_judged},
                  {"code", "worker_lost"},
                  {"reason", "its workers stopped responding"}};
  return std::make_shared<const Json>(Json{{"reward", 0.0},
                                           {"counted", false},
                                           {"label", verifier::not_judged},
                                           {"components", Json::object()},
                                           {"verdict", std::move(verdict)}});
}

bool is_answer(const Json& result) {
  return result.is_object() && result.contains("reward") && result["reward"].is_number() &&
         std::isfinite(result["reward"].get<double>()) && result.contains("label") &&
         result["label"].is_string() && result.contains("counted") && result["counted"].is_boolean() &&
         result.contains("key") && result["key"].is_string();
}

Error a_bug(const std::exception& bug) {
  return work_error(error_code::bug, format("a bug in stitchcuda: {}", bug.what()));
}

// One request and the answers it waits for.
struct Waiting {
  const Form* form = nullptr;  // null: a single answer, by its key
  http::Request request;
  Json body;
  http::Reply reply;
  Clock::time_point until;
  std::mutex mutex;
  std::vector<std::string> keys;
  std::vector<SharedJson> answers;  // null: not yet
  size_t missing = 0;
  bool sent = false;
};

class HttpService final : public RewardService {
 public:
  HttpService(ServiceOptions options, std::unique_ptr<TaskShelf> shelf)
      : options_(std::move(options)),
        shelf_(std::move(shelf)),
        settings_(line_text(to_json(options_.scorer.judging))) {}

  Result<void> begin() {
    STITCH_TRY(journal_, Journal::open(options_.state, [this](const Json& answer) { count(answer, false); }));
    scorer_ = options_.scored_by ? options_.scored_by : std::make_shared<VerifyingScorer>(options_.scorer);
    queue_.emplace(QueueOptions{
        .most_waiting = options_.most_waiting,
        .lease_time = std::chrono::milliseconds(static_cast<int64_t>(1000 * options_.lease_seconds)),
        .given_up = lost_answer(),
        .recall = [this](const std::string& key) { return recall(key); },
        .accept = [this](const Work& work) { return accept(work); },
        .settle = [this](const Work& work, const SharedJson& result) { settle(work, result); },
        .on_lost =
            [this](const std::string& worker, const Work& work, int losses) {
              if (options_.on_notice)
                options_.on_notice(lost_text(worker, "a candidate for " + word(*work.payload, "task"), losses,
                                             QueueOptions{}.most_losses));
            }});
    desk_.emplace(*queue_, DeskOptions{.device = device(),
                                       .renew_every = options_.lease_seconds / 4,
                                       .dress = [this](const Work& work) { return dressed(work); },
                                       .is_result = is_answer});
    go_on();
    if (!options_.judge_later) begin_judging();
    watcher_ = std::thread([this] { watch(); });
    STITCH_TRY(server_, http::Server::start(
                            options_.http,
                            [this](http::Request&& request, http::Reply reply) {
                              try {
                                handle(std::move(request), reply);
                              } catch (const std::exception& bug) {
                                reply.send(error_response(a_bug(bug), 500));
                              }
                            },
                            door(options_.token)));
    return {};
  }

  ~HttpService() override {
    ending_ = true;
    if (watcher_.joinable()) watcher_.join();
    server_.reset();
    judges_.reset();
    queue_.reset();
  }

  int port() const override { return server_->port(); }
  void begin_judging() override {
    if (options_.judge_here)
      judges_.emplace(*queue_, *scorer_, options_.scorer.judging.timed(), options_.jobs);
  }
  size_t left_from_before() const override { return left_; }

  Json status() const override {
    const QueueCounts counts = queue_->counts();
    Json out = statistics_.to_json();
    out["queue"] = {{"waiting", counts.waiting}, {"judging", counts.leased}, {"lost_leases", counts.lost}};
    out["workers"] = Json::array();
    for (const auto& [worker, ago] : desk_->workers())
      out["workers"].push_back({{"name", worker}, {"seconds_ago", ago}});
    out["verdicts_a_minute"] = statistics_.rate();
    out["tasks"] = shelf_->names().size();
    out["answers_kept"] = journal_->answers();
    out["judging"] = to_json(options_.scorer.judging);
    out["uptime"] = seconds_since(started_);
    return out;
  }

 private:
  std::string device() const {
    return options_.scorer.judging.device == runner::Device::cuda ? "cuda" : "emulated";
  }

  // ---- what the queue asks, under its lock

  SharedJson recall(const std::string& key) {
    SharedJson found = journal_->find(key);
    if (found) statistics_.from_store();
    return found;
  }
  bool accept(const Work& work) { return static_cast<bool>(journal_->accept(work.key, *work.payload)); }
  // What was not judged is tried again by the next who asks.
  void settle(const Work& work, const SharedJson& result) {
    const bool judged = word(*result, "label") != verifier::not_judged;
    if (!judged || !journal_->keep(work.key, *result)) journal_->drop(work.key);
    count(*result, true);
  }
  // From a worker or a file, untrusted: missing fields are not counted.
  void count(const Json& answer, bool now) {
    try {
      statistics_.answer(answer, now);
    } catch (const std::exception&) {
    }
  }
  // With the task's files, and how to judge.
  SharedJson dressed(const Work& work) {
    auto task = shelf_->find(word(work.payload->value("task", Json::object()), "name"));
    if (!task) return nullptr;
    Json out = *work.payload;
    out["files"] = (*task)->files;
    out["task"]["file"] = (*task)->file.filename().string();
    out["judging"] = to_json(options_.scorer.judging);
    return std::make_shared<const Json>(std::move(out));
  }

  // What an earlier process had accepted, if its task is still the same.
  void go_on() {
    for (const auto& [key, payload] : journal_->left()) {
      auto work = score_work_of(*payload);
      auto task =
          work ? shelf_->find(work->task.name) : Result<std::shared_ptr<const ShelvedTask>>(work.error());
      if (task && key_of(work->submission, circumstances(**task)) == key) {
        queue_->submit({key, payload}, {});
        ++left_;
      } else {
        journal_->drop(key);
      }
    }
    journal_->forget_left();
  }

  std::string circumstances(const ShelvedTask& task) const { return task.name + task.hash + settings_; }

  // ---- requests, on the server's thread

  void handle(http::Request&& request, const http::Reply& reply) {
    auto send = [&](http::Response response) {
      statistics_.request(known_path(request.path), response.status);
      reply.send(std::move(response));
    };
    if (desk_->handle(request, reply)) return;
    const bool get = request.method == "GET" || request.method == "HEAD";
    if (const Form* form = find_form(request.path)) {
      if (request.method != "POST") return send(error_response(user_error("request", "use POST"), 405));
      return submit(*form, std::move(request), reply);
    }
    if (get && request.path.starts_with("/score/")) return ask(std::move(request), reply);
    if (get && request.path == "/healthz")
      return send(json_response({{"ok", true}, {"waiting", queue_->counts().waiting}}));
    if (get && request.path == "/metrics")
      return send({.body = statistics_.metrics(queue_->counts(), desk_->workers(), server_connections(),
                                               journal_->answers()),
                   .content_type = "text/plain; version=0.0.4; charset=utf-8"});
    if (get && request.path == "/status") return send(json_response(status()));
    if (get && request.path == "/tasks") return send(json_response({{"tasks", shelf_->names()}}));
    if (get && request.path == "/" && options_.page) {
      http::Response page{.body = options_.page(status()), .content_type = "text/html; charset=utf-8"};
      page.headers = {{"Content-Security-Policy",
                       "default-src 'none'; style-src 'unsafe-inline'; "
                       "script-src 'unsafe-inline'; connect-src 'self'; img-src data:"},
                      {"Cache-Control", "no-store"},
                      {"Referrer-Policy", "no-referrer"}};
      return send(std::move(page));
    }
    // NeMo Gym opens a session before each episode; there is nothing to remember of it.
    if (request.method == "POST" && request.path == "/seed_session")
      return send(json_response(Json::object()));
    send(
        error_response(user_error("request", "no such path", "docs/reward-service.md lists the paths"), 404));
  }

  // Paths that strangers make up are one in the statistics.
  static std::string known_path(const std::string& path) {
    for (const char* known : {"/", "/healthz", "/metrics", "/status", "/tasks", "/seed_session"})
      if (path == known) return path;
    if (find_form(path)) return path;
    return path.starts_with("/score/") ? "/score/KEY" : "other";
  }

  size_t server_connections() const { return server_ ? server_->connections() : 0; }

  double wait_of(const http::Request& request) const {
    const std::string text = request.parameter("wait");
    const auto asked = parse_number(text);
    return asked && std::isfinite(*asked) ? std::clamp(*asked, 0.0, longest_wait) : options_.answer_within;
  }

  std::shared_ptr<Waiting> waiting_for(http::Request&& request, const http::Reply& reply) const {
    auto out = std::make_shared<Waiting>();
    out->until = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(1000 * wait_of(request)));
    out->request = std::move(request);
    out->request.body = {};  // what counts of it is in the queue
    out->reply = reply;
    return out;
  }

  void submit(const Form& form, http::Request&& request, const http::Reply& reply) {
    const std::string path = request.path;
    auto refuse = [&](const Error& error, int status) {
      statistics_.request(path, status);
      http::Response response = error_response(error, status);
      if (status == 429) response.headers.emplace_back("Retry-After", std::to_string(retry_after()));
      reply.send(std::move(response));
    };
    auto body = parse_json(request.body);
    if (!body) return refuse(at("body", std::move(body).error()), 400);
    auto items = form.read(*body);
    if (!items) return refuse(items.error(), 400);
    const bool alone = items->size() == 1 && !body->is_array() && !body->contains("items");
    auto waiting = waiting_for(std::move(request), reply);
    waiting->form = &form;
    // Only what its form writes again is kept.
    waiting->body = form.path == "/verify" ? *std::move(body) : skeleton(*body);
    waiting->keys.resize(items->size());
    waiting->answers.resize(items->size());
    waiting->missing = items->size() + 1;  // one for this loop, so that no answer is sent before it ends
    for (size_t i = 0; i < items->size(); ++i) {
      auto work = work_of((*items)[i]);
      if (!work) {
        const int status = work.error().code == error_code::no_task ? 404 : 400;
        if (alone || form.retries) return refuse(work.error(), status);
        take(*waiting, i, refused_item(work.error()));
        continue;
      }
      waiting->keys[i] = work->key;
      const auto submitted =
          queue_->submit(*work, [this, waiting, i](const SharedJson& answer) { take(*waiting, i, answer); });
      if (submitted == WorkQueue::Submitted::full)
        return refuse(work_error("full", "too many candidates are waiting", "retry later"), 429);
      if (submitted == WorkQueue::Submitted::refused)
        return refuse(work_error(error_code::disk, "the candidate can't be stored: the disk may be full"),
                      503);
    }
    attend(waiting);
  }

  static Json skeleton(const Json& body) {
    const bool many = body.is_array() || body.contains("items");
    return many ? Json{{"items", Json::array()}} : Json::object();
  }

  static SharedJson refused_item(const Error& error) {
    Json out = {{"state", "refused"}, {"reward", 0.0}, {"counted", false}, {"label", "refused"}};
    out.update(to_json(error));
    return std::make_shared<const Json>(std::move(out));
  }

  Result<Work> work_of(const Json& item) {
    STITCH_TRY(Submission submission, read_submission(item));
    STITCH_TRY(std::shared_ptr<const ShelvedTask> task, shelf_->find(submission.task));
    submission.task = task->name;
    const std::string key = key_of(submission, circumstances(*task));
    const ScoreWork work{std::move(submission), {task->file, task->name, task->hash}};
    return Work{key, std::make_shared<const Json>(payload_of(work))};
  }

  // GET /score/KEY
  void ask(http::Request&& request, const http::Reply& reply) {
    const std::string key = request.path.substr(std::string_view("/score/").size());
    auto waiting = waiting_for(std::move(request), reply);
    waiting->keys = {key};
    waiting->answers.resize(1);
    waiting->missing = 2;
    if (queue_->attend(key, [this, waiting](const SharedJson& answer) { take(*waiting, 0, answer); })) {
    } else if (SharedJson answer = journal_->find(key)) {
      take(*waiting, 0, answer);
    } else {
      statistics_.request("/score/KEY", 404);
      return reply.send(
          error_response(user_error("no_answer", "no answer under this key", "POST it to /score"), 404));
    }
    attend(waiting);
  }

  // The loop's own part is done.
  void attend(const std::shared_ptr<Waiting>& waiting) {
    {
      std::lock_guard hold(waiting_mutex_);
      waiting_.push_back(waiting);
    }
    std::unique_lock lock(waiting->mutex);
    if (--waiting->missing == 0) answer(*waiting);
  }

  void take(Waiting& waiting, size_t index, const SharedJson& answer_of_it) {
    std::lock_guard hold(waiting.mutex);
    if (waiting.answers[index]) return;
    waiting.answers[index] = answer_of_it;
    if (--waiting.missing == 0) answer(waiting);
  }

  // Under the mutex of `waiting`, once.
  void answer(Waiting& waiting) {
    if (std::exchange(waiting.sent, true)) return;
    for (size_t i = 0; i < waiting.answers.size(); ++i) {
      Json whole = *waiting.answers[i];
      if (!whole.contains("state")) whole["state"] = "done";
      if (!waiting.keys[i].empty()) whole["key"] = waiting.keys[i];
      waiting.answers[i] = std::make_shared<const Json>(std::move(whole));
    }
    http::Response response;
    try {
      response =
          json_response(waiting.form ? waiting.form->write(waiting.request, waiting.body, waiting.answers)
                                     : *waiting.answers[0]);
    } catch (const std::exception& bug) {
      response = error_response(a_bug(bug), 500);
    }
    statistics_.request(known_path(waiting.request.path), response.status);
    waiting.reply.send(std::move(response));
    waiting.body = {};
  }

  // It takes longer: the work continues, and a later request gets the answer.
  void put_off(Waiting& waiting) {
    std::lock_guard hold(waiting.mutex);
    if (std::exchange(waiting.sent, true)) return;
    Json answers = Json::array();
    for (size_t i = 0; i < waiting.keys.size(); ++i)
      answers.push_back(waiting.answers[i] ? *waiting.answers[i]
                                           : Json{{"state", "waiting"}, {"key", waiting.keys[i]}});
    const bool retries = waiting.form && waiting.form->retries;
    const bool many = waiting.form && !waiting.form->retries && !waiting.body.empty();
    Json out = many ? Json{{"answers", std::move(answers)}} : std::move(answers[0]);
    if (retries) out = to_json(work_error("waiting", "not judged yet", "ask again later"));
    http::Response response = json_response(out, retries ? 429 : 202);
    response.headers.emplace_back("Retry-After", std::to_string(retries ? retry_after() : 1));
    statistics_.request(known_path(waiting.request.path), response.status);
    waiting.reply.send(std::move(response));
  }

  int retry_after() const {
    const double rate = statistics_.rate();
    const double seconds = rate > 0 ? 60 * static_cast<double>(queue_->counts().waiting) / rate / 4 : 2;
    return static_cast<int>(std::clamp(seconds, 1.0, 30.0));
  }

  void watch() {
    while (!ending_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      std::vector<std::shared_ptr<Waiting>> late;
      {
        std::lock_guard hold(waiting_mutex_);
        std::erase_if(waiting_, [&](const std::shared_ptr<Waiting>& each) {
          std::lock_guard own(each->mutex);
          if (!each->sent && each->until <= Clock::now()) late.push_back(each);
          return each->sent || each->until <= Clock::now();
        });
      }
      for (const auto& each : late) put_off(*each);
    }
  }

  const ServiceOptions options_;
  const std::unique_ptr<TaskShelf> shelf_;
  const std::string settings_;
  const Clock::time_point started_ = Clock::now();
  Statistics statistics_;
  std::unique_ptr<Journal> journal_;
  std::shared_ptr<Scorer> scorer_;
  std::optional<WorkQueue> queue_;
  std::optional<WorkDesk> desk_;
  std::optional<LocalJudges> judges_;
  size_t left_ = 0;
  std::mutex waiting_mutex_;
  std::vector<std::shared_ptr<Waiting>> waiting_;
  std::atomic<bool> ending_ = false;
  std::thread watcher_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace

Result<std::unique_ptr<RewardService>> RewardService::start(ServiceOptions options) {
  STITCH_TRY(std::unique_ptr<TaskShelf> shelf, TaskShelf::open(options.tasks));
  auto out = std::make_unique<HttpService>(std::move(options), std::move(shelf));
  STITCH_CHECK(out->begin());
  return std::unique_ptr<RewardService>(std::move(out));
}

}  // namespace stitch::serve
