#include "verify/many/record.h"

#include <nlohmann/json.hpp>

#include "verify/clock/clock.h"
#include "verify/many/label.h"
#include "verify/measured.h"
#include "verify/not_judged.h"

namespace stitch::verifier {

Json record_for(const ListedCandidate& candidate, const std::string& key, const std::string& hash) {
  return {{"author", candidate.author},
          {"task", candidate.task},
          {"sample", candidate.sample},
          {"path", candidate.shown},
          {"key", key},
          {"sha256", hash},
          {"date", utc_now()}};
}

void add_verdict(Json& record, const Verdict& verdict) {
  record["judgement"] = verdict.passed() ? "passed" : "failed";
  if (const GateReport* failure = verdict.failure()) {
    const Label label = label_of(*failure);
    record.update(Json{{"gate", failure->gate},
                       {"code", failure->code},
                       {"reason", failure->summary},
                       {"kind", name(label.kind)},
                       {"label", label.text}});
  }
  if (verdict.header)
    for (const char* fact : {"device", "trust", "seed"})
      if (verdict.header->contains(fact)) record[fact] = (*verdict.header)[fact];
  const auto timing = timing_of(verdict);
  if (!timing || !verdict.passed()) return;
  record["seconds_a_call"] = timing->seconds;
  for (const auto& [side, seconds] : timing->baselines)
    if (timing->seconds > 0) record["speedups"][side] = seconds / timing->seconds;
  if (timing->speedup) {
    record["speedups"]["best"] = *timing->speedup;
    record["best_baseline"] = timing->best_baseline;
  }
}

void add_not_judged(Json& record, const Error& error) {
  record.update(Json{{"judgement", not_judged}, {"code", error.code}, {"reason", error.message}});
  if (!error.where.empty()) record["where"] = error.where;
  if (!error.fix.empty()) record["fix"] = error.fix;
}

}  // namespace stitch::verifier
