// A Planner that uses the results of earlier runs. It starts with the best known program for the graph; steps
// refused on this graph, or on regions of the same kind, are not tried again.
#pragma once

#include "agents/record/events.h"
#include "agents/record/run_history.h"
#include "agents/roles.h"
#include "base/digest/ed25519.h"
#include "store/run_store.h"

namespace stitch::agents {

struct Remembering {
  store::RunStore* store = nullptr;
  int64_t until = 0;  // later observations are ignored, so that a resumed run repeats its decisions
  std::string machine, version;
  EventSink* events = nullptr;
  std::string coder = {};  // the author of what it writes itself
};
std::unique_ptr<Planner> remembering_planner(std::unique_ptr<Planner> planner, Remembering remembering);

// Kernels that a person or a language model wrote and that passed every gate, for later runs and other
// models: found before a model is asked, judged again like any other step. Signed with this installation's
// key, as receipts are.

struct ArchivedKernel {
  plan::Source source;
  std::string when;
  std::optional<double> before, after;  // seconds a call of the program that it made faster
};

// What a kernel has to fit: a region's nodes, shapes and strides, whatever implements it. One for each region
// of the plan.
Result<std::vector<std::string>> kernel_keys(const plan::Context& context, const plan::Plan& plan);

// Of a step that was kept: each source that it brought, once.
Result<std::vector<store::Observation>> observe_kernels(const Observer& observer,
                                                        const plan::Context& context, const plan::Plan& plan,
                                                        const plan::Plan* base, const LedgerEntry& entry,
                                                        int64_t number);
// An error says why an entry is not used: another version's, or not signed by `key`.
Result<ArchivedKernel> read_kernel(const store::Observation& observation, const std::string& version,
                                   const KeyBytes& key);

// Once there is a program: a step for each archived kernel that fits a region of it, then the steps of
// `planner`.
std::unique_ptr<Planner> archive_planner(std::unique_ptr<Planner> planner, Remembering remembering);

}  // namespace stitch::agents
