#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/digest/sha256.h"
#include "base/machine/interrupt.h"
#include "base/machine/parallel.h"
#include "base/terminal/progress.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/cluster.h"
#include "cli/commands/commands.h"
#include "cli/pages/page.h"
#include "graph/mode.h"
#include "http/message.h"
#include "reference/torch_lender.h"
#include "serve/fleet/desk.h"
#include "serve/fleet/fan_out.h"
#include "serve/reward/service.h"
#include "serve/reward/tasks.h"
#include "store/run_store.h"

namespace stitch {

namespace {

struct ServeCommand : JudgingFlags {
  std::string tasks;
  std::string host = "127.0.0.1";
  int port = 8130;  // 0: any that is free
  std::string token_env;
  std::string state;  // a folder; empty: beside the store
  std::string reward = "combined";
  bool shared_processes = false;
  int jobs = 0;  // 0: one per core
  int time_limit = 60;
  int queue = 4096;
  int answer_within = 100;
  int most_body = 8;  // MB
  int lease = 60;     // seconds
  bool judge_here = true;
  Mode mode = Mode::as_written;
  std::string python;
  ClusterFlags cluster;
};

// Beside the store of runs: NAME-HASH of the folder of tasks.
fs::path state_folder(const ServeCommand& command) {
  if (!command.state.empty()) return command.state;
  const fs::path store = store::default_store();
  const fs::path base = store == "none" ? cache_folder() : store.parent_path();
  const fs::path tasks = fs::absolute(command.tasks).lexically_normal();
  const std::string name = (tasks.has_filename() ? tasks : tasks.parent_path()).filename().string();
  return base / "serve" / (name + "-" + sha256(tasks.string()).substr(0, 8));
}

Result<serve::Judging> judging_of(const ServeCommand& command) {
  serve::Judging out;
  // Workers elsewhere may have what this machine hasn't.
  const bool here = command.judge_here && command.cluster.on.empty();
  STITCH_TRY(const runner::Device device,
             here ? choose_device(command.device) : device_of_workers(command.device));
  STITCH_CHECK(read_judging(command, device, "eager,compile-graph", out));
  STITCH_TRY(out.reward, rubric::parse_reward(command.reward));
  out.shared_process = command.shared_processes;
  if (out.shared_process && (!out.quick || out.timing))
    return user_error("share_processes", "--share-processes is for rewards without timing",
                      "add --quick --no-timing, or leave --share-processes out");
  out.time_limit = std::chrono::seconds(command.time_limit);
  out.mode = command.mode;
  out.version = STITCH_VERSION;
  return out;
}

Result<serve::ServiceOptions> service_options(const ServeCommand& command) {
  serve::ServiceOptions out;
  out.tasks = command.tasks;
  out.page = [](const Json& status) { return page(View::service, status); };
  out.state = state_folder(command);
  STITCH_TRY(out.scorer.judging, judging_of(command));
  STITCH_TRY(out.scorer.gpu, choose_gpu(""));
  out.scorer.python = command.python;
  out.scorer.machine = serve::worker_name();
  out.jobs = command.jobs > 0 ? command.jobs : core_count();
  out.scorer.most_open = std::max<size_t>(8, 2 * static_cast<size_t>(out.jobs));
  out.judge_here = command.judge_here && command.cluster.on.empty();
  out.most_waiting = static_cast<size_t>(command.queue);
  out.answer_within = command.answer_within;
  out.lease_seconds = command.lease;
  STITCH_TRY(out.token, serve::token_in(command.token_env));
  if (!command.cluster.on.empty() && (out.token.empty() || http::is_loopback(command.host)))
    return user_error("on", "--on needs an address that other machines can reach, and a token",
                      "--host 0.0.0.0 --token-env STITCHCUDA_TOKEN");
  if (out.token.empty() && !http::is_loopback(command.host))
    return user_error("token",
                      format("{} is reachable from other machines, so a token is required", command.host),
                      "put one into an environment variable and pass its name: --token-env STITCHCUDA_TOKEN");
  out.http.host = command.host;
  out.http.port = command.port;
  out.http.limits.body = static_cast<size_t>(command.most_body) << 20;
  return out;
}

std::string counts_in(const Json& status) {
  return format("{} waiting, {} being judged, {} stored", status["queue"]["waiting"].get<int64_t>(),
                status["queue"]["judging"].get<int64_t>(), status["answers_kept"].get<int64_t>());
}
std::string doing(const Json& status) {
  return format("{}, {:.1f} verdicts per minute", counts_in(status),
                status["verdicts_a_minute"].get<double>());
}

// Writes lines to stderr, from any thread.
class Notices {
 public:
  explicit Notices(Console& console) : console_(console) {}
  void say(std::string_view text) {
    std::lock_guard hold(mutex_);
    if (progress_)
      progress_->say(text);
    else if (!console_.json)
      console_.err << text << std::endl;
  }
  void above(Progress* progress) {
    std::lock_guard hold(mutex_);
    progress_ = progress;
  }

 private:
  Console& console_;
  std::mutex mutex_;
  Progress* progress_ = nullptr;
};

// On a terminal one line that is redrawn; in a log, a line when something has changed, at most every 10 s.
void serve_until_stopped(const serve::RewardService& service, serve::Fleet* fleet, Notices& notices,
                         Console& console) {
  using Clock = std::chrono::steady_clock;
  constexpr auto look_at_fleet_every = std::chrono::seconds(5), say_every = std::chrono::seconds(10);
  const bool redrawn = console.err_terminal.interactive;
  std::optional<Progress> progress;
  if (redrawn) notices.above(&progress.emplace(console.err, console.err_terminal, console.json, "serving"));
  serve::FleetState workers;
  std::string said;
  Clock::time_point looked = Clock::now(), told{};
  while (!stop_requested()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const Json status = service.status();
    if (redrawn) {
      progress->detail(doing(status));
    } else if (const std::string now = counts_in(status); now != said && Clock::now() - told >= say_every) {
      if (!said.empty()) notices.say(doing(status));
      said = now, told = Clock::now();
    }
    if (!fleet || Clock::now() - looked < look_at_fleet_every) continue;
    looked = Clock::now();
    if (auto state = fleet->state()) {
      if (const std::string ended = said_of_ended(*fleet, workers, *state); !ended.empty())
        notices.say(ended);
      workers = *state;
    }
  }
  notices.above(nullptr);
}

Result<int> run_serve(const ServeCommand& command, Console& console) {
  STITCH_TRY(serve::ServiceOptions options, service_options(command));
  if (auto shelf = serve::TaskShelf::open(options.tasks); !shelf)
    return shelf.error();  // before PyTorch's seconds
  StopPolitely polite;
  Notices notices(console);
  options.on_notice = [&](std::string_view text) { notices.say(text); };
  // The port opens at once; candidates wait until PyTorch is there.
  options.judge_later = options.judge_here;
  const bool judge_here = options.judge_here;
  const fs::path state = options.state;
  STITCH_TRY(std::unique_ptr<serve::RewardService> service, serve::RewardService::start(std::move(options)));
  const Json status = service->status();
  const std::string host =
      command.host.find(':') == std::string::npos ? command.host : "[" + command.host + "]";
  const std::string url = format("http://{}:{}", host, service->port());
  if (console.json) {
    console.out << line_text({{"url", url},
                              {"port", service->port()},
                              {"tasks", status["tasks"]},
                              {"answers_kept", status["answers_kept"]},
                              {"state", state.string()},
                              {"judging", status["judging"]}})
                << std::endl;
  } else {
    console.out << format("Serving {} at {} (device {}, reward {}). Ctrl-C ends it.\n",
                          counted(status["tasks"].get<int64_t>(), "task"), url,
                          word(status["judging"], "device"), word(status["judging"], "reward"))
                << format("Answers are stored in {}: {} so far.", printable(state.string()),
                          status["answers_kept"].get<int64_t>());
    if (service->left_from_before() > 0)
      console.out << format(" {} left over from an earlier process are judged now.",
                            service->left_from_before());
    console.out << std::endl;
  }
  std::unique_ptr<serve::Fleet> fleet;
  if (!command.cluster.on.empty()) {
    const bool gpu = word(status["judging"], "device") == "cuda";
    STITCH_TRY(serve::FleetOptions how,
               fleet_options(command.cluster, gpu, command.python, state / "workers"));
    how.server = http::Url{.host = command.cluster.at.empty() ? serve::own_host() : command.cluster.at,
                           .port = service->port()}
                     .origin();
    STITCH_TRY(how.token, serve::token_in(command.token_env));
    STITCH_TRY(fleet, serve::Fleet::start(how));
  }
  // Without these every task imports its own. They set a variable: the service's threads read none until they
  // judge.
  std::optional<verifier::TorchLender> lender;
  std::optional<runner::CandidateLender> to_candidates;
  if (judge_here) {
    notices.say("Importing PyTorch; candidates wait until it is there.");
    if (auto lent = verifier::TorchLender::start(command.python)) lender.emplace(*std::move(lent));
    if (auto lent = verifier::lend_to_candidates(command.python)) to_candidates.emplace(*std::move(lent));
    service->begin_judging();
    notices.say("Ready.");
  }
  serve_until_stopped(*service, fleet.get(), notices, console);
  notices.say("Finishing the candidates being judged; press Ctrl-C again to stop at once.");
  service.reset();
  return 0;
}

}  // namespace

Run add_serve(CLI::App& app) {
  const auto serve = std::make_shared<ServeCommand>();
  Flags flags(app, "serve", "Serve rewards to RL engines over HTTP: candidates in, verdicts and rewards out");
  flags("--tasks", serve->tasks, "DIR", "the folder of the tasks' .py files").required();
  flags("--host", serve->host, "HOST",
        "the address to listen on; non-local addresses need a token (default: 127.0.0.1)");
  flags("--port", serve->port, "PORT", "the port to listen on; 0: any free port (default: 8130)")
      .between(0, 65535);
  flags("--token-env", serve->token_env, "NAME", "the environment variable that holds the token");
  flags("--state", serve->state, "DIR",
        "the folder of stored answers (default: serve/ beside the database of runs)");
  flags("--reward", serve->reward, "NAME",
        "combined, paper, milestones, rule or rubric (default: combined; see docs/rubric.md)");
  flags.device(serve->device);
  flags.numerics(serve->numerics);
  flags.baselines(serve->baselines, " (default: eager,compile-graph on a GPU)");
  flags("--quick", serve->quick, "verify with two seeds and one set of weights");
  flags("--no-timing", serve->no_timing, "verify without timing");
  flags("--share-processes", serve->shared_processes,
        "run candidates one after another in the same processes, which initialise CUDA once; needs --quick "
        "--no-timing");
  flags.compatible(serve->compatible);
  flags("--time-limit", serve->time_limit, "SECONDS",
        "seconds allowed for one call of a candidate (default: 60)")
      .between(1, 3600);
  flags("--jobs", serve->jobs, "NUMBER",
        "candidates judged at once; with timing, compiled at once (default: one per core)")
      .between(1, 1024);
  flags("!--no-judge", serve->judge_here, "only queue; workers on other machines judge");
  flags("--queue", serve->queue, "NUMBER",
        "candidates in the queue at most; more get status 429 (default: 4096)")
      .between(1, 1000000);
  flags("--answer-within", serve->answer_within, "SECONDS",
        "seconds before a client gets status 202 and must retry (default: 100)")
      .between(1, 600);
  flags("--max-body", serve->most_body, "MB",
        "maximum size of a request in MB; larger ones get status 413 (default: 8)")
      .between(1, 1024);
  flags("--lease", serve->lease, "SECONDS", "seconds until a silent worker's lease expires (default: 60)")
      .between(1, 3600);
  flags.python(serve->python, "the Python to use for the tasks");
  add_cluster(flags, serve->cluster);
  flags.mode(serve->mode);
  flags.json();
  flags.examples(
      "stitchcuda serve --tasks KernelBench/KernelBench/level1\n"
      "stitchcuda serve --tasks tasks/ --device emulated --port 0 --json\n"
      "stitchcuda serve --tasks tasks/ --host 0.0.0.0 --token-env STITCHCUDA_TOKEN --no-judge\n"
      "curl -d '{\"task\": \"1_Square\", \"code\": \"…\"}' http://127.0.0.1:8130/score");
  return [serve](Console& console) { return run_serve(*serve, console); };
}

}  // namespace stitch
