// The queue's HTTP interface for workers on other machines: lease work, renew the lease, deliver the result.
//   POST /fleet/lease {"worker", "device", "wait"} → 200 {"lease", "key", "payload", "renew_every"}, or 204
//   POST /fleet/renew {"lease"}                    → 200, or 410: another worker has it by now
//   POST /fleet/done {"lease", "key", "result"}    → 200 {"counted"}
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client.h"
#include "http/server.h"
#include "serve/fleet/queue.h"

namespace stitch::serve {

struct DeskOptions {
  std::string device;       // required of workers: others get no work
  double renew_every = 10;  // seconds
  size_t largest_result = size_t{1} << 20;
  // The payload for a worker, with the task's files, for example. Null: no longer available.
  std::function<SharedJson(const Work& work)> dress;
  std::function<bool(const Json& result)> is_result;  // else it is refused
};

class WorkDesk {
 public:
  WorkDesk(WorkQueue& queue, DeskOptions options) : queue_(queue), options_(std::move(options)) {}
  // false: not one of its paths.
  bool handle(const http::Request& request, const http::Reply& reply);
  // Seen in the last minute: name, and how long ago in seconds.
  std::map<std::string, double> workers() const;

 private:
  void lease(const Json& asked, const http::Reply& reply);
  void done(const Json& asked, const http::Reply& reply);

  WorkQueue& queue_;
  const DeskOptions options_;
  mutable std::mutex mutex_;
  std::map<std::string, WorkQueue::Clock::time_point> seen_;
};

http::Response json_response(const Json& json, int status = 200);
http::Response error_response(const Error& error, int status);

// Base64: bytes inside JSON, and passwords of HTTP.
std::string to_base64(std::string_view bytes);
std::string from_base64(std::string_view text);  // up to the first character that is none of it

// The token of a service, from an environment variable: never from a command line, which others can read.

inline Result<std::string> token_in(const std::string& variable) {
  if (variable.empty()) return std::string();
  const char* value = std::getenv(variable.c_str());
  constexpr size_t least = 8;
  if (!value || !*value)
    return user_error("token", format("the environment variable {} is empty", variable),
                      format("export {}=$(openssl rand -hex 16)", variable));
  const std::string out = value;
  if (out.size() < least)
    return user_error("token", format("the token in {} is shorter than {} characters", variable, least));
  for (unsigned char c : out)
    if (c <= ' ' || c >= 127)
      return user_error("token",
                        format("the token in {} has characters that an HTTP header can't hold", variable));
  return out;
}

// A worker: leases work from a service on another machine, does it and sends the result, until there is no
// for it. If it dies, its work goes to others.

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
