// How long a call takes: wall time between device-wide synchronisations, cold cache, fresh memory, each
// timed output checked, rounds interleaved with the baselines in a secret order.
//
// The clock runs in the candidate's own process, so its claims are held against this side's watch: calls
// back to back on a warm cache can't take longer than the same calls one by one on a cold one.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "base/text.h"
#include "device/gpu_lock.h"
#include "verify/attempt.h"
#include "verify/baseline_cache.h"
#include "verify/gates/gates.h"
#include "verify/stopwatch.h"
#include "verify/torch_reference.h"

namespace stitch::verifier {

namespace {

constexpr int most_calls = 100, fewest_calls = 10;
constexpr double seconds_per_side = 0.2;  // calls of milliseconds hardly differ, and others wait
// Calls of microseconds jitter with the host: more of them.
constexpr int most_short_calls = 500;
constexpr double seconds_of_short_calls = 0.02;
// The more calls, the more turns: a side that has all of its calls in one place has that moment's machine.
constexpr int few_rounds = 5, many_rounds = 25;

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
  STITCH_CHECK(stopwatch.place(session.large() ? 2 : 4));
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
