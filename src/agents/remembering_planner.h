// A Planner that knows what came of earlier runs. It begins with the best program that is remembered for the
// graph; what was refused on this graph is not tried again, nor what was refused on regions of the kind; and
// measured gains correct the predictions.
#pragma once

#include "agents/events.h"
#include "agents/roles.h"
#include "store/run_store.h"

namespace stitch::agents {

struct Remembering {
  store::RunStore* store = nullptr;
  int64_t until = 0;  // observations after this one are not looked at: a resumed run knows what it knew
  std::string machine, version;
  Judging judging = Judging::wholly;  // of the remembered program
  EventSink* events = nullptr;
};
std::unique_ptr<Planner> remembering_planner(std::unique_ptr<Planner> planner, Remembering remembering);

}  // namespace stitch::agents
