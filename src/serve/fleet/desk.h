// The queue's HTTP interface for workers on other machines: lease work, renew the lease, deliver the result.
//   POST /fleet/lease {"worker", "device", "wait"} → 200 {"lease", "key", "payload", "renew_every"}, or 204
//   POST /fleet/renew {"lease"}                    → 200, or 410: another worker has it by now
//   POST /fleet/done {"lease", "key", "result"}    → 200 {"counted"}
#pragma once

#include <string>
#include <string_view>

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

}  // namespace stitch::serve
