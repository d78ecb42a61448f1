#include "verify/clock/baselines_ahead.h"

#include <random>

#include "base/machine/time_account.h"
#include "graph/cost.h"
#include "verify/clock/baseline_cache.h"

namespace stitch::verifier {

namespace {

std::vector<std::string> kinds_to_prepare(const Session& session) {
  std::vector<std::string> out;
  for (const std::string& kind : session.options.baselines)
    if (session.options.fresh_baselines || !cached_baseline(session, kind)) out.push_back(kind);
  return out;
}

}  // namespace

// They stay on the GPU: not where one verification in sixteen couldn't.
bool has_room_for_baselines(const Session& session) {
  constexpr double share = 1.0 / 16;
  const auto peak = static_cast<double>(cost(session.task.graph).peak_bytes);
  return session.gpu && gpu_bytes_of(session.task.signature, peak) < share * session.gpu->memory;
}

BaselineProcess::BaselineProcess(TorchProcess process, const Session& session) {
  loading_ = std::async(
      std::launch::async,
      [kinds = kinds_to_prepare(session), &task = session.task, numerics = session.options.numerics,
       limit = session.options.reference_time_limit](TorchProcess own) -> std::unique_ptr<TorchReference> {
        own.set_time_limit(limit);
        auto loaded = TorchReference::load(std::move(own), task, numerics, "cuda");
        if (!loaded) return nullptr;
        std::random_device random;
        // What can't be had says so when it is asked for again.
        for (const std::string& kind : kinds)
          if (!(*loaded)->prepare_baseline(kind, uint64_t{random()} << 32 | random())) return nullptr;
        return *std::move(loaded);
      },
      std::move(process));
}

TorchReference* BaselineProcess::get() {
  if (loading_.valid()) {
    const SpentOn waiting("baselines after the other gates");
    torch_ = loading_.get();
  }
  return torch_.get();
}

BaselinesAhead::BaselinesAhead(Session& session) : session_(session) {
  const VerifyOptions& options = session.options;
  const bool timed = options.timing && options.device == runner::Device::cuda;
  if (!options.baselines_ahead || !timed || !session.torch || session.baseline_process ||
      !has_room_for_baselines(session))
    return;
  std::map<std::string, uint64_t> kinds;  // and their seeds
  for (const std::string& kind : kinds_to_prepare(session)) kinds.emplace(kind, session.next_seed());
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
