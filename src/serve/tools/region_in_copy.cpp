#include "serve/tools/region_in_copy.h"

#include <algorithm>

#include "base/terminal/terminal.h"
#include "base/text.h"

namespace stitch::serve {

namespace {

constexpr uintmax_t most_program_bytes = 64 << 20;

// Files and folders, no links: what a link points to may lie anywhere.
Result<void> copy_program(const fs::path& from, const fs::path& to) {
  std::error_code ec;
  uintmax_t bytes = 0;
  fs::create_directories(to, ec);
  fs::recursive_directory_iterator walk(from, ec);
  if (ec) return at(from.string(), work_error("read", ec.message()));
  for (const auto& entry : walk) {
    const fs::path target = to / entry.path().lexically_relative(from);
    if (entry.is_symlink(ec)) continue;
    if (entry.is_directory(ec)) {
      if (entry.path().filename() == "build") walk.disable_recursion_pending();
      fs::create_directories(target, ec);
    } else if (entry.is_regular_file(ec) && entry.path().filename() != ".stitchcuda") {
      bytes += entry.file_size(ec);
      if (bytes > most_program_bytes)
        return at(from.string(), user_error("program", "too large for a generated program"));
      fs::copy_file(entry.path(), target, fs::copy_options::overwrite_existing, ec);
    }
    if (ec) return at(entry.path().string(), work_error("copy", ec.message()));
  }
  return {};
}

Result<const ManifestRegion*> find_region(const Manifest& manifest, const std::string& name) {
  std::vector<std::string> names;
  for (const ManifestRegion& region : manifest.regions) {
    if (region.name == name) return &region;
    names.push_back(region.name);
  }
  auto near = nearest(name, names);
  return user_error("region", format("the program has no region '{}'", printable(shorten(name, 60))),
                    near ? format("did you mean '{}'?", *near) : "one of: " + join(names, ", "));
}

}  // namespace

Result<ReplacedRegion> put_into_copy(const Package& package, const std::string& name,
                                     const std::string& source, const fs::path& copy) {
  STITCH_TRY(const ManifestRegion* region, find_region(package.manifest, name));
  ReplacedRegion place{copy, region->file, {}};
  if (!region->file.starts_with("regions/") || region->file.find("..") != std::string::npos)
    return user_error(
        "region", format("the region '{}' has no file of its own: it is in {}", region->name, region->file));
  for (const ManifestRegion& other : package.manifest.regions)
    if (other.file == region->file && other.name != region->name) place.also.push_back(other.name);
  STITCH_CHECK(copy_program(package.folder, copy));
  STITCH_CHECK(write_file(copy / region->file, source + "\n"));
  return place;
}

}  // namespace stitch::serve
