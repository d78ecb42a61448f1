#include "verify/clock/settings_clock.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/text.h"
#include "gpu/gpu_lock.h"
#include "verify/attempt.h"
#include "verify/clock/series_watch.h"
#include "verify/gates/gates.h"

namespace stitch::verifier {

namespace {

// The verdict's own clock: series of calls on inputs that were never shown, each alone on a cold cache. What
// the program's process says is not held against the watch here, since whatever wins is verified again.
//
// Of a round: enough for a median, and no more than a tenth of a second.
constexpr int warm_calls = 3, fewest_calls = 5, most_calls = 20;
constexpr double seconds_of_a_side = 0.1;

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
      if (session_->trials.size() == checked_calls()) break;
      STITCH_TRY(Trial trial, session_->reference.ask({Weights::task, distribution, session_->next_seed()}));
      if (trial.in_domain) session_->trials.push_back(std::move(trial));
    }
    keeping_ = open_keeper(*session_, most_calls);
    auto started = start();
    if (!started && started.error().code == cannot_share) {
      watch_.reset();
      keeping_ = open_keeper_on_the_host(*session_, most_calls, &started.error());
      started = start();
    }
    STITCH_TRY(best_, std::move(started));
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
    auto ready = challenger_->create_again();
    if (ready) ready = watch_->check(challenger_->candidate(), session_->trials);
    if (!ready && ready.error().code != error_code::refused && ready.error().code != error_code::wrong)
      challenger_.reset();
    return ready;
  }

  Result<Round> round() override {
    if (!challenger_) return work_error("tuning", "there is no challenger");
    STITCH_TRY(GpuLock alone, GpuLock::take());
    if (calls_ == 0) {
      Samples warm;
      STITCH_CHECK(ours(fewest_calls, warm));
      calls_ = std::clamp(static_cast<int>(seconds_of_a_side / std::max(warm.median(), 1e-6)), fewest_calls,
                          most_calls);
    }
    // First calls make graphs of their own.
    Samples warm;
    if (std::exchange(fresh_, false)) STITCH_CHECK(theirs(warm_calls, warm));
    Samples best, challenger;
    const bool first = ++rounds_ % 2 == 0;
    if (first) STITCH_CHECK(theirs(calls_, challenger));
    STITCH_CHECK(ours(calls_, best));
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
  size_t checked_calls() const { return session_->large() ? 1 : 2; }

  // In a process of its own, as it ships, and right.
  Result<std::unique_ptr<Attempt>> start() {
    if (!watch_) watch_.emplace(*session_, *keeping_.keeper, keeping_.shape);
    auto ready = [&](runner::Candidate& process) { return watch_->prepare(process); };
    auto attempt = Attempt::start_asked(*session_, ready);
    if (!attempt) return attempt.error();
    STITCH_CHECK(watch_->check(attempt->candidate(), session_->trials));
    return Result<std::unique_ptr<Attempt>>(std::make_unique<Attempt>(*std::move(attempt)));
  }

  Result<void> theirs(int calls, Samples& samples) {
    auto timed = watch_->time(challenger_->candidate(), calls, samples);
    if (!timed) challenger_.reset();
    return timed;
  }
  // The best was right before: if it fails now, something else is wrong.
  Result<void> ours(int calls, Samples& samples) {
    auto timed = watch_->time(best_->candidate(), calls, samples);
    if (timed) return timed;
    return work_error("tuning", "the best program so far failed: " + timed.error().message);
  }

  std::unique_ptr<Session> session_;
  Keeping keeping_;
  std::optional<SeriesWatch> watch_;
  std::unique_ptr<Attempt> best_, challenger_;
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
