#include "verify/gates/gates.h"

#include <array>

namespace stitch::verifier {

namespace {

constexpr std::array gates = {
    Gate{"screen", "what no honest kernel needs is refused before a compiler sees it", screen},
    Gate{"build", "in the sandbox: compilers read what sources tell them to", build},
    Gate{"load", "the ABI is there, and the manifest is the task's", load},
    Gate{"correctness", "unseen inputs of several kinds, against float64", correctness},
    Gate{"sensitivity", "would a constant have passed? then more must be asked", sensitivity},
    Gate{"conduct", "inputs unchanged, all written, repeatable, wrong shapes refused", conduct},
    Gate{"thread order", "results that depend on it miss a barrier (emulated GPU)", thread_order},
    Gate{"regions", "each region alone, on the tensors it really sees", regions},
    Gate{"sanitizer", "slow, so only for programs that are right", sanitizer},
    Gate{"profile", "what the device was made to do", profile},
    Gate{"coverage", "every node has a region, every kernel an owner", coverage},
    Gate{"timing", "interleaved with the baselines, outputs checked", timing},
    Gate{"floor", "nobody is faster than memory", physical_floor},
};

}  // namespace

std::span<const Gate> all_gates() { return gates; }

}  // namespace stitch::verifier
