#include "cli/honesty.h"

#include <nlohmann/json.hpp>

#include "rubric/hack_label.h"
#include "rubric/sources.h"
#include "verify/verdict_document.h"

namespace stitch {

Json honesty_of(const fs::path& program, const verifier::Verdict& verdict,
                std::vector<rubric::Operator> operators) {
  auto sources = rubric::read_sources(program);
  auto run = rubric::execution_of(to_json(verdict));
  if (!sources || !run) return Json::object();
  const rubric::Labelled labelled =
      rubric::hack_label(rubric::gather(*sources, *std::move(run), std::move(operators)));
  if (labelled.label == rubric::HackLabel::none) return Json::object();
  return {{"honesty", name(labelled.label)}, {"honesty_why", labelled.why}};
}

}  // namespace stitch
