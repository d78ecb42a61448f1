// Brains for tests that say what they are told to: no Python, no compiler.
#pragma once

#include <deque>
#include <functional>
#include <nlohmann/json.hpp>

#include "agents/optimize.h"
#include "base/error_codes.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/write_program.h"
#include "graph/text.h"
#include "plan/steps.h"

namespace stitch::agents::scripted {

using Answer = std::function<Result<verifier::Verdict>()>;

inline verifier::Verdict verdict(verifier::GateReport report) {
  verifier::Verdict out;
  out.gates.push_back(std::move(report));
  return out;
}
inline Answer passes(double seconds) {
  return [=] {
    verifier::Verdict out = verdict({.gate = "correctness", .outcome = verifier::Outcome::passed});
    out.timing = std::make_shared<const Json>(Json{{"program", {{"seconds", seconds}}}});
    return out;
  };
}
inline Answer fails(verifier::GateId gate, std::string name, std::string code) {
  return [=] {
    return verdict({.gate = name,
                    .id = gate,
                    .outcome = verifier::Outcome::failed,
                    .fault = verifier::fault_of(gate, code),
                    .code = code,
                    .summary = "as the script says",
                    .evidence = std::make_shared<const Json>(Json{{"seen", code}})});
  };
}
inline Answer is_wrong() { return fails(verifier::GateId::correctness, "correctness", "wrong"); }
inline Answer errs(std::string code) {
  return [=]() -> Result<verifier::Verdict> { return work_error(code, "as the script says"); };
}

// What tests rarely ask of a Verifier.
class JudgeAlone : public Verifier {
 public:
  Result<Feedback> explain(Outcome outcome, const verifier::Verdict& verdict, const std::string&) override {
    Feedback out{.outcome = outcome, .report = {}, .suggestion = "look again"};
    if (verdict.failure()) out.report = *verdict.failure();
    return out;
  }
  Result<void> renew() override {
    ++renewed;
    return {};
  }
  Result<std::unique_ptr<verifier::SettingsClock>> settings_clock(const fs::path&) override {
    return work_error("clock", "the script has no clock");
  }
  int renewed = 0;
};

class ScriptedVerifier final : public JudgeAlone {
 public:
  explicit ScriptedVerifier(std::deque<Answer> script) : answers(std::move(script)) {}
  Result<verifier::Verdict> judge(const fs::path& program, Judging judging,
                                  const std::function<bool()>& should_stop) override {
    if (should_stop && should_stop()) return work_error(error_code::stopped, "stopped on request");
    asked.push_back(judging);
    programs.push_back(program);
    require(!answers.empty(), "the script has no more verdicts");
    Answer answer = std::move(answers.front());
    answers.pop_front();
    return answer();
  }

  std::deque<Answer> answers;
  std::vector<Judging> asked;
  std::vector<fs::path> programs;
};

// The plain plan under other names.
class ScriptedPlanner final : public Planner {
 public:
  explicit ScriptedPlanner(std::vector<std::string> names) : steps(std::move(names)) {}
  Result<std::optional<Proposal>> propose(const Situation& now) override {
    if (next == steps.size()) return std::optional<Proposal>();
    STITCH_TRY(plan::Plan plan, plan::first_plan(now.context, code::catalogue()));
    const bool first = next == 0;
    return std::optional(Proposal{.step = steps[next++],
                                  .why = "the script",
                                  .plan = std::move(plan),
                                  .predicted_seconds = 1.0 / static_cast<double>(next),
                                  .needed = first});
  }
  Result<bool> replan(const Situation& now) override {
    seen_by_replan = now.ledger.entries.size();
    steps.insert(steps.end(), new_steps.begin(), new_steps.end());
    return !std::exchange(new_steps, {}).empty();
  }
  std::vector<plan::Step> remaining(const Situation&) override {
    std::vector<plan::Step> out;
    for (; next < steps.size(); ++next) out.push_back({steps[next], "the script", {}, 0.5});
    return out;
  }

  std::vector<std::string> steps, new_steps;
  size_t next = 0, seen_by_replan = 0;
};

// The built-in one, its programs signed with the step and the try.
class ScriptedCoder final : public Coder {
 public:
  Result<Draft> write(const Situation& now, const Proposal& step) override {
    if (step.step == throws_at) throw Bug("the script throws");
    return signed_by(now, step, 1);
  }
  Result<std::optional<Draft>> revise(const Situation& now, const Proposal& step) override {
    feedback.push_back(now.siblings.back().feedback);
    bases.push_back(now.base);
    if (std::ssize(feedback) > revisions) return std::optional<Draft>();
    STITCH_TRY(Draft draft, signed_by(now, step, static_cast<int>(feedback.size()) + 1));
    return std::optional(std::move(draft));
  }

  std::string throws_at;
  int revisions = 0;
  std::vector<Feedback> feedback;
  std::vector<int> bases;

 private:
  static Result<Draft> signed_by(const Situation& now, const Proposal& step, int attempt) {
    STITCH_TRY(PackageContents contents, code::write_program(now.context, step.plan));
    contents.sources["program.cu"] += format("// {} {}\n", step.step, attempt);
    return Draft{step.plan, std::move(contents), {}};
  }
};

inline Graph tiny_graph() {
  return must(parse_graph("graph \"tiny\"\ninput %x : f32[4]\n%y = relu(%x) : f32[4]\noutput %y\nend\n"));
}
// The profile gate's report where each of these regions took so many nanoseconds.
inline verifier::GateReport region_times(const std::vector<std::pair<std::string, double>>& nanoseconds) {
  Json times = Json::array();
  for (const auto& [name, spent] : nanoseconds) times.push_back({{"name", name}, {"nanoseconds", spent}});
  return {.gate = "profile",
          .id = verifier::GateId::profile,
          .outcome = verifier::Outcome::passed,
          .evidence = std::make_shared<const Json>(Json{{"region_times", times}})};
}

// "plain better, a wrong"
inline std::string in_words(const Ledger& ledger) {
  std::vector<std::string> each;
  for (const LedgerEntry& entry : ledger.entries)
    each.push_back(format("{} {}", entry.step, name(entry.outcome)));
  return join(each, ", ");
}

}  // namespace stitch::agents::scripted
