// Times as people and machines read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/terminal/terminal.h"

namespace stitch::verifier {

inline constexpr int64_t flush_bytes = int64_t{256} << 20;  // several times any L2

// Timed calls of one side: the program, or a baseline.
struct Samples {
  std::string side;
  std::vector<int64_t> wall_ns;   // between device-wide synchronisations: what counts
  std::vector<int64_t> event_ns;  // by CUDA events: the cross-check
  std::string unavailable;        // why there are none
  std::string measured_at;        // when, if they come from the cache

  double median() const;  // seconds of wall time
  double event_median() const;
  // How far the median is to be trusted: half the distance between the lowest and the highest of five
  // medians, over the median of all. The five are measurements of the same thing over the same time: rounds
  // are dealt out to them like cards, so that a drift of the machine is in all of them alike, as it is in the
  // baselines.
  double spread() const;
  // That drift: the same with the fifths one after the other.
  double drift() const;
  // Of single calls: half the distance between the quartiles, over the median.
  double call_spread() const;

 private:
  double distance_of_fifths(size_t round) const;
};

// What stands in for a baseline in a CUDA graph where a model can't be captured; of others, nothing.
std::string without_graph(std::string_view kind);

Json to_json(const Samples& samples, bool raw);
std::string timing_table(const Json& timing, const Terminal& terminal);

}  // namespace stitch::verifier
