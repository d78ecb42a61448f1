// The watch over a program's calls is this side's: it starts before the inputs are shown and stops when
// another process has read every output. What the candidate's process says of its times is held against it.
#pragma once

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "verify/clock/series_keeper.h"

namespace stitch::verifier {

// Seconds a call by this side's watch, and how far they are to be trusted.
struct Watched {
  double back_to_back = 0, resolution = 0;  // of series
  double alone = 0, alone_resolution = 0;   // of series of one call
  int calls = 0;                            // of a series
  double interpreter = 0;                   // what Python may take beside a call: no lie, but its time
  double whole = 0, empty = 0;  // a series with everything around its calls; the same without them
  double around = 0;            // of the empty series, a call: who replaces the runner's code could hide it
  double counts() const { return std::max(0.0, back_to_back - resolution); }
  // Below these a claim is a lie.
  double least() const { return std::max(0.0, counts() - interpreter); }
  double least_alone() const { return std::max(0.0, alone - alone_resolution - 2 * interpreter); }
  // A series with calls can't be shorter than an empty one: then the runner's code is not what ran.
  bool is_possible() const { return whole >= 0.6 * empty; }
  bool is_plainly_impossible() const { return whole < 0.3 * empty; }  // however busy the machine was
};

class SeriesWatch {
 public:
  // Of all timed calls with PyTorch's own answers, while the GPU is ours alone.
  static constexpr double most_seconds_to_compare = 0.75;

  SeriesWatch(Session& session, SeriesKeeper& keeper, SeriesShape shape)
      : session_(session),
        keeper_(keeper),
        shape_(std::move(shape)),
        random_(session.next_seed()),
        seconds_to_compare_(most_seconds_to_compare) {}

  // Memory for series, and the first of them, which takes longer.
  Result<void> prepare(runner::Candidate& candidate);
  // What series take without their calls: asked while no code of the candidate is in its process yet.
  Result<void> calibrate(runner::Candidate& candidate);
  // Calls that the child times, each alone on a cold cache and on inputs that were never shown.
  Result<void> time(runner::Candidate& candidate, int count, Samples& samples);
  // `claim`: seconds a call, by the child's word. `seconds`: of a series, if the claim is true.
  Result<Watched> watch(runner::Candidate& candidate, double claim, double seconds);
  // Calls on the inputs of these trials, judged at once. An Error of code "wrong": they are not right.
  Result<void> check(runner::Candidate& candidate, std::span<const Trial> trials);
  // What a secret few of all these calls left, against the truth. Returns how many.
  Result<int> judge();

 private:
  struct Kept {
    Question question;
    int number;
    bool suspect = false;  // far from PyTorch's own answer: judged in any case
    bool is_planted() const { return question.distribution != "task" && question.distribution != "varied"; }
  };
  Result<double> once(runner::Candidate& candidate, int count, bool run);
  Result<double> least_of(runner::Candidate& candidate, int count, int times, double enough);
  Result<void> stage(int count);
  Result<void> keep(int count, int wanted);
  Result<void> keep_strange(int count);
  Result<bool> judge(const Kept& kept);
  Question question(const std::string& kind, uint64_t seed) const;
  std::vector<Question> fresh_questions(int count);
  void plant(std::vector<Question>& questions);

  Session& session_;
  SeriesKeeper& keeper_;
  SeriesShape shape_;
  std::mt19937_64 random_;
  std::string kind_ = "task";
  uint64_t varied_base_ = 0;
  double draw_seconds_ = 0;
  std::vector<Question> shown_;
  std::vector<Kept> kept_;
  double seconds_to_compare_;
  double farthest_ = 0;  // from PyTorch's answer, of calls on the task's inputs
  int planted_ = 0;
  size_t first_kind_ = 0;
  std::vector<double> zero_of_one_, zero_of_all_;
};

}  // namespace stitch::verifier
