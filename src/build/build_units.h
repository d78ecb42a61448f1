// Groups sources into translation units. Headers dominate the compile time of a region, so regions share
// units: about as many as there are cores.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/file.h"
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

// Symbols that an object file imports and exports: macros can hide a call from a lexer, not from the linker.
struct ObjectSymbols {
  std::set<std::string> wanted;   // undefined: from libraries or other objects
  std::set<std::string> offered;  // global and defined
};
// Of a 64-bit ELF object; otherwise empty.
ObjectSymbols symbols_of(const fs::path& object);

}  // namespace stitch::build
