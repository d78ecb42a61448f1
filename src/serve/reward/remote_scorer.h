// Scores submissions leased from a remote service, with its settings and the task files it sent.
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
