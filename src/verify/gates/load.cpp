// The library loads and says that it is a program for this very task.
#include <nlohmann/json.hpp>

#include "base/terminal/wording.h"
#include "verify/attempt.h"
#include "verify/gates/gates.h"

namespace stitch::verifier {

namespace {

// A program for ranges of sizes is judged at the task's own.
Result<void> take_sizes(Session& session) {
  STITCH_TRY(const Sizes sizes, sizes_shown(session.manifest, session.task.signature));
  for (const auto& [name, size] : sizes) session.settings["sizes." + name] = size;
  return session.manifest.set_sizes(sizes);
}

}  // namespace

Result<Passed> load(Session& session, Json& evidence) {
  if (session.python) {
    // Loading and making the module are one there: the correctness gate does both.
    session.manifest.name = session.options.program.stem().string();
    return skipped("a ModelNew has no manifest");
  }
  STITCH_TRY(runner::Candidate candidate,
             runner::Candidate::start(candidate_options(session), session.arena));
  STITCH_CHECK(ask_for_profiler(session, candidate));
  STITCH_TRY(runner::Loaded loaded, or_found(candidate.load(session.library), loading));
  auto manifest = parse_manifest(loaded.manifest);
  if (!manifest) return found("manifest", "its manifest can't be read: " + manifest.error().text());
  session.manifest = *std::move(manifest);
  session.libraries = loaded.libraries;
  if (auto taken = take_sizes(session); !taken) return found("other_task", taken.error().message);
  if (std::string other = difference(session.manifest.signature, session.task.signature); !other.empty())
    return found("other_task", "a program for another task: " + other);
  if (!session.manifest.regions.empty() && !loaded.has_regions)
    return found("manifest", "the manifest names regions, but stitch_run_region is not exported");
  evidence = {{"name", session.manifest.name},
              {"class", name(session.manifest.numerics)},
              {"regions", session.manifest.regions.size()},
              {"libraries", session.manifest.libraries}};
  for (const ManifestSetting& setting : session.manifest.settings)
    evidence["settings"][setting.name] = setting.value;
  session.loaded.emplace(std::move(candidate));
  return Passed{
      format("'{}', {}", session.manifest.name, counted(std::ssize(session.manifest.regions), "region"))};
}

}  // namespace stitch::verifier
