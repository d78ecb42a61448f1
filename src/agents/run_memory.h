// What a run leaves for the next ones: observations of its steps, of the regions they changed, and of the
// program that it shipped.
#pragma once

#include <string>
#include <vector>

#include "agents/ledger.h"
#include "agents/roles.h"
#include "store/memory.h"

namespace stitch::agents {

// The same for all observations of a run.
struct Observer {
  std::string origin, machine, version;
  bool measured = false;
};
// What times and failures hold for.
std::string machine_name(const GpuSpec& gpu, bool emulated);

// Of a step that was tried; none where it says nothing about the step: interrupted, trouble of our own.
// `number` is the first one's.
std::vector<store::Observation> observe_step(const Observer& observer, const plan::Context& context,
                                             const plan::Plan& plan, const plan::Plan* base,
                                             const LedgerEntry& entry, int64_t number);
store::Observation observe_program(const Observer& observer, const plan::Context& context,
                                   const plan::Plan& plan, const std::map<std::string, int64_t>& settings,
                                   double seconds, int64_t number);

// Technique and offer, and the knobs that were chosen: as observations name them.
std::string technique_of(const plan::Region& region);
std::string knobs_of(const plan::Region& region);

// Was the step refused for what it is, not for how the run went? Slower counts where it was measured.
bool is_refusal(const store::Observation& observation);

}  // namespace stitch::agents
