// A program's timed calls for the tuner, which compares a program that passed with itself under other
// settings: wall time between device-wide synchronisations, cold cache, secret inputs, and every output
// looked at before the next call. A verdict's times are series_watch.h's.
#pragma once

#include <random>
#include <vector>

#include "verify/attempt.h"

namespace stitch::verifier {

class Stopwatch {
 public:
  Stopwatch(Session& session, Attempt& attempt)
      : session_(session), attempt_(attempt), random_(session.next_seed()) {}

  // Inputs of trials that were asked, at most so many; what the program makes of them is judged.
  Result<void> place(size_t most_sets);
  // After the program was created anew: what it makes of the same inputs is what it was, or judged again.
  Result<void> judge();
  // Timed calls on secret sets; every output is looked at before the next call.
  Result<void> time(int count, Samples& samples);

 private:
  // What the program made of a set of inputs when it was judged: all of it, or many pages that it can't know.
  struct Verified {
    std::vector<runner::Range> ranges;
    std::vector<std::byte> bytes;  // one range after the other
  };
  // A set of inputs on the device.
  struct Placed {
    int set;
    std::vector<Verified> outputs;
  };

  Result<void> judge(size_t which);
  Result<void> check(size_t which);
  bool holds(const runner::OutputPiece& piece, const Verified& verified, const std::vector<size_t>& numbers);
  Result<Trial> answered(size_t which);
  Result<void> judge_again(size_t which, size_t output);
  std::vector<runner::Range> pages_of(int64_t size);
  Result<std::vector<std::byte>> read(std::span<const std::byte> output,
                                      std::span<const runner::Range> ranges);
  std::vector<size_t> chosen(size_t count);

  Session& session_;
  Attempt& attempt_;
  std::vector<Placed> sets_;
  std::mt19937_64 random_;
};

}  // namespace stitch::verifier
