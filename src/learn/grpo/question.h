// What a policy answers: decisions, one after the other, and a reward for all of them together.
#pragma once

#include <memory>
#include <span>
#include <vector>

namespace stitch::learn {

class Question {
 public:
  virtual ~Question() = default;
  // Of the decision after those: features of its legal options, (options, features). Empty: that was the
  // last.
  virtual std::vector<float> options(std::span<const int> chosen) = 0;
  // NaN: it has no reward.
  virtual double reward(std::span<const int> chosen) = 0;
};
using Questions = std::vector<std::unique_ptr<Question>>;

}  // namespace stitch::learn
