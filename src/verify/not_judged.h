// Failures that are the machine's: a candidate is not charged with them. What a candidate says of itself is
// only a reason to look: one that complains of a full disk beside an empty one has failed by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/json.h"
#include "base/result.h"

namespace stitch::verifier {

// Of commands that ended without a verdict; 1 is a candidate that failed, 2 a wrong request, 3 a bug.
inline constexpr int exit_not_judged = 4;
inline constexpr std::string_view not_judged = "not judged";

// GPU out of memory, whichever process used it up.
bool is_out_of_gpu_memory(const Error& error);

// An Error that ended a verification: did this machine, or our own side, lack something? Otherwise the
// request is wrong, or it was stopped.
bool is_machines(const Error& error);

// What is looked at. Tests have machines of their own.
struct MachineSenses {
  std::function<bool()> has_gpu;
  std::function<bool()> has_cuda_home;  // a toolkit where PyTorch looks for it
  std::function<bool()> has_ninja;
  std::function<int64_t()> free_disk;          // bytes, where candidates write
  std::function<int64_t()> killed_for_memory;  // processes, by the kernel, since it started
  std::function<double()> gpu_memory_in_use;   // a share, now that the candidate is gone
  std::function<double()> busy_share;          // of all cores' time, over the next quarter of a second
  std::function<double()> pressed_seconds;     // in which a thread waited for a core, since it started
};
const MachineSenses& senses_here();

struct FailedCandidate {
  const Error& failure;       // as a gate found it
  std::string source;         // of a Python candidate; else empty
  int64_t killed_before = 0;  // killed_for_memory() when its verification began
};
// The machine's part in it, as a work error; nothing: it is the candidate's own.
std::optional<Error> machines_part(const FailedCandidate& candidate, const MachineSenses& senses);

// In place of a verdict, for machines.
Json not_judged_document(const std::string& program, const std::string& task, const Error& error);

}  // namespace stitch::verifier
