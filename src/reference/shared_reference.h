// One reference for programs that are judged side by side: a question at a time, with the weights of the
// program that asks.
#pragma once

#include <mutex>

#include "reference/reference.h"

namespace stitch::verifier {

class SharedReference final : public Reference {
 public:
  // Both outlive this; all that share the reference share the mutex.
  SharedReference(Reference& reference, std::mutex& turn) : reference_(reference), turn_(turn) {}

  // Others redraw the weights between two questions of this one, so the seed is kept here.
  void seed_weights(uint64_t seed) override { seed_ = seed; }
  Result<Tensors> parameters(Weights weights) override {
    std::lock_guard own(turn_);
    reference_.seed_weights(seed_);
    return reference_.parameters(weights);
  }
  Result<Trial> ask(const Question& question) override {
    std::lock_guard own(turn_);
    reference_.seed_weights(seed_);
    return reference_.ask(question);
  }
  Result<std::vector<double>> movement(const Trial& trial, uint64_t draw) override {
    std::lock_guard own(turn_);
    reference_.seed_weights(seed_);
    return reference_.movement(trial, draw);
  }
  Result<Tensors> draw(const Question& question) override {
    std::lock_guard own(turn_);
    reference_.seed_weights(seed_);
    return reference_.draw(question);
  }
  std::vector<std::string> distributions() const override { return reference_.distributions(); }
  Json describe() const override;

 private:
  Reference& reference_;
  std::mutex& turn_;
  uint64_t seed_ = 0;
};

}  // namespace stitch::verifier
