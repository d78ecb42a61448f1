// Slurm by its command line: one job array, a task of it a worker.
#include "base/machine/process.h"
#include "base/text.h"
#include "serve/fleet/fleet.h"

namespace stitch::serve {

namespace {

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

}  // namespace

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

}  // namespace stitch::serve
