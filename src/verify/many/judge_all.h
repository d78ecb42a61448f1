// Many candidates for many tasks, judged as one by one, but PyTorch is imported once, a task is opened once,
// its reference answers once, and programs are compiled side by side. Nothing is timed beside anything else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "import/task.h"
#include "verify/many/candidates.h"
#include "verify/session.h"

namespace stitch::verifier {

struct ManyOptions {
  VerifyOptions verify;  // the same for all; program, seed and receipt are not looked at
  TaskOptions task;
  fs::path out;      // results.jsonl and verdicts/ in it
  std::string tool;  // whose verdicts these are: a version
  int jobs = 1;      // tasks at a time where nothing is timed, and compilers
  std::function<bool()> should_stop;
  // What else a record says of a program that was judged; from several threads at once.
  std::function<Json(const fs::path& program, const Verdict& verdict, const Graph& graph)> describe;
  // From the threads that judge, one at a time.
  std::function<void(const ListedCandidate& candidate, const Json& record)> on_done;
  std::function<void(std::string_view doing)> on_doing;
  std::function<void(size_t verdicts)> on_earlier;  // that hold from an earlier run
};

struct ManyJudged {
  std::vector<Json> records;  // in the order of the candidates; those not reached are left out
  size_t earlier = 0;         // of them, from an earlier run
  size_t copies = 0;          // of them, of files that are the same to the byte
  bool stopped = false;
};

// An Error: the results can't be read or written, or another process is at work in the folder.
Result<ManyJudged> judge_all(const std::vector<ListedCandidate>& candidates, const ManyOptions& options);

}  // namespace stitch::verifier
