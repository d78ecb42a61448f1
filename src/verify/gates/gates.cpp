#include "verify/gates/gates.h"

#include <array>

namespace stitch::verifier {

namespace {

constexpr std::array gates = {
    Gate{GateId::build, "build", "in the sandbox: compilers read what sources tell them to", build},
    Gate{GateId::screen, "screen", "what no honest kernel calls is refused before anything runs", screen},
    Gate{GateId::load, "load", "the ABI is there, and the manifest is the task's", load},
    Gate{GateId::correctness, "correctness", "unseen inputs of several kinds, against float64", correctness},
    Gate{GateId::sensitivity, "sensitivity", "would a constant have passed? then more must be asked",
         sensitivity},
    Gate{GateId::conduct, "conduct", "inputs unchanged, all written, repeatable, wrong shapes refused",
         conduct},
    Gate{GateId::thread_order, "thread order", "results that depend on it miss a barrier (emulated GPU)",
         thread_order},
    Gate{GateId::regions, "regions", "each region alone, on the tensors it really sees", regions},
    Gate{GateId::sanitizer, "sanitizer", "slow, so only for programs that are right", sanitizer},
    Gate{GateId::profile, "profile", "what the device was made to do", profile},
    Gate{GateId::coverage, "coverage", "every node has a region, every kernel an owner", coverage},
    Gate{GateId::timing, "timing", "interleaved with the baselines, outputs checked", timing},
    Gate{GateId::floor, "floor", "nobody is faster than memory", physical_floor},
};

}  // namespace

std::span<const Gate> all_gates() { return gates; }

}  // namespace stitch::verifier
