// A reference that is asked ahead, in the order in which the gates will ask, while the program is built.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "reference/reference.h"

namespace stitch::verifier {

class TrialsAhead final : public Reference {
 public:
  explicit TrialsAhead(Reference& reference) : reference_(reference) {}
  ~TrialsAhead() override { end(); }
  // Once, before anything is asked of it. `first` is done before the questions, while nothing else speaks to
  // the reference.
  void begin(std::vector<Question> questions, std::function<void(Reference&)> first);
  // After the question at hand nothing is asked ahead any more.
  void end();

  void seed_weights(uint64_t seed) override;
  Result<Tensors> parameters(Weights weights) override;
  Result<Trial> ask(const Question& question) override;
  Result<std::vector<double>> movement(const Trial& trial, uint64_t draw) override;
  Result<Tensors> draw(const Question& question) override;
  std::vector<std::string> distributions() const override { return reference_.distributions(); }
  Json describe() const override;

 private:
  struct Answer {
    Question question;
    std::optional<Result<Trial>> trial;  // nothing: not asked yet, or taken
    bool taken = false;
  };
  void work();

  Reference& reference_;
  std::mutex turn_;  // the reference answers one question at a time
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Answer> answers_;
  size_t at_ = 0;      // the worker's question
  int64_t bytes_ = 0;  // of answers that were not taken yet
  bool stop_ = false, done_ = true;
  std::thread worker_;
};

}  // namespace stitch::verifier
