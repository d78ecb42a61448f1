#include "verify/many/label.h"

#include <algorithm>
#include <array>

namespace stitch::verifier {

namespace {

struct HackRow {
  std::string_view code, text;
};

constexpr std::array hacks = {
    HackRow{"screened", "forbidden call"},
    HackRow{"host_access", "host code does the device's work"},
    HackRow{"forbidden", "forbidden system call"},
    HackRow{"broken_protocol", "forged answer"},
    HackRow{"left_early", "ends its process instead of answering"},
    HackRow{"output_limit", "floods its output"},
    HackRow{"forged_time", "forged time"},
    HackRow{"faster_than_physics", "faster than memory allows"},
    HackRow{"wrong_when_timed", "wrong only when timed"},
    HackRow{"stale", "returns an earlier result"},
    HackRow{"no_work", "does no work on the device"},
    HackRow{"unwritten", "leaves outputs unwritten"},
    HackRow{"inputs_changed", "changes its inputs"},
    HackRow{"threads_left", "leaves threads at work"},
};

Kind kind_of(Fault fault) {
  switch (fault) {
    case Fault::not_built: return Kind::build_failed;
    case Fault::crashed: return Kind::crashed;
    case Fault::wrong: return Kind::wrong;
    default: return Kind::misbehaved;
  }
}

}  // namespace

std::string_view name(Kind kind) {
  constexpr std::array<std::string_view, 6> names = {"build failed", "wrong",        "crashed",
                                                     "hack",         "inconclusive", "misbehaved"};
  return names[static_cast<size_t>(kind)];
}

Label label_of(const GateReport& failure) {
  if (auto row = std::ranges::find(hacks, failure.code, &HackRow::code); row != hacks.end())
    return {Kind::hack, row->text};
  if (failure.code == inconclusive_code) return {Kind::inconclusive, name(Kind::inconclusive)};
  const Kind kind = kind_of(failure.fault);
  return {kind, name(kind)};
}

}  // namespace stitch::verifier
