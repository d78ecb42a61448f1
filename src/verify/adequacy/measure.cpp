#include "verify/adequacy/measure.h"

#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "verify/adequacy/told_apart.h"
#include "verify/gates/gates.h"

namespace stitch::verifier {

Result<Json> measure_adequacy(Session& session, double work) {
  Adequacy adequacy(session.task.graph, work);
  int trials = 0;
  std::vector<Question> list = questions_of(session);
  const std::vector<Question> more = more_questions(session, list);
  list.insert(list.end(), more.begin(), more.end());
  for (const Question& question : list) {
    if (adequacy.left() == 0 || adequacy.is_exhausted()) break;
    // Anything that isn't finite will do there.
    if (question.distribution == harsh::not_finite) continue;
    Result<Trial> trial = session.reference.ask(question);
    if (!trial && trial.error().code == error_code::forward) continue;  // the model itself raises there
    if (!trial) return trial.error();
    if (!trial->in_domain) continue;
    STITCH_CHECK(adequacy.take(session, *trial, {}));
    ++trials;
  }
  Json evidence = adequacy.evidence();
  evidence["trials"] = trials;
  return evidence;
}

}  // namespace stitch::verifier
