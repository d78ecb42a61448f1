// Workers on the machines of a cluster, started through its scheduler and stopped with this object. A worker
// is one long job that leases work: schedulers are too slow for one job per candidate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"

namespace stitch::serve {

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

}  // namespace stitch::serve
