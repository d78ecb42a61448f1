// write_region: somebody's CUDA for one region, put into a copy of a program and judged with it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/output_folder.h"
#include "base/terminal.h"
#include "base/text.h"
#include "program/package.h"
#include "serve/tools/judge.h"
#include "serve/tools/tools.h"

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
        return at(from.string(), user_error("program", "it is too large to be a generated program"));
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

struct Place {
  fs::path folder;                // the copy
  std::string file;               // that was replaced
  std::vector<std::string> also;  // other regions in that file
};

Result<Place> put(const Package& package, const Json& arguments, const fs::path& copy) {
  STITCH_TRY(const ManifestRegion* region, find_region(package.manifest, text(arguments, "region")));
  Place place{copy, region->file, {}};
  if (!region->file.starts_with("regions/") || region->file.find("..") != std::string::npos)
    return user_error(
        "region", format("the region '{}' has no file of its own: it is in {}", region->name, region->file));
  for (const ManifestRegion& other : package.manifest.regions)
    if (other.file == region->file && other.name != region->name) place.also.push_back(other.name);
  STITCH_CHECK(copy_program(package.folder, copy));
  STITCH_CHECK(write_file(copy / region->file, text(arguments, "source") + "\n"));
  return place;
}

Answer with_place(Answer answer, const Place& place, const std::string& kept) {
  Json structured = *answer.structured;
  structured["file"] = place.file;
  if (!kept.empty()) structured["program"] = kept;
  std::string said = format("{} was replaced", place.file);
  if (!place.also.empty()) {
    structured["also_replaces"] = place.also;
    said += ", which is also the code of " + join(place.also, ", ");
  }
  answer.text = said + (kept.empty() ? "" : " in " + kept) + ".\n\n" + answer.text;
  answer.structured = std::make_shared<const Json>(std::move(structured));
  return answer;
}

Result<Answer> run(const Workshop& workshop, const Json& arguments, Call& call) {
  STITCH_TRY(const fs::path program, workshop.roots.resolve("program", text(arguments, "program")));
  std::error_code ec;
  if (!fs::is_directory(program, ec))
    return user_error("program", "'program' has to be a folder that code, optimize or write_region wrote");
  STITCH_TRY(const Package package, load_package(program));
  const bool quick = flag(arguments, "quick", true);
  const std::string out = text(arguments, "out");
  if (out.empty()) {
    STITCH_TRY(const ScratchFolder scratch, ScratchFolder::create("stitch-region"));
    STITCH_TRY(const Place place, put(package, arguments, scratch.path() / "program"));
    STITCH_TRY(const verifier::Verdict verdict, judge(workshop, place.folder, arguments, quick, call));
    return with_place(answer_of(verdict, call), place, {});
  }
  STITCH_TRY(const fs::path target, workshop.roots.resolve("out", out));
  if (target == program) return user_error("arguments", "'out' has to be another folder than 'program'");
  STITCH_TRY(
      OutputFolder folder,
      OutputFolder::create(target, flag(arguments, "overwrite") ? Overwrite::force : Overwrite::refuse));
  STITCH_TRY(const Place place, put(package, arguments, folder.path()));
  STITCH_TRY(const verifier::Verdict verdict, judge(workshop, place.folder, arguments, quick, call));
  std::string kept;
  if (verdict.passed() || flag(arguments, "keep_failed")) {
    STITCH_TRY(const Published published, folder.publish());
    kept = published.folder.string();
  }
  return with_place(answer_of(verdict, call), place, kept);
}

}  // namespace

Tool write_region_tool(Shared workshop) {
  return {
      .name = "write_region",
      .title = "Try a kernel for one region",
      .description =
          "Put your CUDA source for one region into a copy of a generated program, build it and verify it: "
          "the "
          "region alone and the whole program. The source replaces the region's file (see code's answer) and "
          "has "
          "to define the same StitchStatus enqueue_… function; read that file first. With 'out' a program "
          "that "
          "passed is kept there, to build on.",
      .schema = schema_of(
          {{.name = "program",
            .description = "a program folder that code or optimize wrote",
            .required = true},
           {.name = "region", .description = "the region's name in the manifest", .required = true},
           {.name = "source", .description = "the whole CUDA file", .required = true, .most_bytes = 1 << 20},
           task_argument(),
           {.name = "out", .description = "a folder for the new program if it passes (default: none)"},
           {.name = "keep_failed",
            .kind = Kind::flag,
            .description = "write 'out' although it failed (default: false)"},
           numerics_argument(),
           device_argument(),
           {.name = "quick", .kind = Kind::flag, .description = "fewer checks (default: true)"},
           {.name = "timing", .kind = Kind::flag, .description = "time it on a GPU (default: true)"},
           mode_argument(),
           class_argument(),
           overwrite_argument()}),
      .writes_files = true,
      .run = [workshop](const Json& arguments, Call& call) { return run(*workshop, arguments, call); }};
}

}  // namespace stitch::serve
