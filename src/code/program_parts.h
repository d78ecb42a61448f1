// A program before it is text: where every value lies, and what every region needs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "code/memory.h"
#include "code/region_code.h"
#include "program/manifest.h"

namespace stitch::code {

// Where a value lies while the program runs.
enum class Home : uint8_t {
  input,    // the caller's in[index]
  output,   // the caller's out[index]
  weight,   // a parameter the program keeps
  scratch,  // between regions, in the arena
};

struct Resident {
  Home home;
  int index = 0;     // of in, out, or the signature's parameters
  std::string name;  // its C name
  Place place;
  int64_t bytes = 0;
};

struct ProgramParts {
  const plan::Context& context;
  const Graph& graph;
  const plan::Plan& plan;
  Signature signature;
  std::map<ValueId, Resident> residents;
  std::vector<RegionCode> regions;  // in the plan's order
  std::vector<std::string> region_names;
  std::vector<bool> constant;    // regions that run once, when the program is created
  std::vector<ValueId> scratch;  // in the order of layout.offsets; workspaces follow
  Layout layout;
  std::vector<int64_t> workspace_at;  // a region each; -1: none
  // Outputs that no region writes where the caller wants them: out[index] is copied from a value at the end.
  std::vector<std::pair<ValueId, int>> copies;

  bool uses(std::string_view library) const;
  bool has_settings() const;
  int branches() const;  // of the section that has the most; 1: all regions run one after the other
  // Kernels so few that a graph has little to save, and no memory that two runs share. Not timed yet.
  bool starts_kernels_itself() const;
};

Result<ProgramParts> gather_parts(const plan::Context& context, const plan::Plan& plan);

// The text of program.cu, and of the header that declares the regions.
std::string scaffold(const ProgramParts& parts);
std::string region_header(const ProgramParts& parts);
std::string settings_header(const ProgramParts& parts);

}  // namespace stitch::code
