// Answers on disk, one per line, and accepted requests without an answer yet: a killed service resumes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "base/json.h"
#include "base/machine/descriptor.h"
#include "base/machine/file_lock.h"

namespace stitch::serve {

class Journal {
 public:
  // answers.jsonl and accepted.jsonl in it. `on_answer`: each of earlier, in order. An Error: another service
  // is at work in this folder, or it can't be written.
  static Result<std::unique_ptr<Journal>> open(const fs::path& folder,
                                               const std::function<void(const Json& answer)>& on_answer);
  // Accepted before, and not answered.
  const std::map<std::string, std::shared_ptr<const Json>>& left() const { return left_; }
  void forget_left() { left_.clear(); }

  std::shared_ptr<const Json> find(const std::string& key) const;
  Result<void> accept(const std::string& key, const Json& payload);
  Result<void> keep(const std::string& key, const Json& answer);
  void drop(const std::string& key);  // accepted, but never answered
  size_t answers() const;

 private:
  explicit Journal(FileLock alone) : alone_(std::move(alone)) {}
  Result<void> read_answers(const fs::path& file, const std::function<void(const Json&)>& on_answer);
  Result<void> read_accepted(const fs::path& file);
  void shrink();

  FileLock alone_;
  mutable std::mutex mutex_;
  struct Place {
    int64_t begin = 0;
    uint32_t size = 0;
  };
  std::map<std::string, Place> places_;  // of answers in their file
  std::set<std::string> open_;           // accepted and not answered
  std::map<std::string, std::shared_ptr<const Json>> left_;
  Descriptor answers_, accepted_;
  int64_t end_ = 0, accepted_bytes_ = 0;
};

}  // namespace stitch::serve
