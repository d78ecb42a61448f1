// The library loads and says that it is a program for this very task.
#include <nlohmann/json.hpp>

#include "base/wording.h"
#include "verify/attempt.h"
#include "verify/gates/gates.h"

namespace stitch::verifier {

namespace {

bool same_tensor(const ManifestTensor& a, const ManifestTensor& b) {
  return a.role == b.role && a.type.dtype == b.type.dtype && a.type.shape == b.type.shape && a.data == b.data;
}

// Names may differ (they are the author's); what is passed, in which order, may not.
Result<void> agree(std::string_view what, const std::vector<ManifestTensor>& theirs,
                   const std::vector<ManifestTensor>& task) {
  if (theirs.size() != task.size())
    return found("other_task",
                 format("the manifest has {} {}, the task has {}", theirs.size(), what, task.size()));
  for (size_t i = 0; i < task.size(); ++i)
    if (!same_tensor(theirs[i], task[i]))
      return found("other_task",
                   format("{} {} is the {} '{}' {} in the manifest and the {} '{}' {} in the task", what, i,
                          theirs[i].role, theirs[i].name, text(theirs[i].type), task[i].role, task[i].name,
                          text(task[i].type)));
  return {};
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
  STITCH_TRY(runner::Loaded loaded, or_found(candidate.load(session.library), "it was loaded"));
  auto manifest = parse_manifest(loaded.manifest);
  if (!manifest) return found("manifest", "its manifest can't be read: " + manifest.error().text());
  session.manifest = *std::move(manifest);
  session.libraries = loaded.libraries;
  const Signature& theirs = session.manifest.signature;
  STITCH_CHECK(agree("parameter", theirs.parameters, session.task.signature.parameters));
  STITCH_CHECK(agree("input", theirs.inputs, session.task.signature.inputs));
  STITCH_CHECK(agree("output", theirs.outputs, session.task.signature.outputs));
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
