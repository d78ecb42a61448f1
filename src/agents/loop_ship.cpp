#include <nlohmann/json.hpp>

#include "agents/loop.h"
#include "agents/package_task.h"
#include "base/contained.h"
#include "plan/document.h"

namespace stitch::agents {

// The best program that passes every gate, beside the baselines: should the best one fail one that the steps
// don't have, the one before it has its turn.
Result<void> Loop::ship(Optimized& out) {
  if (const verifier::GateReport* profile = kept_.front().verdict.gate("profile"))
    out.plain_profile = profile->evidence;
  for (; !kept_.empty(); kept_.pop_back()) {
    const auto begin = Clock::now();
    const Program& best = kept_.back();
    STITCH_CHECK(write_out(best));
    out.seconds_a_call = best.seconds;
    out.verdict = best.verdict;
    out.regions = std::make_shared<const Json>(
        plan::to_json(task_.graph, best.plan, context_.gpu).value("regions", Json::array()));
    if (best.judging == Judging::as_shipped) break;
    auto verdict = contained(
        [&] { return brains_.verifier->judge(options_.out, Judging::as_shipped, options_.should_stop); });
    // The steps' verdict stands where there is no time for another, or something of ours broke.
    if (!verdict) {
      out.stopped = outcome_of(verdict.error()) == Outcome::interrupted;
      if (!out.stopped) out.verdict.notes.push_back("judged as a step only: " + verdict.error().message);
      break;
    }
    out.verdict = *std::move(verdict);
    if (out.verdict.passed()) {
      out.seconds_a_call = seconds_of(out.verdict, best.predicted_seconds);
      break;
    }
    const verifier::GateReport& failure = *out.verdict.failure();
    end({.step = "ship",
         .why = "every gate",
         .before = best.seconds,
         .outcome = outcome_of(failure),
         .report = failure,
         .tries = 1},
        Action::drop, begin);
  }
  ship_library(out.verdict);
  return {};
}

// With its task and constants.
Result<void> Loop::write_out(const Program& program) const {
  PackageContents contents = program.contents;
  STITCH_CHECK(add_task(contents, task_));
  return write_package(options_.out, contents);
}

// What was judged, where model_new.py looks before it compiles. It can do without.
void Loop::ship_library(const verifier::Verdict& verdict) const {
  if (options_.device != runner::Device::cuda || !verdict.passed()) return;
  const fs::path library = options_.out / "build" / "libprogram.so";
  std::error_code ignored;
  fs::create_directories(library.parent_path(), ignored);
  fs::copy_file(verdict.library, library, fs::copy_options::overwrite_existing, ignored);
}

}  // namespace stitch::agents
