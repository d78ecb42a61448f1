// How long a call takes: wall time between device-wide synchronisations, cold cache, inputs that no program
// has seen, a secret few of the timed outputs judged.
//
// That time is the word of the candidate's own process, and held against this side's watch (series_watch.h).
// PyTorch is timed before the candidate is loaded and after its process is gone: nothing of it can slow the
// baselines. Everything else (compiling baselines, starting, loading, creating) is done beside others, so
// that the GPU is held alone twice, for measurements.
#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <utility>

#include "base/error_codes.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "gpu/gpu_lock.h"
#include "reference/torch_reference.h"
#include "verify/attempt.h"
#include "verify/clock/baseline_cache.h"
#include "verify/clock/baselines_ahead.h"
#include "verify/clock/series_watch.h"
#include "verify/gates/gates.h"
#include "verify/not_judged.h"

namespace stitch::verifier {

namespace {

constexpr int most_calls = 100, fewest_calls = 10;
constexpr double seconds_per_side = 0.2;  // calls of milliseconds hardly differ, and others wait
// Calls of microseconds jitter with the host: more of them.
constexpr int most_short_calls = 500;
constexpr double seconds_of_short_calls = 0.02;
// The more calls, the more turns: a side that has all of its calls in one place has that moment's machine.
constexpr int few_rounds = 5, many_rounds = 25;
constexpr double most_seconds = 2, most_python_seconds = 1;  // of what isn't calls: draws, copies, flushes
// A machine that is slow for a while doesn't spare a program its calls: what it does after dozens of them is
// seen.
constexpr int calls_before_haste = 64;
constexpr double much_later = 4;
constexpr int baseline_rounds = 5;  // before the program, and as many after it

// Of a series. Those of Python candidates are drawn one by one while others wait for the GPU.
constexpr int most_slots = 128, most_python_slots = 32;
// As long as a busy machine leaves a process alone that has just woken up.
constexpr double seconds_of_a_series = 2e-3;
constexpr int most_looks = 6, calls_of_another_look = 25;
constexpr int looks_for_doubt = 3;
constexpr int shortest_series = 3;  // times half
constexpr int most_waits_for_memory = 3;
constexpr std::chrono::seconds wait_for_memory{4};
constexpr std::chrono::milliseconds between_looks{250};

// A claim that is this much of the least that our watch allows is a lie; one a little below it may be a GPU
// that clocks down under calls back to back, and then the watch counts. One call alone is less sure: the host
// wakes up for it.
constexpr double forged = 0.75, forged_alone = 0.5, agrees_within = 0.97;
// On a machine whose cores others keep busy, only what is below this share of these bounds is called a lie;
// a claim in between can't be judged, and is timed again.
constexpr double plainly_forged = 1.0 / 3, busy_machine = 0.75, pressed_machine = 0.2, swamped_machine = 0.7;

// Of a Python candidate's claim, what could be hidden in the copies around a call.
constexpr double worth_telling = 0.25;

int calls_in(double total, double seconds_a_call) {
  return static_cast<int>(total / std::max(seconds_a_call, 1e-6));
}

int calls_for(double seconds) {
  const int calls = std::clamp(calls_in(seconds_per_side, seconds), fewest_calls, most_calls);
  return std::max(calls, std::min(calls_in(seconds_of_short_calls, seconds), most_short_calls));
}

// Who compiles and times the baselines.
TorchReference& baseline_torch(Session& session) {
  TorchReference* own = session.baseline_process ? session.baseline_process->get() : nullptr;
  return own ? *own : *session.torch;
}

Result<void> prepare_baselines(Session& session, std::vector<Samples*>& live) {
  if (!session.torch) {
    if (!session.options.baselines.empty())
      session.notes.push_back("no baselines: the task is no .py file, or there is no PyTorch");
    return {};
  }
  std::vector<std::string> kinds = session.options.baselines;
  session.baselines.reserve(2 * kinds.size());
  for (size_t next = 0; next < kinds.size(); ++next) {
    const std::string kind = kinds[next];
    session.progress("baseline " + kind);
    std::optional<Samples> cached;
    if (!session.options.fresh_baselines) cached = cached_baseline(session, kind);
    if (cached) {
      session.baselines.push_back(*std::move(cached));
      continue;
    }
    auto ahead = session.prepared.find(kind);
    auto prepared = ahead != session.prepared.end()
                        ? std::move(ahead->second)
                        : baseline_torch(session).prepare_baseline(kind, session.next_seed());
    session.baselines.push_back(prepared ? *std::move(prepared)
                                         : Samples{.side = kind, .unavailable = prepared.error().message});
    // A model that can't be captured in a graph is held against what PyTorch can do with it.
    const std::string plain = session.baselines.back().unavailable.empty() ? "" : without_graph(kind);
    if (!plain.empty() && std::ranges::find(kinds, plain) == kinds.end()) kinds.push_back(plain);
  }
  for (Samples& samples : session.baselines)
    if (samples.unavailable.empty() && samples.measured_at.empty()) live.push_back(&samples);
  return {};
}

// Half of their calls. Nothing of a candidate is alive, and the GPU is this process's.
Result<void> time_baselines(Session& session, const std::vector<Samples*>& live) {
  if (live.empty()) return {};
  require(!session.attempt && !session.loaded, "PyTorch is timed alone");
  std::mt19937_64 random(session.next_seed());
  for (int round = 0; round < baseline_rounds; ++round) {
    session.progress(format("timing PyTorch, round {} of {}", round + 1, baseline_rounds));
    std::vector<Samples*> order = live;
    std::ranges::shuffle(order, random);
    for (Samples* samples : order) {
      const int calls = samples->wall_ns.empty() ? fewest_calls : calls_for(samples->median());
      STITCH_CHECK(baseline_torch(session).time_baseline(*samples, std::max(1, calls / (2 * baseline_rounds)),
                                                         flush_bytes, session.next_seed()));
    }
  }
  return {};
}

struct OwnTimes {
  Watched watched;
  double waited = 0;            // seconds, for others who used the GPU
  double pressed = 0;           // the share of the last look in which a thread waited for a core
  double pressed_when_set = 0;  // the same while the watch was set, before the program was loaded
  int judged = 0;
};

Result<std::optional<GpuLock>> alone_on_the_gpu(Session& session, OwnTimes& times) {
  std::optional<GpuLock> alone;
  if (session.options.device != runner::Device::cuda) return alone;
  session.progress("waiting for others to finish their timing");
  const auto asked = std::chrono::steady_clock::now();
  STITCH_TRY(GpuLock lock, GpuLock::take());
  alone.emplace(std::move(lock));
  times.waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count();
  return alone;
}

bool stands(double claim, const Watched& watched) {
  return claim >= forged * watched.least() && claim >= forged_alone * watched.least_alone() &&
         watched.is_possible();
}

// Whether it stands only because the empty series jittered so much, or calls took no longer than none.
// Times of the emulated GPU are not reported.
bool is_doubtful(const Session& session, Watched watched) {
  if (session.options.device == runner::Device::emulated && !session.python) return false;
  watched.resolution = watched.alone_resolution = 0;
  return !stands(session.own.median(), watched) || watched.whole < watched.empty;
}

// Only jitter lets it stand, and it is far from anything that was seen: where the kernel does not count
// waiting for cores, a claim of a hundredth passed beside fifteen others (H200).
bool stands_by_jitter(const Session& session, Watched watched) {
  watched.resolution = watched.alone_resolution = 0;
  return !stands(session.own.median() / plainly_forged, watched);
}

Result<void> take_claims(Session& session, SeriesWatch& watch, runner::Candidate& candidate, int calls) {
  const int rounds = calls >= most_calls ? many_rounds : few_rounds;
  session.own = Samples{.side = "program"};
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < rounds; ++round) {
    session.progress(format("timing, round {} of {}", round + 1, rounds));
    STITCH_CHECK(watch.time(candidate, std::max(1, calls / rounds), session.own));
    // A candidate that claims less than it takes would be called for ever: our own clock bounds how often.
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begin;
    const double claimed = session.own.median() * static_cast<double>(session.own.wall_ns.size());
    const double most = session.python ? most_python_seconds : most_seconds;
    const bool enough =
        std::ssize(session.own.wall_ns) >= calls_before_haste || gone.count() > much_later * most;
    if (round >= 2 && enough && gone.count() > most + 3 * claimed) break;
  }
  return {};
}

// PyTorch's times: half of them are taken before the candidate, half after it.
struct Baselines {
  std::vector<Samples*> live;
  bool begun = false;
};

// Claims, and the watch over them. A machine that got busy between the two makes an honest program look like
// a liar: both are taken again, and the last claims are the ones that count. Shorter series are disturbed
// less.
Result<Watched> look_at(Session& session, SeriesWatch& watch, runner::Candidate& candidate, int look) {
  Samples warm{.side = "warm-up"};
  STITCH_CHECK(watch.time(candidate, 5, warm));
  const int calls = calls_for(warm.median());
  STITCH_CHECK(take_claims(session, watch, candidate, look ? std::min(calls, calls_of_another_look) : calls));
  return watch.watch(candidate, session.own.median(),
                     seconds_of_a_series / (1 << std::min(look, shortest_series)));
}

// In which a thread waited for a core, so far. CPU time, which counts on the emulated GPU, goes on meanwhile.
double pressed_seconds(const Session& session) {
  return session.options.device == runner::Device::cuda ? senses_here().pressed_seconds() : 0;
}

bool is_pressed(const OwnTimes& times) { return times.pressed > pressed_machine; }

double share_of(std::chrono::steady_clock::time_point begin, double seconds) {
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return seconds / std::max(took.count(), 1e-3);
}

// Whether the claim stands in one of a few looks. If it does, the process ends and PyTorch is timed again in
// the same turn.
Result<bool> look_until_it_stands(Session& session, SeriesWatch& watch, std::optional<Attempt> attempt,
                                  const Baselines& baselines, OwnTimes& out) {
  for (int look = 0; look < most_looks; ++look) {
    // What disturbed the last one may be gone by then, and others time theirs meanwhile.
    GpuVisit::step_out();
    std::this_thread::sleep_for(look * between_looks);
    STITCH_TRY(const std::optional<GpuLock> alone, alone_on_the_gpu(session, out));
    const auto begin = std::chrono::steady_clock::now();
    const double pressed_before = pressed_seconds(session);
    STITCH_TRY(out.watched, look_at(session, watch, attempt->candidate(), look));
    out.pressed = share_of(begin, pressed_seconds(session) - pressed_before);
    const bool last = look + 1 >= looks_for_doubt;
    const bool in_doubt =
        stands_by_jitter(session, out.watched) || (is_pressed(out) && is_doubtful(session, out.watched));
    if (stands(session.own.median(), out.watched) && (last || !in_doubt)) {
      attempt.reset();
      STITCH_CHECK(time_baselines(session, baselines.live));
      return true;
    }
    if (!out.watched.is_possible() && look > 0) return false;  // nor will it be in this process
  }
  return false;
}

// The candidate's process begins and ends here. While nothing of it is there, PyTorch is timed for the first
// time and the watch is set; then it is loaded and created beside others, who would wait for seconds
// otherwise. Where the watch was set while the machine was busy, an honest program looks as if it took less
// than nothing: then a second process is asked.
Result<OwnTimes> time_program(Session& session, SeriesWatch& watch, Baselines& baselines) {
  OwnTimes out;
  auto before_load = [&](runner::Candidate& process) -> Result<void> {
    STITCH_CHECK(watch.prepare(process));
    STITCH_TRY(const std::optional<GpuLock> alone, alone_on_the_gpu(session, out));
    if (!std::exchange(baselines.begun, true)) STITCH_CHECK(time_baselines(session, baselines.live));
    const auto begin = std::chrono::steady_clock::now();
    const double pressed_before = pressed_seconds(session);
    STITCH_CHECK(watch.calibrate(process));
    out.pressed_when_set = share_of(begin, pressed_seconds(session) - pressed_before);
    return {};
  };
  for (int process = 0; process < 2; ++process) {
    STITCH_TRY(Attempt attempt, Attempt::start_asked(session, before_load));
    STITCH_TRY(bool stood, look_until_it_stands(session, watch, std::move(attempt), baselines, out));
    if (stood || out.watched.is_possible()) break;
  }
  return out;
}

Json evidence_of(const Session& session, const OwnTimes& times, const SeriesKeeper& keeper) {
  const Watched& watched = times.watched;
  Json json = {{"program", to_json(session.own, true)},
               {"baselines", Json::array()},
               {"flush_bytes", flush_bytes},
               {"watched_seconds", watched.back_to_back},
               {"watch",
                {{"calls", watched.calls},
                 {"resolution_seconds", watched.resolution},
                 {"alone_seconds", watched.alone},
                 {"alone_resolution_seconds", watched.alone_resolution},
                 {"around_a_call_seconds", watched.around},
                 {"outputs_read_in", keeper.where()}}},
               {"waited_seconds", times.waited}};
  for (const Samples& samples : session.baselines) json["baselines"].push_back(to_json(samples, true));
  return json;
}

// The claim, held against the watch; raised to it where it is a little below.
Result<void> settle(Session& session, const OwnTimes& times) {
  const Watched& watched = times.watched;
  const double claim = session.own.median();
  const bool plainly =
      watched.is_possible() ? !stands(claim / plainly_forged, watched) : watched.is_plainly_impossible();
  auto not_now = [&](std::string_view why) {
    return work_error(
        error_code::busy,
        format("{}: it claims {} a call, and by our own watch calls took {} one after the other "
               "(to within {}), and {} alone (to within {})",
               why, seconds_text(claim), seconds_text(watched.back_to_back), seconds_text(watched.resolution),
               seconds_text(watched.alone), seconds_text(watched.alone_resolution)),
        "judge it when the machine has a core to spare");
  };
  // However the machine jitters: writing a result takes a kernel or a copy.
  constexpr double least_of_a_launch = 0.25;
  if (session.options.device == runner::Device::cuda && session.gpu &&
      claim < least_of_a_launch * session.gpu->kernel_overhead)
    return found("forged_time",
                 format("it claims {} a call, and no kernel is that short", seconds_text(claim)));
  // Cores were short while it was watched, or are now that nothing of the candidate is alive. A candidate
  // that makes them short gets no verdict, and no time: neither a liar's, nor that of one who passes for
  // honest only because everything jittered. Where others kept nearly all cores all the time, honest calls
  // take many times what they claim, too.
  const bool by_jitter = stands(claim, watched) && stands_by_jitter(session, watched);
  const bool in_question = !stands(claim, watched) || is_doubtful(session, watched) || by_jitter;
  const bool still_busy = in_question && session.options.device == runner::Device::cuda &&
                          senses_here().busy_share() > busy_machine;
  const bool swamped = still_busy && times.pressed > swamped_machine;
  const bool unsure = in_question && (stands(claim, watched) || !plainly || swamped);
  if (unsure && (is_pressed(times) || still_busy)) return not_now("this machine is too busy to time it");
  if (by_jitter) return not_now("this machine jitters too much to time it");
  // Nothing of the candidate was there when the watch was set: the cores were not kept busy by it.
  if (!watched.is_possible() && times.pressed_when_set > pressed_machine)
    return work_error(error_code::busy, "this machine was too busy to time it when the watch was set",
                      "judge it when the machine has a core to spare");
  if (!watched.is_possible())
    return found(
        "forged_time",
        format("{} took {} with all that is around them; before it was loaded, the same without the "
               "calls took {}: not the runner's code ran",
               counted(watched.calls, "call"), seconds_text(watched.whole), seconds_text(watched.empty)));
  if (!stands(claim, watched))
    return found(
        "forged_time",
        format("it claims {} a call; by our own watch calls take at least {} one after the other, and "
               "{} alone",
               seconds_text(claim), seconds_text(watched.least()), seconds_text(watched.least_alone())));
  // A ModelNew shares its process with the code that calls it: what it takes can't be told from what that
  // code takes around a call.
  const double around = session.python ? watched.around : 0;
  if (around > worth_telling * claim)
    session.notes.push_back(
        format("a ModelNew shares its process with the code that calls it: beside {} a call, {} around it "
               "could hide work of its own",
               seconds_text(claim), seconds_text(around)));
  const double counts = std::max(watched.counts(), around);
  if (claim >= agrees_within * counts) return {};
  const auto least = static_cast<int64_t>(counts * 1e9);
  for (int64_t& wall : session.own.wall_ns) wall = std::max(wall, least);
  session.notes.push_back(format("its process says {} a call; the watch outside says {}, which counts",
                                 seconds_text(claim), seconds_text(counts)));
  return {};
}

std::string summary_of(const Session& session, const Watched& watched, int judged) {
  const double own = session.own.median();
  std::string summary = format(
      "{} a call, spread {:.1f} %; at least {} by our own watch, to within {}; {} of these calls judged",
      seconds_text(own), 100 * session.own.spread(), seconds_text(watched.least()),
      seconds_text(watched.resolution), judged);
  const Samples* best = nullptr;
  for (const Samples& samples : session.baselines)
    if (!samples.wall_ns.empty() && (!best || samples.median() < best->median())) best = &samples;
  if (best)
    summary +=
        format(", {:.2f}x over {} ({})", best->median() / own, best->side, seconds_text(best->median()));
  return summary;
}

// Timed, then judged: the GPU is not held for that.
Result<OwnTimes> time_and_judge(Session& session, const Keeping& keeping, Baselines& baselines,
                                Json& evidence) {
  SeriesWatch watch(session, *keeping.keeper, keeping.shape);
  STITCH_TRY(OwnTimes times, time_program(session, watch, baselines));
  evidence = evidence_of(session, times, *keeping.keeper);
  STITCH_TRY(times.judged, watch.judge());
  evidence["judged"] = times.judged;
  return times;
}

bool is_others_memory(const Error& error) {
  constexpr double much_of_a_gpu = 0.1;
  return is_out_of_gpu_memory(error) && senses_here().gpu_memory_in_use() > much_of_a_gpu;
}

Result<Passed> timed(Session& session, Json& evidence) {
  session.attempt.reset();
  session.loaded.reset();
  // While waiting for the GPU as little of its memory as possible is held.
  for (Trial& trial : session.trials)
    if (trial.held) trial = Trial{.question = trial.question};
  session.arena.release_to(0);
  session.arena.give_back_memory();
  Baselines baselines;
  STITCH_CHECK(prepare_baselines(session, baselines.live));
  const int slots = session.python ? most_python_slots : most_slots;
  auto times = time_and_judge(session, open_keeper(session, slots), baselines, evidence);
  // Estimates of what others need are estimates: they may have taken what this one was promised, for a while.
  for (int again = 0; again < most_waits_for_memory && !times && is_others_memory(times.error()); ++again) {
    session.progress("waiting for the GPU's memory");
    GpuVisit::step_out();
    std::this_thread::sleep_for(wait_for_memory);
    times = time_and_judge(session, open_keeper(session, slots), baselines, evidence);
  }
  if (!times && times.error().code == cannot_share)
    times =
        time_and_judge(session, open_keeper_on_the_host(session, slots, &times.error()), baselines, evidence);
  if (!times) return times.error();
  STITCH_CHECK(settle(session, *times));
  for (const Samples* samples : baselines.live) keep_baseline(session, *samples);
  evidence["baselines"] = Json::array();
  for (const Samples& samples : session.baselines) evidence["baselines"].push_back(to_json(samples, true));
  return Passed{summary_of(session, times->watched, times->judged)};
}

// Of a quick look among other candidates: the shortest of a few calls, by events that the candidate's process
// took itself. No claim, and no figure for people: a hint for rewards in training, which the floor bounds.
Result<Passed> glanced_at(Session& session, Json& evidence) {
  constexpr int calls = 5;
  STITCH_TRY(const std::shared_ptr<Attempt> attempt, Attempt::of(session, Weights::task));
  STITCH_CHECK(attempt->ask(session.trials[0], {.poison = session.next_seed()}));
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int call = 0; call < calls; ++call) {
    STITCH_TRY(const runner::Called called,
               attempt->run_again(
                   {.poison = session.next_seed(), .timed = true, .flush_bytes = verifier::flush_bytes}));
    if (called.event_ns > 0) least = std::min(least, called.event_ns);
  }
  if (least == std::numeric_limits<int64_t>::max()) return skipped("its process took no times");
  session.own = {.side = "program", .wall_ns = {least}, .event_ns = {least}};
  evidence = {{"seconds", static_cast<double>(least) * 1e-9}, {"glance", true}};
  return Passed{format("a glance among others: {}", seconds_text(static_cast<double>(least) * 1e-9))};
}

}  // namespace

Result<Passed> timing(Session& session, Json& evidence) {
  if (session.options.device == runner::Device::cuda)
    return session.options.timing ? timed(session, evidence)
           : session.options.shared_process && !session.python && !session.trials.empty()
               ? glanced_at(session, evidence)
               : skipped("not asked for");
  if (!session.options.rehearse_timing) return skipped("times on the emulated GPU mean nothing");
  Json untold;
  auto passed = timed(session, untold);
  session.own = {};
  if (!passed) return passed.error();
  return Passed{format("rehearsed: {} timed calls judged, no claim below our own watch",
                       untold.at("judged").get<int>())};
}

}  // namespace stitch::verifier
