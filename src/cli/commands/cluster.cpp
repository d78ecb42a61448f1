#include "cli/commands/cluster.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/machine/interrupt.h"
#include "base/machine/parallel.h"
#include "base/terminal/progress.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "graph/mode.h"
#include "reference/torch_lender.h"
#include "serve/fleet/desk.h"
#include "serve/reward/local_judges.h"

namespace stitch {

void add_cluster(Flags& flags, ClusterFlags& cluster) {
  flags("--on", cluster.on, "ENGINE",
        "slurm or ray: run the work on workers started there (docs/many-machines.md)");
  flags("--workers", cluster.workers, "NUMBER", "with --on: number of workers, one per GPU (default: 1)")
      .between(1, 10000);
  flags("--at", cluster.at, "HOST",
        "with --on: this machine's address as the workers see it (default: its host name)");
  flags("--ray", cluster.ray, "URL",
        "Ray's dashboard (default: $RAY_API_SERVER_ADDRESS, else http://127.0.0.1:8265)");
  flags("--slurm-flags", cluster.slurm_flags, "FLAGS",
        "additional flags for sbatch, such as \"--partition=h200\"");
}

Result<runner::Device> device_of_workers(const std::string& device) {
  if (device == "cuda") return runner::Device::cuda;
  if (device == "emulated") return runner::Device::emulated;
  return user_error("device", "--on needs the workers' device", "add --device cuda or --device emulated");
}

Result<serve::FleetOptions> fleet_options(const ClusterFlags& cluster, bool gpu, const std::string& python,
                                          const fs::path& logs) {
  if (cluster.on != "slurm" && cluster.on != "ray")
    return user_error("on", format("unknown cluster '{}'", cluster.on), "--on slurm or --on ray");
  serve::FleetOptions out{
      .engine = cluster.on, .workers = cluster.workers, .gpu = gpu, .python = python, .logs = logs};
  if (const char* ray = std::getenv("RAY_API_SERVER_ADDRESS"); ray && *ray) out.ray = ray;
  if (!cluster.ray.empty()) out.ray = cluster.ray;
  if (const char* token = std::getenv("RAY_AUTH_TOKEN"); token && *token) out.ray_token = token;
  for (const std::string& flag : split(cluster.slurm_flags, ' '))
    if (!flag.empty()) out.slurm_flags.push_back(flag);
  return out;
}

// stitchcuda serve: the reward service. stitchcuda worker: judges for one on another machine.

namespace {

struct WorkerCommand {
  std::string server;
  std::string token_env;
  std::string device = "auto";
  int jobs = 0;  // 0: 1 on a GPU, else one per core
  int idle = 0;  // seconds; 0: never exits
  int patience = 120;
  std::string python;
};

Result<int> run_worker(const WorkerCommand& command, Console& console) {
  serve::WorkerOptions options;
  STITCH_TRY(options.server, http::parse_address(command.server));
  STITCH_TRY(options.token, serve::token_in(command.token_env));
  serve::ScorerOptions scorer;
  STITCH_TRY(scorer.judging.device, choose_device(command.device));
  STITCH_TRY(scorer.gpu, choose_gpu(""));
  const bool cuda = scorer.judging.device == runner::Device::cuda;
  scorer.judging.version = STITCH_VERSION;
  scorer.python = command.python;
  scorer.machine = serve::worker_name();
  options.name = scorer.machine;
  options.device = cuda ? "cuda" : "emulated";
  // One a GPU: nothing is timed beside anything else.
  options.jobs = cuda ? 1 : command.jobs > 0 ? command.jobs : core_count();
  options.idle = command.idle;
  options.patience = command.patience;
  StopPolitely polite;
  options.should_stop = stop_requested;
  std::optional<verifier::TorchLender> lender;
  if (auto lent = verifier::TorchLender::start(command.python)) lender.emplace(*std::move(lent));
  const std::optional<runner::CandidateLender> to_candidates = verifier::lend_to_candidates(command.python);
  serve::RemoteScorer remote(scorer);
  const serve::Doer doer = [&](const std::string& key, const Json& payload) {
    if (word(payload, "kind") == "optimize") return serve::optimize_leased(payload, command.python);
    return remote.score(key, payload);
  };
  Result<serve::WorkerCounts> counts = work_error("", "");
  {
    Progress progress(console.err, console.err_terminal, console.json,
                      "working for " + options.server.origin());
    options.on_doing = [&](std::string_view text) { progress.detail(printable(text)); };
    counts = serve::work_for(options, doer);
  }
  if (!counts) return std::move(counts).error();
  if (console.json)
    console.out << document_text(
        {{"worker", options.name}, {"done", counts->done}, {"counted", counts->counted}});
  else
    console.out << format("{} results sent, {} accepted.\n", counted(counts->done, "result"),
                          counts->counted);
  return 0;
}

}  // namespace

Run add_worker(CLI::App& app) {
  const auto worker = std::make_shared<WorkerCommand>();
  Flags flags(app, "worker", "Work for a reward service or a bench on another machine");
  flags("--server", worker->server, "URL", "the server's URL").required();
  flags("--token-env", worker->token_env, "NAME", "the environment variable that holds the server's token");
  flags.device(worker->device);
  flags("--jobs", worker->jobs, "NUMBER", "jobs at once, where nothing is timed (default: one per core)")
      .between(1, 1024);
  flags("--idle", worker->idle, "SECONDS", "exit after this many seconds without work (default: never)")
      .between(0, 1000000);
  flags("--patience", worker->patience, "SECONDS",
        "exit when the server is unreachable for this many seconds (default: 120)")
      .between(1, 1000000);
  flags.python(worker->python, "the Python to use for the tasks");
  flags.json();
  flags.examples(
      "stitchcuda worker --server http://head:8130 --token-env STITCHCUDA_TOKEN\n"
      "srun --gres=gpu:1 stitchcuda worker --server http://head:8130 --token-env STITCHCUDA_TOKEN --idle "
      "600");
  return [worker](Console& console) { return run_worker(*worker, console); };
}

}  // namespace stitch
