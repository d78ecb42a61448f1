// A reference that answers a question once: for many programs of one task that are asked the same.
#pragma once

#include <map>
#include <tuple>

#include "reference/reference.h"

namespace stitch::verifier {

class TrialMemory final : public Reference {
 public:
  explicit TrialMemory(Reference& reference) : reference_(reference) {}

  void seed_weights(uint64_t seed) override { reference_.seed_weights(seed); }
  Result<Tensors> parameters(Weights weights) override { return reference_.parameters(weights); }
  Result<Trial> ask(const Question& question) override;
  Result<std::vector<double>> movement(const Trial& trial, uint64_t draw) override {
    return reference_.movement(trial, draw);
  }
  Result<Tensors> draw(const Question& question) override { return reference_.draw(question); }
  std::vector<std::string> distributions() const override { return reference_.distributions(); }
  Json describe() const override;
  int64_t answered_again() const { return again_; }

 private:
  using Key = std::tuple<Weights, std::string, uint64_t, bool, bool>;
  Reference& reference_;
  std::map<Key, Trial> trials_;
  int64_t bytes_ = 0, again_ = 0;
};

}  // namespace stitch::verifier
