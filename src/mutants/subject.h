// A correct program to mutate: the built-in Coder's, for one task.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "gpu/gpu_spec.h"
#include "graph/numerics.h"
#include "import/task.h"
#include "mutants/mutation.h"

namespace stitch::mutants {

enum class Variant : uint8_t {
  optimised,  // with every step of the Planner that doesn't round
  plain,      // one simple kernel per node, no libraries
};
std::string_view name(Variant variant);

struct Subject {
  fs::path task;
  Variant variant = Variant::optimised;

  std::string name() const;  // "gpt_block", "gpt_block (plain)"
};

// Writes the program into `folder`, which is created. Each region is a separate source, so that a mutant of
// one reuses the objects of all others.
Result<void> write_subject(const Task& task, Variant variant, const GpuSpec& gpu, Numerics numerics,
                           const fs::path& folder);

// A place where a mutation applies.
struct Site {
  std::string file;  // in the program's folder
  Mutation mutation;
  Change change;
  std::string id;  // unique in the program, stable across runs
};
// In the program's sources and in the kernel headers it includes.
struct Sites {
  std::vector<Site> own, shared;
};
Result<Sites> sites_of(const fs::path& folder);

// `count` sites: kinds in rotation, four of the program's own for one of the headers. Deterministic in the
// seed; a larger sample starts with the smaller one.
std::vector<Site> sample(const Sites& sites, size_t count, uint64_t seed);

}  // namespace stitch::mutants
