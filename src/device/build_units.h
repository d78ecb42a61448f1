// Which sources are compiled in one go. Most of what a region's file costs a compiler is its headers, so
// regions share translation units: about as many as there are cores.
#pragma once

#include <string>
#include <vector>

#include "device/build.h"
#include "device/build_inputs.h"

namespace stitch::device {

struct Unit {
  std::vector<size_t> sources;  // indices of the request's
  std::string key;              // of its object
};

// `keys`: of the sources' own objects. A unit that the cache has is used again if all of it is asked for:
// after a step that changed a few regions, the others' objects are still good.
Result<std::vector<Unit>> arrange_units(const BuildRequest& request, const std::vector<std::string>& keys,
                                        const ObjectCache& objects);
// So that a later arrangement finds it.
void remember_unit(const Unit& unit, const std::vector<std::string>& keys, const BuildCache& cache);
// The one source itself, or a file in `scratch` that includes them all.
Result<fs::path> write_unit(const Unit& unit, const BuildRequest& request, const fs::path& scratch);

}  // namespace stitch::device
