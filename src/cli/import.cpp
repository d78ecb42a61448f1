#include "cli/import.h"

namespace stitch {

// SEAM: the importer.
Result<int> run_import(const ImportOptions& options, Console&) {
  return at(options.paths.front(), work_error("no_import", "importing Python models is not connected yet"));
}

}  // namespace stitch
