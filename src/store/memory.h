// Memory across runs: what was tried on regions and graphs of a kind, what it was predicted to gain, what it
// did, and why it was refused. Facts, one per line; readers interpret them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "store/run_store.h"

namespace stitch::store {

enum class Scope : uint8_t {
  region,   // signature: the region's; technique and knobs as tried
  step,     // signature: the graph's hash; technique: the step's name
  program,  // signature: the graph's hash; the best program of a run, with its plan document
  kernel,   // signature: what a written source has to fit; the source, signed
};
std::string_view name(Scope scope);

struct Observation {
  std::string origin;  // of the run
  int64_t number = 0;  // within it: together they tell an observation from all others
  Scope scope = Scope::step;
  std::string signature;
  std::string machine;   // GPU, and whether it was emulated: what times and failures hold for
  std::string numerics;  // class
  std::string version;   // of stitchcuda
  std::string technique, knobs;
  std::string outcome, why;             // in the router's words
  bool measured = false;                // seconds were measured; else estimated
  double predicted_gain = 0;            // seconds
  std::optional<double> before, after;  // seconds a call of the whole program
  int tries = 0;
  int among = 1;         // regions that the step changed: of several, this one need not be to blame
  std::string when;      // UTC
  std::string document;  // of a program: its plan; of a kernel: its source; else empty
};

class Memory {
 public:
  explicit Memory(RunStore& store) : store_(store) {}
  Result<void> remember(const std::vector<Observation>& observations);

  // The number of the last one: what is remembered later has a higher one.
  Result<int64_t> last() const;
  // Of this kind, on this machine and in this class, the oldest first, none after `until`.
  Result<std::vector<Observation>> recall(Scope scope, const std::string& signature,
                                          const std::string& machine, const std::string& numerics,
                                          int64_t until) const;
  Result<std::vector<Observation>> all() const;

  // Lines of JSON, one an observation.
  Result<int64_t> write_lines(const std::function<void(std::string_view)>& line) const;
  struct Merged {
    int64_t added = 0, known = 0;
  };
  // All or nothing; a line that is no observation is named.
  Result<Merged> merge(std::string_view lines);
  // All that is remembered, or of one graph or kind of region; how many there were.
  Result<int64_t> forget(const std::string& signature = {});

 private:
  RunStore& store_;
};

Json to_json(const Observation& observation);
Result<Observation> read_observation(const Json& json);

}  // namespace stitch::store
