// Verdicts as they come, a line each: a killed run goes on from here.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "base/file.h"
#include "base/json.h"
#include "verify/many/candidates.h"

namespace stitch::verifier {

class ResultsFile {
 public:
  // Reads what is there. Half a line at its end, of a process that was killed, is cut off.
  static Result<ResultsFile> open(const fs::path& file);
  // The latest record of the candidate, if it is a verdict with this key and what the task imports is
  // unchanged.
  const Json* find(const ListedCandidate& candidate, const std::string& key) const;
  Result<void> append(const Json& record);

 private:
  explicit ResultsFile(fs::path file) : file_(std::move(file)) {}
  using Name = std::tuple<std::string, std::string, std::string>;
  fs::path file_;
  std::map<Name, std::shared_ptr<const Json>> records_;
};

}  // namespace stitch::verifier
