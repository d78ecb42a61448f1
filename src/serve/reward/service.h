// The reward service: candidates come in over HTTP, in the forms of several RL engines; rewards go out. Each
// is judged once, for all clients and requests; answers outlive the process.
#pragma once

#include "http/server.h"
#include "serve/reward/scorer.h"

namespace stitch::serve {

struct ServiceOptions {
  fs::path tasks;  // a folder of .py files
  fs::path state;  // where answers are kept
  ScorerOptions scorer;
  std::shared_ptr<Scorer> scored_by;  // null: the Verifier
  int jobs = 1;                       // judges, or compilers where something is timed
  bool judge_here = true;             // false: only remote workers judge
  bool judge_later = false;           // only from begin_judging() on; what comes before waits
  size_t most_waiting = 4096;         // candidates
  double answer_within = 100;         // seconds; then a client must retry
  double lease_seconds = 60;          // of a remote worker that is silent
  std::string token;                  // empty: not required
  http::ServerOptions http;
  std::function<std::string(const Json& status)> page;  // at /; null: none
  std::function<void(std::string_view)> on_notice;      // workers that were lost; from any thread
};

class RewardService {
 public:
  static Result<std::unique_ptr<RewardService>> start(ServiceOptions options);
  virtual ~RewardService() = default;  // what is being judged is finished first; what waits is kept
  virtual int port() const = 0;
  virtual void begin_judging() = 0;
  virtual Json status() const = 0;              // as GET /status
  virtual size_t left_from_before() const = 0;  // accepted by an earlier process, judged by this one
};

}  // namespace stitch::serve
