// The sections of program.cu, in the order in which they stand there. Lines may be too long: they are folded
// when the file is whole.
#pragma once

#include <functional>

#include "code/program_parts.h"

namespace stitch::code {

// What the program's memory holds besides scratch: weights that a run or a member needs, and packed memory.
struct KeptMemory {
  std::vector<const Resident*> weights;     // all, in the order of stitch_create's parameters
  std::set<std::string, std::less<>> kept;  // of them, those that stay
  std::map<std::string, int64_t> offsets;   // of weights that stay and of packed memory
  int64_t bytes = 0;                        // of the arena

  bool keeps(const Resident& weight) const { return kept.contains(weight.name); }
};
KeptMemory kept_memory(const ProgramParts& parts);

// A handle of a library: a branch each.
struct Handle {
  std::string type, name;
};
std::vector<Handle> handles(const ProgramParts& parts);

std::string workspace_name(const ProgramParts& parts, size_t region);
// A region's call, its places where `locate` says, by their C names.
using Locate = std::function<std::string(const std::string& name)>;
std::string region_call(const ProgramParts& parts, size_t region, const Locate& locate,
                        const std::string& stream);
// Calls that a region needs before its own: all, or those that no earlier region has made.
std::vector<std::string> preparing_calls(const ProgramParts& parts, size_t region, const Locate& locate,
                                         const std::string& stream, bool all);

// stitch::contract("x", STITCH_F32, {2, 3})
std::string contract(const std::string& label, DType dtype, const Shape& shape,
                     const std::vector<int64_t>& strides);

std::string includes_section(const ProgramParts& parts);
std::string contracts_section(const ProgramParts& parts);
std::string members_section(const ProgramParts& parts, const KeptMemory& memory);
std::string create_section(const ProgramParts& parts, const KeptMemory& memory);
std::string enqueue_section(const ProgramParts& parts);
std::string exports_section();
std::string run_region_section(const ProgramParts& parts);

}  // namespace stitch::code
