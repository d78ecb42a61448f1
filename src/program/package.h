// A program on disk: a folder that builds with CMake and nvcc alone, or, to be read only, a single .cu file.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/output_folder.h"
#include "graph/mode.h"
#include "graph/safetensors.h"
#include "program/manifest.h"

namespace stitch {

struct Package {
  fs::path folder;                     // a single file: the folder it lies in
  std::vector<fs::path> sources;       // .cu, in order of their names
  std::vector<fs::path> include_dirs;  // of `stitch/…`: its own copy, or this installation's
  Manifest manifest;
  std::vector<std::string> libraries;  // the manifest's, and those whose headers are included
};
// The sources are *.cu and regions/*.cu. The manifest is the raw string R"manifest({…})manifest" in one of
// them; a manifest.json beside them has to say the same.
Result<Package> load_package(const fs::path& folder_or_file);

inline constexpr const char* plan_file = "plan.json";

// What README.md tells of the plan besides the manifest.
struct PlanNotes {
  struct Region {
    std::string idea;      // of its technique, a line
    std::string computes;  // in the model's words: modules and ops
    std::string line;      // of the model
  };
  std::vector<Region> regions;  // as the manifest has them; empty: nothing is known
  std::string host;             // how a run is started, a sentence or two
};

struct PackageContents {
  Manifest manifest;
  PlanNotes notes;
  std::string plan;  // plan.json: the plan document it was written from; empty: none
  std::string gpu;   // that it was made for; empty: not told
  std::map<std::string, std::string> sources;  // by their paths in the folder: program.cu, regions/….cu, …
  // For model_new.py: the task in KernelBench's form and the class in it. Without a text there is none.
  std::string task, model_class = "Model";
  TaskFacts facts;  // task.json: mode, call and modules, as the import wrote them down; may be null
  std::map<std::string, std::string>
      modules;               // files that the task imports from its folder, by their paths there
  std::string architecture;  // what CMake builds for unless told; empty: the manifest's, or sm_90a
  // The tensors of role constant that no constructor makes, by their keys.
  std::vector<std::pair<std::string, TensorBytes>> constants;
  // Parameters, buffers and states by their keys, for weights.safetensors. Empty: not shipped, for the reason
  // given.
  std::vector<std::pair<std::string, TensorBytes>> weights;
  std::shared_ptr<const void> weights_owner;  // keeps their bytes
  std::string weights_left_out;
  // What README.md says of the verdict: "GPU", "NVIDIA H200". Empty: it was not judged.
  std::vector<std::pair<std::string, std::string>> results;
  // What .stitchcuda says of the program: how it was judged, how fast it is.
  std::map<std::string, std::string> record;
  fs::path library;  // compiled from these sources: goes where model_new.py looks before it compiles
};

enum class ShipWeights : uint8_t { automatic, always, never };
inline constexpr double most_weights_shipped = 256e6;  // bytes, automatically
Result<ShipWeights> parse_ship_weights(const std::string& name);
// Those that the manifest names, of the model's weights: looked at in place, never copied here.
Result<void> add_weights(PackageContents& contents, const std::shared_ptr<const Safetensors>& weights,
                         ShipWeights when);

// Adds the task and the files it imports from its own folder. model_class: empty means the one in `facts`, or
// Model.
Result<void> add_task(PackageContents& contents, const fs::path& task, const std::string& model_class,
                      const TaskFacts& facts);
// Writes the folder whole or not at all: see base/output_folder.h for what may be there already. With a
// reason it goes beside the folder.
Result<Published> write_package(const fs::path& folder, const PackageContents& contents,
                                Overwrite overwrite = Overwrite::refuse, const std::string& beside = "");

// Where the files of this room are: include/ and templates/.
Result<fs::path> find_program_files();

// The libraries of NVIDIA's that a program may link.
inline constexpr std::array<std::string_view, 3> known_libraries = {"cublas", "cublasLt", "cudnn"};

bool is_known_library(std::string_view name);

// Adds those whose headers the source includes: a single .cu file has no other way to name them.
void add_included_libraries(std::string_view source, std::vector<std::string>& libraries);

}  // namespace stitch
