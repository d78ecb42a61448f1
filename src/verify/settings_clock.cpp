#include "verify/settings_clock.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "device/gpu_lock.h"
#include "verify/gates/gates.h"
#include "verify/stopwatch.h"

namespace stitch::verifier {

namespace {

// Of a round: enough for a median, and no more than a tenth of a second.
constexpr int warm_calls = 3, fewest_calls = 5, most_calls = 20;
constexpr double seconds_of_a_side = 0.1;

// A process with the program in it.
struct Side {
  explicit Side(Session& session, Attempt started) : attempt(std::move(started)), watch(session, attempt) {}
  Attempt attempt;
  Stopwatch watch;
};

class LiveClock final : public SettingsClock {
 public:
  explicit LiveClock(std::unique_ptr<Session> session) : session_(std::move(session)) {}

  Result<void> open() {
    if (session_->python) return user_error("settings", "a Python file has no settings");
    Json ignored;
    for (auto gate : {screen, build, load}) STITCH_CHECK(gate(*session_, ignored));
    if (session_->large() && session_->gpu) {
      session_->progress("tuning: waiting for memory of the GPU");
      STITCH_TRY(MachineShare share,
                 take_gpu_memory(session_->task.graph, session_->task.signature, session_->gpu->memory));
      session_->share.emplace(std::move(share));
    }
    // As the task draws them; and others, on which an algorithm that rounds more shows it.
    for (const char* distribution : {"task", "normal", "task"}) {
      if (session_->trials.size() == sets()) break;
      STITCH_TRY(Trial trial, session_->reference.ask({Weights::task, distribution, session_->next_seed()}));
      if (trial.in_domain) session_->trials.push_back(std::move(trial));
    }
    STITCH_TRY(best_, start());
    return {};
  }

  Result<void> challenge(const runner::Settings& settings) override {
    // As it ships at first: a process that refuses settings is there for the next ones.
    session_->settings.clear();
    if (!challenger_) {
      STITCH_TRY(challenger_, start());
    }
    // Whatever was ever set in a process stays set there.
    for (const ManifestSetting& setting : session_->manifest.settings)
      session_->settings[setting.name] = setting.value;
    for (const auto& [name, value] : settings) session_->settings[name] = value;
    fresh_ = true;
    auto ready = challenger_->attempt.create_again();
    if (ready) ready = challenger_->watch.judge();
    if (!ready && ready.error().code != "refused" && ready.error().code != "wrong") challenger_.reset();
    return ready;
  }

  Result<Round> round() override {
    if (!challenger_) return work_error("tuning", "there is no challenger");
    STITCH_TRY(device::GpuLock alone, device::GpuLock::take());
    if (calls_ == 0) {
      Samples warm;
      STITCH_CHECK(ours(best_->watch.time(fewest_calls, warm)));
      calls_ = std::clamp(static_cast<int>(seconds_of_a_side / std::max(warm.median(), 1e-6)), fewest_calls,
                          most_calls);
    }
    // First calls make graphs of their own.
    Samples warm;
    if (std::exchange(fresh_, false)) STITCH_CHECK(theirs(warm_calls, warm));
    Samples best, challenger;
    const bool first = ++rounds_ % 2 == 0;
    if (first) STITCH_CHECK(theirs(calls_, challenger));
    STITCH_CHECK(ours(best_->watch.time(calls_, best)));
    if (!first) STITCH_CHECK(theirs(calls_, challenger));
    return Round{best.median(), challenger.median()};
  }

  void crown() override { std::swap(best_, challenger_); }

  std::string machine() const override {
    std::string out = session_->options.device == runner::Device::emulated ? "emulated"
                      : session_->gpu                                      ? session_->gpu->name
                                                                           : "another GPU";
    for (const auto& [library, version] : session_->libraries) out += format(", {} {}", library, version);
    return out;
  }

 private:
  size_t sets() const { return session_->large() ? 1 : 2; }

  Result<std::unique_ptr<Side>> start() {
    STITCH_TRY(Attempt attempt, Attempt::start(*session_, Weights::task));
    auto side = std::make_unique<Side>(*session_, std::move(attempt));
    STITCH_CHECK(side->watch.place(sets()));
    return Result<std::unique_ptr<Side>>(std::move(side));
  }

  Result<void> theirs(int calls, Samples& samples) {
    auto timed = challenger_->watch.time(calls, samples);
    if (!timed) challenger_.reset();
    return timed;
  }
  // The best was right before: if it fails now, something else is wrong.
  static Result<void> ours(Result<void> timed) {
    if (timed) return timed;
    return work_error("tuning", "the best program so far failed: " + timed.error().message);
  }

  std::unique_ptr<Session> session_;
  std::unique_ptr<Side> best_, challenger_;
  int calls_ = 0, rounds_ = 0;
  bool fresh_ = true;  // the challenger was not called under the clock yet
};

}  // namespace

Result<std::unique_ptr<SettingsClock>> open_settings_clock(std::unique_ptr<Session> session) {
  auto clock = std::make_unique<LiveClock>(std::move(session));
  STITCH_CHECK(clock->open());
  return Result<std::unique_ptr<SettingsClock>>(std::move(clock));
}

}  // namespace stitch::verifier
