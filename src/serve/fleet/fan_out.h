// Work for a fleet: a server that leases it, and waiters for the results.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agents/bench.h"
#include "base/file.h"
#include "base/json.h"
#include "serve/fleet/desk.h"

namespace stitch::serve {

// Workers on the machines of a cluster, started through its scheduler and stopped with this object. A worker
// is one long job that leases work: schedulers are too slow for one job per candidate.

struct FleetOptions {
  std::string engine;  // "slurm" or "ray"
  int workers = 1;
  std::string server;  // http://HOST:PORT, as the machines of the cluster reach it
  std::string token;   // passed to workers in their environment, never on their command line
  bool gpu = false;    // one each
  std::string python;  // for the tasks, there; empty: the usual one
  std::string ray = "http://127.0.0.1:8265";  // the address of Ray's dashboard
  std::string ray_token;                      // if Ray requires one
  std::vector<std::string> slurm_flags;       // additional flags for sbatch: --partition=…, --time=…
  fs::path logs;                              // a folder that the machines share, for Slurm's
};

struct FleetState {
  int running = 0, waiting = 0, ended = 0;
};
class Fleet {
 public:
  // An Error: the scheduler isn't available, or refuses.
  static Result<std::unique_ptr<Fleet>> start(const FleetOptions& options);
  virtual ~Fleet() = default;  // ends its jobs
  virtual Result<FleetState> state() = 0;
  virtual std::string name() const = 0;  // "Slurm job 17"
  virtual std::string logs() const = 0;  // where its workers' logs are
};

// "1 of 2 workers of Slurm job 17 has ended; its log: …". Empty: none ended since.
std::string said_of_ended(const Fleet& fleet, const FleetState& before, const FleetState& now);

struct FanOutOptions {
  FleetOptions fleet;            // server and token are filled in
  std::string host = "0.0.0.0";  // where to listen
  std::string at;                // this machine's address for workers; empty: its host name
  double lease_seconds = 60;
  double count_workers_every = 5;  // seconds
  std::function<bool(const Json& result)> is_result;
  std::function<bool()> should_stop;
  std::function<void(std::string_view)> on_notice;                       // workers that were lost or ended
  std::function<void(const std::string& key, bool running)> on_running;  // a worker has it, or has it no more
};

class FanOut {
 public:
  static Result<std::unique_ptr<FanOut>> start(FanOutOptions options);
  ~FanOut();
  // Waits for the result. An Error of code "stopped", or "no_workers": all jobs of the fleet are over.
  Result<SharedJson> run(const Work& work);
  std::optional<Error> over() const;  // why work has stopped
  std::string said() const;           // "Slurm job 17: 4 running, 0 waiting"

 private:
  explicit FanOut(FanOutOptions options);
  void watch();
  void lost(const std::string& worker, const Work& work, int losses);

  const FanOutOptions options_;
  WorkQueue queue_;
  WorkDesk desk_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<Fleet> fleet_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  FleetState state_;
  std::optional<Error> over_;
  bool ending_ = false;
  std::thread watcher_;
};

// 32 hexadecimal digits.
std::string random_token();
// This machine's name, as others may reach it.
std::string own_host();

// A task of `bench` as work for a worker: it gets the task's files and flags of `optimize`, and returns the
// output and the program's files.

inline constexpr size_t largest_program = size_t{24} << 20;  // bytes of files that come back

Result<Json> optimize_payload(const agents::BenchTask& task, const agents::BenchOptions& options);
// On the worker. `python`: its own, empty: the usual one.
Json optimize_leased(const Json& payload, const std::string& python);
bool is_optimize_result(const Json& result);
// On the server: writes the program below `programs`, and returns the record with the machine's name.
Json optimize_record(const agents::BenchTask& task, const Json& result, const agents::BenchOptions& options);

}  // namespace stitch::serve
