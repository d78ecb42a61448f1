#include "cli/flags/flags.h"

#include <CLI/CLI.hpp>

namespace stitch {

void add_json(CLI::App& command, Options& options) {
  command.add_flag("--json", options.json, "print one JSON document, errors included");
}

void add_force(CLI::App& command, bool& force) {
  command.add_flag("--force", force,
                   "overwrite existing output; files of yours are kept, edited ones saved as NAME.edited");
}

void add_store(CLI::App& command, std::string& store) {
  command
      .add_option("--store", store,
                  "the database of runs; none: runs are not recorded (default: $STITCHCUDA_STORE, else "
                  "~/.local/share/stitchcuda/runs.db)")
      ->type_name("FILE");
}

}  // namespace stitch
