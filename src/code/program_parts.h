// A program before it is text: where every value lies, and what every region needs.
#pragma once

#include <map>
#include <set>
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

// The setting of a whole program that turns them on, and its variable.
constexpr std::string_view programmatic_launches = "programmatic_launches";

struct ProgramParts {
  const plan::Context& context;
  const Graph& graph;
  const plan::Plan& plan;
  stitch::Signature signature;  // not the one of a region's function
  std::map<ValueId, Resident> residents;
  std::vector<RegionCode> regions;  // in the plan's order
  std::vector<std::string> region_names;
  std::map<size_t, const plan::Technique*> taken_over;  // regions that the plan's technique couldn't write
  std::vector<size_t> source_of;        // whose source and functions each region uses: mostly its own
  std::vector<std::set<DType>> dtypes;  // that a region's source may name
  std::vector<bool> constant;           // regions that run once, when the program is created
  std::vector<size_t> creation;         // all regions, in the order in which a program creates them
  std::vector<ValueId> scratch;         // in the order of layout.offsets; workspaces follow
  Layout layout;
  std::vector<int64_t> workspace_at;           // a region each; -1: none
  std::map<std::string, int64_t> prepared_at;  // by the name of the memory
  // Outputs that no region writes where the caller wants them: out[index] is copied from a value at the end.
  std::vector<std::pair<ValueId, int>> copies;

  const plan::Technique& technique(size_t region) const {
    auto found = taken_over.find(region);
    return found == taken_over.end() ? *plan.regions[region].technique : *found->second;
  }
  const std::string& source_name(size_t region) const { return region_names[source_of[region]]; }
  bool uses(std::string_view library) const;
  bool has_settings() const;
  // May its kernels be launched before those in front of them have ended? Several are to follow each other,
  // and all of them begin with a wait, which nobody promises for somebody else's.
  bool offers_programmatic_launches() const;
  // Else a weight, or what is made of weights alone, is packed when the program is created, or read by
  // regions that run only then, and needs no memory from then on.
  bool is_read_by_runs(const std::string& name) const;
  // Does the program have a copy of this weight? Those of strides of their own are read by nothing else.
  bool keeps(const Resident& weight) const;
  // What a region reads when it runs alone: weights, too, that the program has no copy of.
  std::vector<ValueId> reads_alone(size_t region) const;
  int branches() const;  // of the section that has the most; 1: all regions run one after the other
  // Kernels so few that a graph has little to save, and no memory that two runs share. Not timed yet.
  bool starts_kernels_itself() const;
};

// A library's handle has one workspace, so every branch has handles of its own: cublas, cublas_2, …
std::string handle_of_branch(const std::string& handle, int branch);

// What each region's technique is asked, for whoever writes a region in its place; context and plan outlive
// it.
Result<std::vector<RegionRequest>> requests_of(const plan::Context& context, const plan::Plan& plan);

Result<ProgramParts> gather_parts(const plan::Context& context, const plan::Plan& plan);

}  // namespace stitch::code
