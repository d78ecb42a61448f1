#include "import/exporter.h"

#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/json.h"
#include "base/text.h"
#include "import/import_instances.h"
#include "import/python.h"

namespace stitch {

Result<Exporter> Exporter::start(const std::string& python) {
  STITCH_TRY(fs::path program, find_python(python));
  STITCH_TRY(Command command, python_command(program, "stitchcuda_torch.export", {"--serve"}));
  STITCH_TRY(Child child, Child::start(command));
  return Exporter(std::move(child), std::move(program));
}

// The exporter never ends by itself: say what it left on stderr.
Error Exporter::gone() {
  Finished finished = child_.wait();
  std::vector<std::string> lines = split(trim(finished.error_tail), '\n');
  return work_error(error_code::exporter,
                    format("{} stopped with exit code {} while exporting: {}", python_.string(),
                           finished.exit_code, lines.back()),
                    "check it with: stitchcuda doctor");
}

namespace {

Error read_error(const Json& json) {
  Error error = user_error(word(json, "kind"), word(json, "message"), word(json, "fix"));
  error.where = word(json, "where");
  for (const char* work : {"crash", "memory", "disk"})
    if (error.code == work) error.blame = Error::Blame::work;
  return error;
}

}  // namespace

Result<void> Exporter::run(const ExportRequest& request,
                           const std::function<void(std::string_view)>& on_progress) {
  Json line = {{"task", request.task.string()},
               {"out", request.out.string()},
               {"seed", request.seed},
               {"no_weights", !request.weights}};
  if (request.mode != Mode::as_written) line["mode"] = name(request.mode);
  if (!request.class_name.empty()) line["class"] = request.class_name;
  for (const ExportAt& each : request.at)
    line["at"].push_back({{"sizes", each.sizes}, {"out", each.out.string()}});
  if (!request.at.empty()) line["places"] = places_json(request.dimensions);
  if (auto sent = child_.send(line.dump(-1, ' ', true, Json::error_handler_t::replace)); !sent) return gone();
  for (;;) {
    auto answer = child_.read_line();
    if (!answer) return gone();
    auto json = parse_json(*answer);
    // What a library prints past our redirection is no answer.
    if (!json || !json->is_object()) continue;
    if (json->contains("done")) return {};
    if (json->contains("error") && (*json)["error"].is_object()) return read_error((*json)["error"]);
    if (on_progress && json->contains("progress")) on_progress(word(*json, "progress"));
  }
}

}  // namespace stitch
