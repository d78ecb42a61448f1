// Groups sources into translation units. Headers dominate the compile time of a region, so regions share
// units: about as many as there are cores.
#pragma once

#include <string>
#include <vector>

#include "build/build.h"
#include "build/build_inputs.h"

namespace stitch::build {

struct Unit {
  std::vector<size_t> sources;  // indices into the request's sources
  std::string key;              // of its object
};

// `keys`: of the sources' own objects. A cached unit is reused if all its sources are requested: after a step
// that changed a few regions, the other objects are still valid.
Result<std::vector<Unit>> arrange_units(const BuildRequest& request, const std::vector<std::string>& keys,
                                        const ObjectCache& objects);
void remember_unit(const Unit& unit, const std::vector<std::string>& keys, const BuildCache& cache);
// The source itself, or a file in `scratch` that includes them all.
Result<fs::path> write_unit(const Unit& unit, const BuildRequest& request, const fs::path& scratch);

}  // namespace stitch::build
