// How long a call takes: wall time between device-wide synchronisations, cold cache, fresh memory, each
// timed output checked, rounds interleaved with the baselines in a secret order.
//
// The clock runs in the candidate's own process, so its claims are held against this side's watch: calls
// back to back on a warm cache can't take longer than the same calls one by one on a cold one.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "base/text.h"
#include "device/gpu_lock.h"
#include "verify/attempt.h"
#include "verify/baseline_cache.h"
#include "verify/gates/gates.h"
#include "verify/judge.h"
#include "verify/torch_reference.h"

namespace stitch::verifier {

namespace {

constexpr int64_t flush_bytes = int64_t{256} << 20;  // several times any L2
constexpr int most_calls = 100, fewest_calls = 10;
constexpr double seconds_per_side = 0.2;  // calls of milliseconds hardly differ, and others wait
// Calls of microseconds jitter with the host: more of them.
constexpr int most_short_calls = 500;
constexpr double seconds_of_short_calls = 0.02;
// The more calls, the more turns: a side that has all of its calls in one place has that moment's machine.
constexpr int few_rounds = 5, many_rounds = 25;
constexpr int64_t checked_whole = int64_t{16} << 20, page = 1 << 16;
constexpr size_t pages = 32, pages_kept = 4096;

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

class Stopwatch {
 public:
  Stopwatch(Session& session, Attempt& attempt)
      : session_(session), attempt_(attempt), random_(session.next_seed()) {}

  Result<void> place() {
    const size_t most_sets = session_.large() ? 2 : 4;
    for (size_t which = 0; which < std::min(session_.trials.size(), most_sets); ++which) {
      STITCH_TRY(Trial trial, judged(which));
      STITCH_TRY(int set, attempt_.place(trial));
      STITCH_TRY(Observed observed, attempt_.call(set, {.poison = session_.next_seed()}));
      Placed made{.set = set};
      for (size_t i = 0; i < observed.outputs.size(); ++i) {
        STITCH_TRY(Verified verified, pages_of(observed.outputs[i].bytes));
        made.outputs.push_back(std::move(verified));
        STITCH_TRY(Comparison comparison, judge_output(session_, trial, i, observed.outputs[i]));
        if (!comparison.passed)
          return found("wrong", format("before timing, '{}' is wrong: {}",
                                       session_.task.signature.outputs[i].name, comparison.reason));
      }
      sets_.push_back(std::move(made));
    }
    return {};
  }

  // Timed calls on secret sets; every output is looked at before the next call.
  Result<void> time(int count, Samples& samples) {
    for (int i = 0; i < count; ++i) {
      size_t which = random_() % sets_.size();
      runner::CallOptions options{.poison = session_.next_seed(), .timed = true, .flush_bytes = flush_bytes};
      STITCH_TRY(runner::Called called,
                 or_found(attempt_.candidate().call(sets_[which].set, attempt_.output_types(), options),
                          "it was timed"));
      if (!called.damage.empty())
        return found("out_of_bounds", format("a timed call wrote past its tensors: {}", called.damage));
      STITCH_CHECK(check(which));
      samples.wall_ns.push_back(called.wall_ns);
      samples.event_ns.push_back(called.event_ns);
    }
    return {};
  }

  // Seconds a call by this side's watch, warm and back to back.
  Result<double> watched(int count) {
    std::vector<int> sets;
    for (const Placed& placed : sets_) sets.push_back(placed.set);
    STITCH_TRY(int64_t once, or_found(attempt_.candidate().burst(sets, attempt_.output_types(), count),
                                      "calls ran back to back"));
    STITCH_TRY(int64_t twice, or_found(attempt_.candidate().burst(sets, attempt_.output_types(), 2 * count),
                                       "calls ran back to back"));
    return static_cast<double>(twice - once) * 1e-9 / count;
  }

 private:
  // Small outputs whole, large ones on secret pages: equal to what was judged, or judged again.
  Result<void> check(size_t which) {
    const std::vector<Verified>& outputs = sets_[which].outputs;
    const int64_t mark = session_.arena.mark();
    std::vector<runner::OutputPiece> pieces;
    std::vector<std::vector<size_t>> numbers;
    for (size_t i = 0; i < outputs.size(); ++i) {
      numbers.push_back(chosen(outputs[i].ranges.size()));
      runner::OutputPiece piece{.output = static_cast<int>(i)};
      int64_t total = 0;
      for (size_t number : numbers[i]) {
        piece.ranges.push_back(outputs[i].ranges[number]);
        total += piece.ranges.back().end - piece.ranges.back().begin;
      }
      STITCH_TRY(piece.offset, session_.arena.allocate(total));
      pieces.push_back(std::move(piece));
    }
    STITCH_CHECK(or_found(attempt_.candidate().fetch_outputs(pieces), "timed outputs were fetched"));
    std::vector<size_t> changed;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!holds(pieces[i], outputs[i], numbers[i])) changed.push_back(i);
    session_.arena.release_to(mark);
    for (size_t i : changed) STITCH_CHECK(judge_again(which, i));
    return {};
  }

  // Whether what was fetched is what was judged.
  bool holds(const runner::OutputPiece& piece, const Verified& verified, const std::vector<size_t>& numbers) {
    int64_t at = piece.offset;
    for (size_t k = 0; k < numbers.size(); ++k) {
      const int64_t size = piece.ranges[k].end - piece.ranges[k].begin;
      const std::byte* judged = verified.bytes.data() + static_cast<int64_t>(numbers[k]) * size;
      const auto got = session_.arena.bytes(at, size);
      if (std::memcmp(got.data(), judged, static_cast<size_t>(size)) != 0) return false;
      at += size;
    }
    return true;
  }

  // What the reference was made to let go of, it answers again.
  Result<Trial> judged(size_t which) {
    const Trial& trial = session_.trials[which];
    if (trial.truth.size()) return trial;
    return session_.reference.ask(trial.question);
  }

  Result<void> judge_again(size_t which, size_t output) {
    STITCH_TRY(Trial trial, judged(which));
    int64_t mark = session_.arena.mark();
    STITCH_TRY(Tensors outputs, attempt_.fetch_outputs(sets_[which].set));
    STITCH_TRY(Comparison comparison, judge_output(session_, trial, output, outputs[output]));
    session_.arena.release_to(mark);
    if (comparison.passed) return {};
    return found("wrong_when_timed", format("a timed call gives a wrong '{}': {}",
                                            session_.task.signature.outputs[output].name, comparison.reason));
  }

  Result<Verified> pages_of(std::span<const std::byte> output) {
    const int64_t size = std::ssize(output);
    Verified out;
    if (size <= checked_whole)
      out.ranges = {{0, size}};
    else
      out.ranges = {{size - page, size}};
    while (size > checked_whole && out.ranges.size() < pages_kept) {
      int64_t begin = static_cast<int64_t>(random_() % static_cast<uint64_t>(size - page));
      out.ranges.push_back({begin, begin + page});
    }
    if (auto there = session_.torch ? session_.torch->on_device(output) : std::nullopt) {
      int64_t total = 0, mark = session_.arena.mark();
      for (const runner::Range& range : out.ranges) total += range.end - range.begin;
      STITCH_TRY(int64_t offset, session_.arena.allocate(total));
      STITCH_CHECK(session_.torch->fetch(*there, out.ranges, offset));
      const std::span<const std::byte> pages = session_.arena.bytes(offset, total);
      out.bytes.assign(pages.begin(), pages.end());
      session_.arena.release_to(mark);
      return out;
    }
    for (const runner::Range& range : out.ranges)
      out.bytes.insert(out.bytes.end(), output.begin() + range.begin, output.begin() + range.end);
    return out;
  }

  // Of the ranges kept: the first, and some others.
  std::vector<size_t> chosen(size_t count) {
    std::vector<size_t> numbers = {0};
    while (numbers.size() < std::min(pages, count)) numbers.push_back(random_() % count);
    return numbers;
  }

  Session& session_;
  Attempt& attempt_;
  std::vector<Placed> sets_;
  std::mt19937_64 random_;
};

int calls_in(double total, double seconds_a_call) {
  return static_cast<int>(total / std::max(seconds_a_call, 1e-6));
}

int calls_for(double seconds) {
  const int calls = std::clamp(calls_in(seconds_per_side, seconds), fewest_calls, most_calls);
  return std::max(calls, std::min(calls_in(seconds_of_short_calls, seconds), most_short_calls));
}

Result<void> prepare_baselines(Session& session, std::vector<Samples*>& live) {
  if (!session.torch) {
    if (!session.options.baselines.empty())
      session.notes.push_back("no baselines: the task is no .py file, or there is no PyTorch");
    return {};
  }
  session.baselines.reserve(session.options.baselines.size());
  for (const std::string& kind : session.options.baselines) {
    session.progress("baseline " + kind);
    std::optional<Samples> cached;
    if (!session.options.fresh_baselines) cached = cached_baseline(session, kind);
    if (cached) {
      session.baselines.push_back(*std::move(cached));
      continue;
    }
    auto prepared = session.torch->prepare_baseline(kind, session.next_seed());
    session.baselines.push_back(prepared ? *std::move(prepared)
                                         : Samples{.side = kind, .unavailable = prepared.error().message});
  }
  for (Samples& samples : session.baselines)
    if (samples.unavailable.empty() && samples.measured_at.empty()) live.push_back(&samples);
  return {};
}

Json evidence_of(const Session& session, double watched) {
  Json json = {{"program", to_json(session.own, true)},
               {"baselines", Json::array()},
               {"flush_bytes", flush_bytes},
               {"watched_seconds", watched}};
  for (const Samples& samples : session.baselines) json["baselines"].push_back(to_json(samples, true));
  return json;
}

}  // namespace

Result<Passed> timing(Session& session, Json& evidence) {
  if (session.options.device != runner::Device::cuda)
    return skipped("times on the emulated GPU mean nothing");
  if (!session.options.timing) return skipped("not asked for");
  // Whoever waits for the clock keeps as little memory as possible from the others.
  for (Trial& trial : session.trials)
    if (trial.held) trial = Trial{.question = trial.question};
  std::vector<Samples*> live;
  STITCH_CHECK(prepare_baselines(session, live));
  STITCH_TRY(Attempt attempt, Attempt::start(session, Weights::task));
  Stopwatch stopwatch(session, attempt);
  STITCH_CHECK(stopwatch.place());
  session.arena.release_to(0);
  session.arena.give_back_memory();
  STITCH_CHECK(attempt.give_back_device_arena());
  session.progress("waiting for others to finish their timing");
  const auto asked = std::chrono::steady_clock::now();
  STITCH_TRY(device::GpuLock alone, device::GpuLock::take());
  const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count();
  Samples warm{.side = "warm-up"};
  STITCH_CHECK(stopwatch.time(5, warm));
  session.own.side = "program";
  int own_calls = calls_for(warm.median());
  std::vector<int> baseline_calls(live.size(), fewest_calls);
  std::mt19937_64 random(session.next_seed());
  const int rounds = own_calls >= most_calls ? many_rounds : few_rounds;
  for (int round = 0; round < rounds; ++round) {
    session.progress(format("timing, round {} of {}", round + 1, rounds));
    std::vector<int> order(live.size() + 1);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i) - 1;  // -1: the program
    std::ranges::shuffle(order, random);
    for (int side : order) {
      if (side < 0) {
        STITCH_CHECK(stopwatch.time(std::max(1, own_calls / rounds), session.own));
        continue;
      }
      Samples& samples = *live[static_cast<size_t>(side)];
      int& calls = baseline_calls[static_cast<size_t>(side)];
      STITCH_CHECK(session.torch->time_baseline(samples, std::max(1, calls / rounds), flush_bytes,
                                                session.next_seed()));
      calls = calls_for(samples.median());
    }
  }
  STITCH_TRY(double watched,
             stopwatch.watched(std::clamp(calls_in(seconds_per_side, session.own.median()), 2, own_calls)));
  evidence = evidence_of(session, watched);
  evidence["waited_seconds"] = waited;  // for others who used the GPU
  for (const Samples* samples : live) keep_baseline(session, *samples);
  double own = session.own.median();
  if (own < 0.5 * watched)
    return found("forged_time", format("it claims {} a call; by our own watch calls take {}",
                                       seconds_text(own), seconds_text(watched)));
  std::string summary = format("{} a call, spread {:.1f} %", seconds_text(own), 100 * session.own.spread());
  const Samples* best = nullptr;
  for (const Samples& samples : session.baselines)
    if (!samples.wall_ns.empty() && (!best || samples.median() < best->median())) best = &samples;
  if (best)
    summary +=
        format(", {:.2f}x over {} ({})", best->median() / own, best->side, seconds_text(best->median()));
  return Passed{summary};
}

}  // namespace stitch::verifier
