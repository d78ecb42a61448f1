// No program is faster than memory: what must be read once from a cold cache can't be read in less time than
// the data sheet's bandwidth allows. Writes may still lie in the L2 cache when the clock stops, so outputs
// that fit there don't count. Weights don't either: a program may have made something smaller of them before
// the first call (the sum of a product's columns is a product with the sum of the weight's).
//
// Arithmetic is no such floor: algebra may remove it (a mean of a matrix product is a product with a mean).
// A program below the arithmetic floor is right on every secret input or it would not be here; it is noted.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/terminal/wording.h"
#include "base/text.h"
#include "gpu/floor.h"
#include "graph/cost.h"
#include "verify/gates/gates.h"

namespace stitch::verifier {

Result<Passed> physical_floor(Session& session, Json& evidence) {
  if (session.own.wall_ns.empty()) return skipped("nothing was timed");
  if (!session.gpu) return skipped("this GPU's data sheet is not known");
  const Graph& graph = session.task.graph;
  GraphCost costs = cost(graph);
  double outputs = 0;
  for (const ManifestTensor& output : session.task.signature.outputs)
    outputs += static_cast<double>(output.type.bytes());
  double elsewhere = std::min(outputs, session.gpu->l2);
  for (const ManifestTensor& parameter : session.task.signature.parameters)
    elsewhere += static_cast<double>(parameter.type.bytes());
  double memory = std::max(0.0, costs.boundary_bytes - elsewhere) / session.gpu->data_sheet_bandwidth;
  Floor floor = floor_of(graph, costs, *session.gpu);
  double seconds = session.own.median();
  evidence = {{"memory_seconds", memory},
              {"arithmetic_seconds", floor.compute},
              {"floor_seconds", floor.seconds()},
              {"seconds", seconds},
              {"share_of_floor", floor.seconds() / seconds}};
  if (seconds < memory)
    return found("faster_than_physics",
                 format("{} is less than the {} that reading its inputs takes on {}", seconds_text(seconds),
                        seconds_text(memory), with_article(session.gpu->name)));
  if (seconds < floor.compute || seconds < floor.memory)
    session.notes.push_back(format("{} is less than the {} as written take ({}): algebra removed some of it",
                                   seconds_text(seconds), seconds < floor.compute ? "operations" : "weights",
                                   seconds_text(std::max(floor.compute, floor.memory))));
  return Passed{
      format("{:.0f} % of the floor, {}", 100 * floor.seconds() / seconds, seconds_text(floor.seconds()))};
}

}  // namespace stitch::verifier
