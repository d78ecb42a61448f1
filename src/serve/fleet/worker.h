// A worker: leases work from a service on another machine, does it and sends the result, until there is no
// for it. If it dies, its work goes to others.
#pragma once

#include "http/client.h"
#include "serve/fleet/queue.h"

namespace stitch::serve {

struct WorkerOptions {
  http::Url server;
  std::string token;      // empty: none
  std::string name;       // machine:process
  std::string device;     // "cuda" or "emulated"
  double patience = 120;  // seconds to retry an unreachable server
  double idle = 0;        // seconds without work, then it ends; 0: never
  int jobs = 1;           // at a time
  std::function<bool()> should_stop;
  std::function<void(std::string_view)> on_doing;  // from several threads, one at a time
};

struct WorkerCounts {
  int done = 0, counted = 0;
};

// Never throws; returns the result for the server.
using Doer = std::function<Json(const std::string& key, const Json& payload)>;

// An Error: the server is unreachable for longer than `patience`, or rejects this worker.
Result<WorkerCounts> work_for(const WorkerOptions& options, const Doer& doer);

// This machine's name and this process.
std::string worker_name();

}  // namespace stitch::serve
