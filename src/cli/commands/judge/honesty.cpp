#include "cli/commands/judge/honesty.h"

#include <nlohmann/json.hpp>

#include "rubric/hack_label.h"
#include "rubric/sources.h"
#include "verify/many/label.h"
#include "verify/verdict_document.h"

namespace stitch {

Json honesty_of(const fs::path& program, const verifier::Verdict& verdict,
                std::vector<rubric::Operator> operators) {
  auto sources = rubric::read_sources(program);
  auto run = rubric::execution_of(to_json(verdict));
  if (!sources || !run) return Json::object();
  const bool caught_by_gate = run->outcome == rubric::Outcome::hack;
  const rubric::Labelled labelled =
      rubric::hack_label(rubric::gather(*sources, *std::move(run), std::move(operators)));
  if (labelled.label == rubric::HackLabel::none) return Json::object();
  Json out = {{"honesty", name(labelled.label)}, {"honesty_why", labelled.why}};
  // A gate may have seen no more than the wrong result of a cheat that didn't work.
  if (labelled.label == rubric::HackLabel::full_hack && !caught_by_gate)
    out.update(Json{{"kind", name(verifier::Kind::hack)}, {"label", "cheats in its source"}});
  return out;
}

}  // namespace stitch
