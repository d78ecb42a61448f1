#include "serve/fleet/fan_out.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <random>

#include "base/json.h"
#include "base/machine/process.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "http/client.h"

namespace stitch::serve {

namespace {

constexpr const char* token_variable = "STITCHCUDA_TOKEN";

// The words of a worker's command line; the token is in its environment.
std::vector<std::string> worker_words(const FleetOptions& options) {
  const std::string tool = (executable_folder() / "stitchcuda").string();
  std::vector<std::string> out = {tool, "worker", "--server", options.server};
  out.insert(out.end(), {"--token-env", token_variable, "--device", options.gpu ? "cuda" : "emulated"});
  out.insert(out.end(), {"--jobs", "1", "--patience", "60"});
  if (!options.python.empty()) out.insert(out.end(), {"--python", options.python});
  return out;
}

// For a shell.
std::string shell_text(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
      return std::isalnum(c) ||
             std::string_view("_-./:=,@%+").find(static_cast<char>(c)) != std::string_view::npos;
    });
    std::string quoted = "'";
    for (char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    out += (out.empty() ? "" : " ") + (plain ? word : quoted + "'");
  }
  return out;
}

// ---- Ray by its Jobs interface over HTTP: a job a worker

struct RayHead {
  http::Url url;
  std::string token;
};

Result<Json> ask(const RayHead& ray, std::string method, const std::string& path, const Json& body = {}) {
  http::Call call{.method = std::move(method), .url = ray.url, .time_limit = std::chrono::seconds(60)};
  call.url.path = path;
  if (!ray.token.empty()) call.headers.emplace_back("Authorization", "Bearer " + ray.token);
  if (!body.is_null()) {
    call.body = line_text(body);
    call.headers.emplace_back("Content-Type", "application/json");
  }
  auto called = http::call(call);
  if (!called)
    return work_error("ray",
                      format("Ray at {} can't be reached: {}", ray.url.origin(), called.error().message),
                      "start Ray there (ray start --head), or name its dashboard with --ray URL");
  const http::Response answer = *std::move(called);
  if (answer.status != 200)
    return work_error("ray", format("Ray at {} answered {}: {}", ray.url.origin(), answer.status,
                                    answer.body.substr(0, 300)));
  return parse_json(answer.body);
}

class RayJobs final : public Fleet {
 public:
  explicit RayJobs(RayHead ray) : ray_(std::move(ray)) {}
  ~RayJobs() override {
    for (const std::string& job : jobs_)
      (void)ask(ray_, "POST", "/api/jobs/" + job + "/stop", Json::object());
  }
  std::string name() const override { return "Ray at " + ray_.url.origin(); }
  std::string logs() const override {
    return format("ray job logs {} --address {}, or its dashboard", jobs_.empty() ? "JOB" : jobs_.front(),
                  ray_.url.origin());
  }

  Result<void> submit(const Json& job) {
    STITCH_TRY(Json said, ask(ray_, "POST", "/api/jobs/", job));
    const std::string id =
        word(said, "submission_id").empty() ? word(said, "job_id") : word(said, "submission_id");
    if (id.empty()) return work_error("ray", "Ray answered without a job id");
    jobs_.push_back(id);
    return {};
  }

  Result<FleetState> state() override {
    FleetState out;
    for (const std::string& job : jobs_) {
      STITCH_TRY(Json said, ask(ray_, "GET", "/api/jobs/" + job));
      const std::string now = word(said, "status");
      ++(now == "RUNNING" ? out.running : now == "PENDING" ? out.waiting : out.ended);
    }
    return out;
  }

 private:
  const RayHead ray_;
  std::vector<std::string> jobs_;
};

Result<std::unique_ptr<Fleet>> start_ray(const FleetOptions& options) {
  STITCH_TRY(http::Url url, http::parse_address(options.ray));
  auto out = std::make_unique<RayJobs>(RayHead{std::move(url), options.ray_token});
  const std::string name = format("stitchcuda-{:08x}", std::random_device{}());
  for (int i = 0; i < options.workers; ++i) {
    Json job = {{"entrypoint", "exec " + shell_text(worker_words(options))},
                {"submission_id", format("{}-{}", name, i)},
                {"runtime_env", {{"env_vars", {{token_variable, options.token}}}}}};
    // With a resource of its own it is put on any node, not only on the head.
    if (options.gpu)
      job["entrypoint_num_gpus"] = 1;
    else
      job["entrypoint_num_cpus"] = 1;
    STITCH_CHECK(out->submit(job));
  }
  return std::unique_ptr<Fleet>(std::move(out));
}

// ---- Slurm by its command line: one job array, a task of it a worker

Result<std::string> output_of(Command command) {
  command.time_limit = std::chrono::seconds(60);
  if (!find_program(command.words[0]))
    return user_error("no_slurm", format("{} is not on the PATH", command.words[0]),
                      "run this on a login node, where Slurm's commands are installed");
  std::string out;
  STITCH_TRY(Finished finished,
             stitch::run(command, [&](std::string_view line) { out += std::string(line) + '\n'; }));
  if (finished.exit_code != 0)
    return work_error(
        "slurm", format("{} failed: {}", command.words[0], split(trim(finished.error_tail), '\n').back()),
        "Slurm has to be configured here: sinfo should list its partitions ($SLURM_CONF names another "
        "configuration; --slurm-flags gives sbatch a partition or an account)");
  return out;
}

class SlurmArray final : public Fleet {
 public:
  SlurmArray(std::string job, int workers, fs::path logs)
      : job_(std::move(job)), workers_(workers), logs_(std::move(logs)) {}
  ~SlurmArray() override { (void)output_of({{"scancel", job_}}); }
  std::string name() const override { return "Slurm job " + job_; }
  std::string logs() const override { return (logs_ / format("worker-{}_*.log", job_)).string(); }

  Result<FleetState> state() override {
    FleetState out;
    // A job that is over for some minutes is unknown, which is an error to squeue.
    auto listed = output_of({{"squeue", "--noheader", "--array", "--job", job_, "--format", "%T"}});
    if (!listed && listed.error().blame == Error::Blame::user) return listed.error();
    if (listed)
      for (const std::string& line : split(*listed, '\n')) {
        const std::string word = trim(line);
        if (word == "RUNNING") ++out.running;
        if (word == "PENDING" || word == "CONFIGURING" || word == "REQUEUED") ++out.waiting;
      }
    out.ended = workers_ - out.running - out.waiting;
    return out;
  }

 private:
  const std::string job_;
  const int workers_;
  const fs::path logs_;
};

Result<std::unique_ptr<Fleet>> start_slurm(const FleetOptions& options) {
  Command command{{"sbatch", "--parsable", "--job-name=stitchcuda", "--requeue", "--export=ALL",
                   format("--array=1-{}", options.workers)}};
  if (options.gpu) command.words.emplace_back("--gres=gpu:1");
  std::error_code ec;
  const fs::path logs = fs::absolute(options.logs);
  fs::create_directories(logs, ec);
  command.words.push_back("--output=" + (logs / "worker-%A_%a.log").string());
  command.words.insert(command.words.end(), options.slurm_flags.begin(), options.slurm_flags.end());
  command.words.push_back("--wrap=exec " + shell_text(worker_words(options)));
  command.extra_environment[token_variable] = options.token;
  STITCH_TRY(std::string said, output_of(command));
  const std::string job = trim(said.substr(0, said.find(';')));  // JOB;CLUSTER
  if (!parse_integer(job)) return work_error("slurm", format("sbatch answered '{}'", trim(said)));
  return std::unique_ptr<Fleet>(std::make_unique<SlurmArray>(job, options.workers, logs));
}

}  // namespace

Result<std::unique_ptr<Fleet>> Fleet::start(const FleetOptions& options) {
  if (options.engine == "slurm") return start_slurm(options);
  if (options.engine == "ray") return start_ray(options);
  return user_error("on", format("unknown cluster '{}'", options.engine), "slurm or ray");
}

std::string said_of_ended(const Fleet& fleet, const FleetState& before, const FleetState& now) {
  if (now.ended <= before.ended) return {};
  return format("{} of {} of {} {} ended; logs: {}", now.ended,
                counted(now.running + now.waiting + now.ended, "worker"), fleet.name(),
                now.ended == 1 ? "has" : "have", fleet.logs());
}

}  // namespace stitch::serve
