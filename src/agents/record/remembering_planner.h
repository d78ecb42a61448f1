// A Planner that uses the results of earlier runs. It starts with the best known program for the graph; steps
// refused on this graph, or on regions of the same kind, are not tried again.
#pragma once

#include "agents/record/events.h"
#include "agents/roles.h"
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

}  // namespace stitch::agents
