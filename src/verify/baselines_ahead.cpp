#include "verify/baselines_ahead.h"

#include "base/time_account.h"
#include "graph/cost.h"
#include "verify/baseline_cache.h"
#include "verify/torch_reference.h"

namespace stitch::verifier {

namespace {

// They stay on the GPU beside trials and candidates: not where one verification in sixteen couldn't.
bool has_room(const Session& session) {
  constexpr double share = 1.0 / 16;
  const auto peak = static_cast<double>(cost(session.task.graph).peak_bytes);
  return session.gpu && gpu_bytes_of(session.task.signature, peak) < share * session.gpu->memory;
}

}  // namespace

BaselinesAhead::BaselinesAhead(Session& session) : session_(session) {
  const VerifyOptions& options = session.options;
  const bool timed = options.timing && options.device == runner::Device::cuda;
  if (!options.baselines_ahead || !timed || !session.torch || !has_room(session)) return;
  std::map<std::string, uint64_t> kinds;  // and their seeds
  for (const std::string& kind : options.baselines)
    if (options.fresh_baselines || !cached_baseline(session, kind)) kinds.emplace(kind, session.next_seed());
  if (kinds.empty()) return;
  work_ = std::async(std::launch::async, [kinds, torch = session.torch] {
    Prepared out;
    for (const auto& [kind, seed] : kinds) {
      auto prepared = torch->prepare_baseline(kind, seed);
      const std::string plain = prepared && !prepared->unavailable.empty() ? without_graph(kind) : "";
      if (!plain.empty() && !kinds.contains(plain)) out.emplace(plain, torch->prepare_baseline(plain, seed));
      out.emplace(kind, std::move(prepared));
    }
    return out;
  });
}

void BaselinesAhead::finish() {
  if (!work_.valid()) return;
  const SpentOn phase("baselines after the build", TimeAccount::Kind::phase);
  session_.prepared = work_.get();
}

}  // namespace stitch::verifier
