#include "reference/trials_ahead.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/contained.h"

namespace stitch::verifier {

namespace {

constexpr int64_t most_bytes = int64_t{1} << 30;  // of answers that wait

bool same(const Question& a, const Question& b) {
  return a.weights == b.weights && a.distribution == b.distribution && a.seed == b.seed && a.own == b.own &&
         a.whole == b.whole && a.pytorchs_numbers == b.pytorchs_numbers && a.moved_weights == b.moved_weights;
}

int64_t bytes_of(const Result<Trial>& trial) {
  return trial ? trial->inputs.bytes() + trial->truth.bytes() + trial->pytorch.bytes() : 0;
}

}  // namespace

void TrialsAhead::end() {
  {
    std::lock_guard hold(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
}

void TrialsAhead::begin(std::vector<Question> questions, std::function<void(Reference&)> first) {
  for (Question& question : questions) answers_.push_back({.question = std::move(question)});
  done_ = false;
  worker_ = std::thread([this, first = std::move(first)] {
    {
      std::lock_guard own(turn_);
      first(reference_);
    }
    work();
  });
}

void TrialsAhead::work() {
  for (;;) {
    Question question;
    {
      std::unique_lock hold(mutex_);
      changed_.wait(hold, [&] { return stop_ || bytes_ < most_bytes; });
      if (stop_ || at_ == answers_.size()) {
        done_ = true;
        changed_.notify_all();
        return;
      }
      question = answers_[at_].question;
    }
    auto trial = contained([&] {
      std::lock_guard own(turn_);
      return reference_.ask(question);
    });
    std::lock_guard hold(mutex_);
    bytes_ += bytes_of(trial);
    answers_[at_++].trial = std::move(trial);
    changed_.notify_all();
  }
}

Result<Trial> TrialsAhead::ask(const Question& question) {
  {
    std::unique_lock hold(mutex_);
    auto found = std::ranges::find_if(
        answers_, [&](const Answer& each) { return !each.taken && same(each.question, question); });
    if (found != answers_.end()) {
      changed_.wait(hold, [&] { return done_ || found->trial; });
      found->taken = true;
      if (found->trial) {
        Result<Trial> out = *std::exchange(found->trial, std::nullopt);
        bytes_ -= bytes_of(out);
        changed_.notify_all();
        return out;
      }
    }
  }
  std::lock_guard own(turn_);
  return reference_.ask(question);
}

void TrialsAhead::seed_weights(uint64_t seed) {
  std::lock_guard own(turn_);
  reference_.seed_weights(seed);
}

Result<Tensors> TrialsAhead::parameters(Weights weights) {
  std::lock_guard own(turn_);
  return reference_.parameters(weights);
}

Result<std::vector<double>> TrialsAhead::movement(const Trial& trial, uint64_t draw) {
  std::lock_guard own(turn_);
  return reference_.movement(trial, draw);
}

Result<Tensors> TrialsAhead::draw(const Question& question) {
  std::lock_guard own(turn_);
  return reference_.draw(question);
}

Json TrialsAhead::describe() const { return reference_.describe(); }

}  // namespace stitch::verifier
