// A program on disk: a folder that builds with CMake and nvcc alone, or, to be read only, a single .cu file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "graph/safetensors.h"
#include "program/manifest.h"

namespace stitch {

struct Package {
  fs::path folder;                     // a single file: the folder it lies in
  std::vector<fs::path> sources;       // .cu, in order of their names
  std::vector<fs::path> include_dirs;  // of `stitch/…`: its own copy, or this installation's
  Manifest manifest;
  std::vector<std::string> libraries;  // the manifest's
};
// The sources are *.cu and regions/*.cu. The manifest is the raw string R"manifest({…})manifest" in one of
// them; a manifest.json beside them has to say the same.
Result<Package> load_package(const fs::path& folder_or_file);

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
  std::string gpu;                             // that it was made for; empty: not told
  std::map<std::string, std::string> sources;  // by their paths in the folder: program.cu, regions/….cu, …
  // For model_new.py: the task in KernelBench's form and the class in it. Without a text there is none.
  std::string task, model_class = "Model";
  // The tensors of role constant that no constructor makes, by their keys.
  std::vector<std::pair<std::string, TensorBytes>> constants;
};
// Writes the folder whole or not at all. A package that is there is replaced, anything else is not.
Result<void> write_package(const fs::path& folder, const PackageContents& contents);

// Where the files of this room are: include/ and templates/.
Result<fs::path> find_program_files();

}  // namespace stitch
