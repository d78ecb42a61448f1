// program.cu and its headers as text. Lines may be too long: they are folded at the end.
#pragma once

#include <functional>

#include "code/names.h"
#include "code/program_parts.h"

namespace stitch::code {

std::string scaffold(const ProgramParts& parts);
// regions.h: what the scaffold calls.
std::string region_header(const ProgramParts& parts);
// settings.h: the numbers that stitch_set may change.
std::string settings_header(const ProgramParts& parts);
// sizes.h: the sizes of a program for ranges.
std::string sizes_header(const Instances& instances);

// The sections of program.cu, in order. Lines may be too long: they are folded when the file is complete.

// The program's memory besides scratch: weights that a run or a member needs, and packed memory.
struct KeptMemory {
  std::vector<const Resident*> weights;     // all, in the order of stitch_create's parameters
  std::set<std::string, std::less<>> kept;  // those that stay
  std::map<std::string, int64_t> offsets;   // of weights that stay and of packed memory
  int64_t bytes = 0;                        // of the arena

  bool keeps(const Resident& weight) const { return kept.contains(weight.name); }
};
KeptMemory kept_memory(const ProgramParts& parts);

// A library handle, one per branch.
struct Handle {
  enum Library : uint8_t { cublas, cudnn } library;
  std::string type, name;
};
std::vector<Handle> handles(const ProgramParts& parts);

// A handle or a setting that every pass of a program uses.
struct SharedMember {
  std::string type, name, value;  // the value: " = …" or empty
};
std::vector<SharedMember> shared_members(const ProgramParts& parts);
// float* x = VALUE;  // (2, 3)
void add_pointer(Lines& lines, const Resident& resident, const std::string& value);

std::string workspace_name(const ProgramParts& parts, size_t region);
// A region's call, with places by their C names at `locate`.
using Locate = std::function<std::string(const std::string& name)>;
std::string region_call(const ProgramParts& parts, size_t region, const Locate& locate,
                        const std::string& stream);
// Calls that a region needs before its own: all, or those not made by an earlier region.
std::vector<std::string> preparing_calls(const ProgramParts& parts, size_t region, const Locate& locate,
                                         const std::string& stream, bool all);

// stitch::contract("x", STITCH_F32, {2, 3})
std::string contract(const std::string& label, DType dtype, const Shape& shape,
                     const std::vector<int64_t>& strides);

// {stitch::contract(…), …} of the signature's tensors.
std::string tensors(const std::vector<ManifestTensor>& of);
// Statements that make a region's members, and library engines that are built together.
std::string create_members(const RegionCode& region);
std::string settle_members(const ProgramParts& parts);

std::string includes_section(const ProgramParts& parts);
std::string contracts_section(const ProgramParts& parts);
std::string members_section(const ProgramParts& parts, const KeptMemory& memory);
std::string create_section(const ProgramParts& parts, const KeptMemory& memory);
std::string enqueue_section(const ProgramParts& parts);
std::string exports_section();
std::string run_region_section(const ProgramParts& parts);

// The same for a program of many sizes: what its passes share, a pass at given sizes, and the C ABI.
std::string sized_program(const ProgramParts& parts, const KeptMemory& memory);

}  // namespace stitch::code
