// Work for a fleet: a server that leases it, and waiters for the results.
#pragma once

#include "serve/fleet/desk.h"
#include "serve/fleet/fleet.h"

namespace stitch::serve {

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

}  // namespace stitch::serve
