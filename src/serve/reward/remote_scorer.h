// Scores submissions that were leased from a service elsewhere: judges as the service says, with the task's
// files as they came.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "serve/reward/scorer.h"

namespace stitch::serve {

class RemoteScorer {
 public:
  // Of the options, how to judge comes with the work.
  explicit RemoteScorer(ScorerOptions options);
  Json score(const std::string& key, const Json& payload);

 private:
  Result<Json> scored(const Json& payload);
  Result<fs::path> task_folder(const Json& payload, const std::string& hash);
  Result<Scorer*> scorer_for(const Json& judging);

  const ScorerOptions options_;
  std::optional<ScratchFolder> scratch_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Scorer>> scorers_;  // by how they judge
};

}  // namespace stitch::serve
