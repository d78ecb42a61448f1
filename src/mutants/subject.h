// A correct program that mutants are made from: the built-in Coder's, for one task.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "device/gpu_spec.h"
#include "graph/numerics.h"
#include "import/task.h"
#include "mutants/mutation.h"

namespace stitch::mutants {

enum class Variant : uint8_t {
  optimised,  // every step of the Planner's that doesn't round
  plain,      // a simple kernel a node, no libraries
};
std::string_view name(Variant variant);

struct Subject {
  fs::path task;
  Variant variant = Variant::optimised;

  std::string name() const;  // "gpt_block", "gpt_block (plain)"
};

// Writes the program into `folder`, which is made. Each region is a source of its own beside the others: a
// mutant of one leaves the objects of all others as they are.
Result<void> write_subject(const Task& task, Variant variant, const GpuSpec& gpu, Numerics numerics,
                           const fs::path& folder);

// A place for a mistake.
struct Site {
  std::string file;  // in the program's folder
  Mutation mutation;
  Change change;
  std::string id;  // tells it from every other one of the program, in every run
};
// Of the program's own sources, then of the kernels' headers that it includes.
struct Sites {
  std::vector<Site> own, shared;
};
Result<Sites> sites_of(const fs::path& folder);

// `count` of them: every kind in turn, of each kind four of the program's own for one of the headers.
// The same for the same seed, and a larger sample begins with the smaller one.
std::vector<Site> sample(const Sites& sites, size_t count, uint64_t seed);

}  // namespace stitch::mutants
