#include "agents/brains.h"

#include <atomic>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "agents/llm/llm_session.h"
#include "base/contained.h"
#include "base/machine/parallel.h"
#include "code/write_program.h"
#include "plan/cost/estimate.h"
#include "profile/rules.h"
#include "verify/measured.h"

namespace stitch::agents {

namespace {

Result<void> check(std::string_view role, std::string_view brain, llm::Agent agent, LlmSession* session) {
  if (brain == "builtin") return {};
  if (!is_llm(brain))
    return user_error("brain", format("unknown {} '{}'", role, brain),
                      "builtin, or llm:PROFILE[/MODEL]: stitchcuda llm list shows the profiles");
  require(session != nullptr, "an LLM brain has a session");
  STITCH_CHECK(session->brain(brain, agent));
  return {};
}

}  // namespace

Result<void> check_brains(const BrainNames& names, LlmSession* session) {
  STITCH_CHECK(check("Planner", names.planner, llm::Agent::planner, session));
  STITCH_CHECK(check("Coder", names.coder, llm::Agent::coder, session));
  return check("Verifier", names.verifier, llm::Agent::verifier, session);
}

Result<std::unique_ptr<Planner>> make_planner(const BrainNames& names, bool measured_ledger,
                                              LlmSession* session) {
  std::unique_ptr<Planner> out = best_first_planner(measured_ledger);
  if (is_llm(names.planner)) {
    STITCH_TRY(LlmBrain brain, session->brain(names.planner, llm::Agent::planner));
    out = llm_planner(std::move(brain), std::move(out));
  }
  if (is_llm(names.coder))
    out = writing_planner(std::move(out), session->options().regions, session->options().whole,
                          session->options().rounds);
  return out;
}

Result<std::unique_ptr<Coder>> make_coder(const BrainNames& names, LlmSession* session) {
  if (!is_llm(names.coder)) return builtin_coder();
  STITCH_TRY(LlmBrain brain, session->brain(names.coder, llm::Agent::coder));
  return session->options().style == CoderStyle::agent ? llm_agent_coder(std::move(brain))
                                                       : llm_answer_coder(std::move(brain));
}

Result<std::unique_ptr<Verifier>> make_verifier(const BrainNames& names,
                                                std::unique_ptr<verifier::Verifier> opened,
                                                const verifier::VerifyOptions& options, LlmSession* session) {
  std::unique_ptr<Verifier> gates = builtin_verifier(std::move(opened), options);
  if (!is_llm(names.verifier)) return gates;
  STITCH_TRY(LlmBrain brain, session->brain(names.verifier, llm::Agent::verifier));
  return llm_verifier(std::move(brain), std::move(gates));
}

// The built-in Coder: the catalogue of techniques. It has one way to write a plan, and nothing to revise.

namespace {

class BuiltinCoder final : public Coder {
 public:
  Result<Draft> write(const Situation& now, const Proposal& step) override {
    STITCH_TRY(PackageContents contents, code::write_program(now.context, step.plan));
    if (!step.settings.empty()) code::set_values(contents, step.settings);
    return Draft{step.plan, std::move(contents), {}};
  }

  Result<std::optional<Draft>> revise(const Situation&, const Proposal&) override {
    return std::optional<Draft>();
  }
};

}  // namespace

std::unique_ptr<Coder> builtin_coder() { return std::make_unique<BuiltinCoder>(); }

// A Planner for one given plan.

namespace {

class GivenPlan final : public Planner {
 public:
  explicit GivenPlan(plan::Plan plan) : plan_(std::move(plan)) {}

  Result<std::optional<Proposal>> propose(const Situation& now) override {
    if (now.plan) return std::optional<Proposal>();
    return std::optional(Proposal{.step = "plan",
                                  .why = "as given",
                                  .plan = plan_,
                                  .predicted_seconds = plan::estimate(now.context, plan_),
                                  // There is nothing else that could ship.
                                  .judging = Judging::as_shipped,
                                  .needed = true});
  }

  Result<bool> replan(const Situation&) override { return false; }

  std::vector<plan::Step> remaining(const Situation&) override { return {}; }

 private:
  const plan::Plan plan_;
};

}  // namespace

std::unique_ptr<Planner> given_plan_planner(plan::Plan plan) {
  return std::make_unique<GivenPlan>(std::move(plan));
}

// The built-in Verifier: the gates. What it says of a verdict is the report of the gate that matters.

namespace {

class BuiltinVerifier final : public Verifier {
 public:
  BuiltinVerifier(std::unique_ptr<verifier::Verifier> opened, verifier::VerifyOptions options)
      : verifier_(std::move(opened)), shipped_(std::move(options)) {}

  Result<verifier::Verdict> judge(const fs::path& program, Judging judging,
                                  const std::function<bool()>& should_stop) override {
    verifier::VerifyOptions options = asked(program);
    options.quick = judging == Judging::quickly || (judging == Judging::as_shipped && shipped_.quick);
    if (judging == Judging::as_shipped) options.baselines = shipped_.baselines;
    options.build_only = judging == Judging::built;
    options.baselines_ahead = !options.build_only;
    options.should_stop = should_stop;
    options.remember_trials = shipped_.remember_trials;
    if (options.remember_trials) options.seed = seed_;
    options.other_sizes = judging == Judging::as_shipped;
    return verifier_->judge(options);
  }

  void build_ahead(std::span<const fs::path> programs) override {
    std::atomic<size_t> next = 0;
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < std::min(programs.size(), static_cast<size_t>(thread_count())); ++i)
      threads.emplace_back([&] {
        for (size_t at; (at = next++) < programs.size();)
          (void)contained([&]() -> Result<void> {
            verifier_->build_ahead(asked(programs[at]));
            return {};
          });
      });
  }

  Result<Feedback> explain(Outcome outcome, const verifier::Verdict& verdict, const std::string&) override {
    const verifier::GateReport* report = verdict.failure();
    if (!report) report = verdict.gate("profile");
    Feedback out{
        .outcome = outcome, .report = report ? std::optional(*report) : std::nullopt, .suggestion = {}};
    // The one bottleneck and the one suggestion of the profile's rules.
    const verifier::Profile profile = verifier::profile_of(verdict);
    if (outcome == Outcome::not_better && profile.diagnosis)
      out.suggestion = profile::text(*profile.diagnosis);
    return out;
  }

  Result<void> renew() override {
    // The old one stays if there is no new one.
    STITCH_TRY(verifier_, verifier::Verifier::open({verifier_->task().opened, std::nullopt}, asked({})));
    return {};
  }

  Result<std::unique_ptr<verifier::SettingsClock>> settings_clock(const fs::path& program) override {
    timed_ = asked(program);
    timed_.time_limit = std::chrono::seconds(20);  // a value that hangs costs no more than this
    return verifier_->settings_clock(timed_);
  }

 private:
  verifier::VerifyOptions asked(const fs::path& program) const {
    verifier::VerifyOptions out = shipped_;
    out.program = program;
    out.quick = out.remember_trials = false;
    out.baselines.clear();
    return out;
  }

  std::unique_ptr<verifier::Verifier> verifier_;
  const verifier::VerifyOptions shipped_;
  const uint64_t seed_ = uint64_t{std::random_device{}()} << 32 | std::random_device{}();
  verifier::VerifyOptions timed_;  // of the clock, which keeps a reference to it
};

}  // namespace

std::unique_ptr<Verifier> builtin_verifier(std::unique_ptr<verifier::Verifier> opened,
                                           verifier::VerifyOptions options) {
  return std::make_unique<BuiltinVerifier>(std::move(opened), std::move(options));
}

}  // namespace stitch::agents
