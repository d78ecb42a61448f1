#include "cli/plan_file.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "code/catalogue.h"

namespace stitch {

Result<Json> load_plan_file(const std::string& path) {
  std::error_code ec;
  const auto bytes = fs::file_size(path, ec);
  if (!ec && bytes > plan::most_plan_bytes)
    return at(path, user_error("plan", format("{} are no plan: at most {} are read",
                                              bytes_text(static_cast<double>(bytes)),
                                              bytes_text(static_cast<double>(plan::most_plan_bytes)))));
  STITCH_TRY(std::string text, read_file(path));
  auto document = parse_json(text);
  if (!document) return at(path, std::move(document).error());
  return document;
}

Result<GivenPlan> given_plan(const Json& document, const Graph& graph, const GpuSpec& gpu) {
  STITCH_TRY(plan::Premises premises, plan::read_premises(document, graph, gpu));
  plan::Context context(graph, gpu, premises.numerics, std::move(premises.torch));
  STITCH_TRY(plan::Plan plan, plan::read_plan(document, context, code::catalogue()));
  return GivenPlan{std::move(context), std::move(plan)};
}

Result<GivenPlan> read_plan_file(const std::string& path, const Graph& graph, const GpuSpec& gpu,
                                 const std::string& numerics) {
  STITCH_TRY(Json document, load_plan_file(path));
  auto given = given_plan(document, graph, gpu);
  if (!given) {
    Error error = std::move(given).error();
    error.where = error.where.empty() ? path : path + ": " + error.where;
    return error;
  }
  if (numerics != "default" && numerics != name(given->context.numerics))
    return at(
        path,
        user_error("plan", format("the plan is of class {}, not {}", name(given->context.numerics), numerics),
                   "leave --numerics out: the plan says it"));
  return given;
}

}  // namespace stitch
