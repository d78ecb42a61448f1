// Flags, help and examples of serve and worker.
#include <CLI/CLI.hpp>

#include "cli/flags/flags.h"
#include "cli/flags/model_options.h"

namespace stitch {

namespace {

CLI::Option* number(CLI::App& command, const char* flag, int& value, const char* about, const char* type,
                    int least, int most) {
  return command.add_option(flag, value, about)->type_name(type)->check(CLI::Range(least, most));
}

CLI::Option* text_flag(CLI::App& command, const char* flag, std::string& value, const char* about,
                       const char* type) {
  return command.add_option(flag, value, about)->type_name(type);
}

}  // namespace

void add_serve(CLI::App& app, Options& options) {
  ServeCommand& serve = options.serve;
  CLI::App& command = *app.add_subcommand(
      "serve", "Serve rewards to RL engines over HTTP: candidates in, verdicts and rewards out");
  text_flag(command, "--tasks", serve.tasks, "the folder of the tasks' .py files", "DIR")->required();
  text_flag(command, "--host", serve.host,
            "the address to listen on; non-local addresses need a token (default: 127.0.0.1)", "HOST");
  number(command, "--port", serve.port, "the port to listen on; 0: any free port (default: 8130)", "PORT", 0,
         65535);
  text_flag(command, "--token-env", serve.token_env, "the environment variable that holds the token", "NAME");
  text_flag(command, "--state", serve.state,
            "the folder of stored answers (default: serve/ beside the database of runs)", "DIR");
  text_flag(command, "--reward", serve.reward,
            "combined, paper, milestones, rule or rubric (default: combined; see docs/rubric.md)", "NAME");
  text_flag(command, "--device", serve.device, "cuda or emulated (default: cuda if there is a GPU)", "NAME");
  text_flag(command, "--numerics", serve.numerics,
            "numerics class: strict, default, tf32 or half (default: default)", "CLASS");
  text_flag(command, "--baselines", serve.baselines,
            "PyTorch baselines to time: eager,eager-graph,compile,compile-graph; all; none (default: "
            "eager,compile-graph on a GPU)",
            "LIST");
  command.add_flag("--quick", serve.quick, "verify with one seed and one set of weights");
  command.add_flag("!--no-timing", serve.timing, "verify without timing");
  command.add_flag("--share-processes", serve.shared_processes,
                   "run candidates one after another in the same processes, which initialise CUDA once; "
                   "needs --quick --no-timing");
  add_compatible(command, serve.compatible);
  number(command, "--time-limit", serve.time_limit,
         "seconds allowed for one call of a candidate (default: 60)", "SECONDS", 1, 3600);
  number(command, "--jobs", serve.jobs,
         "candidates judged at once; with timing, compiled at once (default: one per core)", "NUMBER", 1,
         1024);
  command.add_flag("!--no-judge", serve.judge_here, "only queue; workers on other machines judge");
  number(command, "--queue", serve.queue,
         "candidates in the queue at most; more get status 429 (default: 4096)", "NUMBER", 1, 1000000);
  number(command, "--answer-within", serve.answer_within,
         "seconds before a client gets status 202 and must retry (default: 100)", "SECONDS", 1, 600);
  number(command, "--max-body", serve.most_body,
         "maximum size of a request in MB; larger ones get status 413 (default: 8)", "MB", 1, 1024);
  number(command, "--lease", serve.lease, "seconds until a silent worker's lease expires (default: 60)",
         "SECONDS", 1, 3600);
  text_flag(command, "--python", serve.python, "the Python to use for the tasks", "PATH");
  add_cluster(command, serve.cluster);
  add_mode(command, serve.mode);
  add_json(command, options);
  command.footer(
      "stitchcuda serve --tasks KernelBench/KernelBench/level1\n"
      "stitchcuda serve --tasks tasks/ --device emulated --port 0 --json\n"
      "stitchcuda serve --tasks tasks/ --host 0.0.0.0 --token-env STITCHCUDA_TOKEN --no-judge\n"
      "curl -d '{\"task\": \"1_Square\", \"code\": \"…\"}' http://127.0.0.1:8130/score");
}

void add_worker(CLI::App& app, Options& options) {
  WorkerCommand& worker = options.worker;
  CLI::App& command =
      *app.add_subcommand("worker", "Work for a reward service or a bench on another machine");
  text_flag(command, "--server", worker.server, "the server's URL", "URL")->required();
  text_flag(command, "--token-env", worker.token_env,
            "the environment variable that holds the server's token", "NAME");
  text_flag(command, "--device", worker.device, "cuda or emulated (default: cuda if there is a GPU)", "NAME");
  number(command, "--jobs", worker.jobs, "jobs at once, where nothing is timed (default: one per core)",
         "NUMBER", 1, 1024);
  number(command, "--idle", worker.idle, "exit after this many seconds without work (default: never)",
         "SECONDS", 0, 1000000);
  number(command, "--patience", worker.patience,
         "exit when the server is unreachable for this many seconds (default: 120)", "SECONDS", 1, 1000000);
  text_flag(command, "--python", worker.python, "the Python to use for the tasks", "PATH");
  add_json(command, options);
  command.footer(
      "stitchcuda worker --server http://head:8130 --token-env STITCHCUDA_TOKEN\n"
      "srun --gres=gpu:1 stitchcuda worker --server http://head:8130 --token-env STITCHCUDA_TOKEN --idle "
      "600");
}

}  // namespace stitch
