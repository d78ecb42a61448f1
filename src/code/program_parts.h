// A program before it is written as text: the memory of every value, and the code of every region.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "code/family/sized_region.h"
#include "code/memory.h"
#include "code/region_code.h"
#include "program/manifest.h"

namespace stitch::code {

// The memory that holds a value during a run.
enum class Home : uint8_t {
  input,    // the caller's in[index]
  output,   // the caller's out[index]
  weight,   // a parameter that the program holds
  scratch,  // between regions, in the arena
};

struct Resident {
  Home home;
  int index = 0;     // of in, out, or the signature's parameters
  std::string name;  // its C name
  Place place;
  int64_t bytes = 0;
};

// Memory of a pass whose size depends on the call's sizes: laid out when a size is first met.
struct Need {
  std::string pointer, type;
  std::string bytes;        // a number, or C of the sizes
  int first = 0, last = 0;  // regions
};

// The program-wide setting for programmatic dependent launches, and its variable.
constexpr std::string_view programmatic_launches = "programmatic_launches";

struct ProgramParts {
  const plan::Context& context;
  const Graph& graph;
  const plan::Plan& plan;
  stitch::Signature signature;  // not the one of a region's function
  std::map<ValueId, Resident> residents;
  std::vector<RegionCode> regions;  // in the plan's order
  std::vector<std::string> region_names;
  std::vector<size_t> source_of;  // the region whose source and functions each region uses, usually its own
  std::vector<std::set<DType>> dtypes;  // used in a region's source
  std::vector<bool> constant;           // regions that run once, when the program is created
  std::vector<size_t> creation;         // all regions, in order of creation
  std::vector<ValueId> scratch;         // in the order of layout.offsets; workspaces follow
  // In a program of many sizes: scratch, workspaces and prepared memory of a pass. The layout then holds what
  // regions that run once make.
  std::vector<Need> needs;
  Layout layout;
  std::vector<int64_t> workspace_at;           // per region; -1: none
  std::map<std::string, int64_t> prepared_at;  // by the name of the memory
  // Outputs that no region writes in place: out[index] is copied from a value at the end.
  std::vector<std::pair<ValueId, int>> copies;

  const std::string& source_name(size_t region) const { return region_names[source_of[region]]; }
  bool takes_sizes() const { return context.takes_sizes(); }
  bool uses(std::string_view library) const;
  bool has_settings() const;
  // May kernels be launched before their predecessors end? Needs several kernels in a row that all begin with
  // a wait, which not every user-written source has.
  bool offers_programmatic_launches() const;
  // False for weights, and values computed from weights alone, that are only packed or read when the program
  // is created: they need no memory afterwards.
  bool is_read_by_runs(const std::string& name) const;
  // Does the program keep a copy of this weight? Weights with custom strides have no other reader.
  bool keeps(const Resident& weight) const;
  // What a region reads when it runs alone, including weights that the program has no copy of.
  std::vector<ValueId> reads_alone(size_t region) const;
  int branches() const;  // maximum over sections; 1: all regions run in sequence
  // So few kernels that a CUDA graph saves little, and no memory shared between runs. Not measured yet.
  bool starts_kernels_itself() const;
};

// A library handle has one workspace, so every branch has its own handles: cublas, cublas_2, …
std::string handle_of_branch(const std::string& handle, int branch);

// The requests to each region's technique, for other writers of a region; context and plan must outlive them.
Result<std::vector<RegionRequest>> requests_of(const plan::Context& context, const plan::Plan& plan);

// What regions of a program for ranges of sizes are written with.
struct SizedRegions {
  std::map<std::string, Writing> writing;      // by name
  std::map<std::string, RegionCode> variants;  // by their own names: the same at all instances
};
Result<ProgramParts> gather_parts(const plan::Context& context, const plan::Plan& plan,
                                  SizedRegions* sized = nullptr);

}  // namespace stitch::code
