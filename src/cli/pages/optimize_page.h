// One optimisation as a page: where the speed came from, what the device did before and after, and how we
// know.
#pragma once

#include <map>
#include <string>

#include "base/json.h"

namespace stitch {

struct Package;

// The program's sources, for the page to show beside the model's lines.
struct ReportSources {
  std::map<std::string, std::string> text;  // by file: regions/conv1.cu
  std::map<std::string, std::string> file;  // by region
};
ReportSources package_sources(const Package& package);

// `run`: what optimize --json prints.
std::string optimize_page(const Json& run, const ReportSources& sources = {});

// Parts of it, for other pages. `ledger`: to_json(Ledger).
std::string ledger_part(const Json& ledger);
// Kernels of one call on the GPU: "verdict" of `run`. Empty on the emulated GPU.
std::string timeline_part(const Json& run);
// A gate's evidence; null: there is none.
const Json* evidence_of(const Json& verdict, std::string_view gate);

}  // namespace stitch
