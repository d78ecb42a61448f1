#include "cli/commands/optimize/plan_file.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "code/catalogue.h"

namespace stitch {

Result<Json> load_plan_file(const std::string& path) {
  std::error_code ec;
  const auto bytes = fs::file_size(path, ec);
  if (!ec && bytes > plan::most_plan_bytes)
    return at(path, user_error("plan", format("file too large for a plan: {} (limit: {})",
                                              bytes_text(static_cast<double>(bytes)),
                                              bytes_text(static_cast<double>(plan::most_plan_bytes)))));
  STITCH_TRY(std::string text, read_file(path));
  auto document = parse_json(text);
  if (!document) return at(path, std::move(document).error());
  return document;
}

Result<plan::GivenPlan> read_plan_file(const std::string& path, const Graph& graph, const GpuSpec& gpu,
                                       Numerics numerics) {
  STITCH_TRY(Json document, load_plan_file(path));
  auto given = plan::read_given_plan(document, graph, gpu, code::catalogue(), numerics);
  if (!given) return within(path, std::move(given).error());
  return given;
}

}  // namespace stitch
