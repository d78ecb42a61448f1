// What a run records for later runs: observations of its steps, of the regions they changed, and of the
// shipped program.
#pragma once

#include <string>
#include <vector>

#include "agents/loop/ledger.h"
#include "agents/roles.h"
#include "store/memory.h"

namespace stitch::agents {

// The same for all observations of a run.
struct Observer {
  std::string origin, machine, version;
  bool measured = false;
};
// The machine that times and failures apply to.
std::string machine_name(const GpuSpec& gpu, bool emulated);

// Observations of a tried step; none if the outcome says nothing about the step: interrupted, or a failure of
// the machine. `number` is the first one's.
std::vector<store::Observation> observe_step(const Observer& observer, const plan::Context& context,
                                             const plan::Plan& plan, const plan::Plan* base,
                                             const LedgerEntry& entry, int64_t number);
store::Observation observe_program(const Observer& observer, const plan::Context& context,
                                   const plan::Plan& plan, const std::map<std::string, int64_t>& settings,
                                   double seconds, int64_t number);

// A step's name in observations. What one model wrote badly another may write well: `author` as of
// Coder::author().
std::string observed_step(const std::string& step, const std::string& author);
// Technique with offer, and the chosen knobs or the source, as named in observations.
std::string technique_of(const plan::Region& region);
std::string knobs_of(const plan::Region& region);

// Was the step itself at fault, not the circumstances of the run? Slower counts if it was measured.
bool is_refusal(const store::Observation& observation);

}  // namespace stitch::agents
