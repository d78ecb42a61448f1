// The Verifier with a language model's reading of what the gates found. It never judges: the gates do.
#include <nlohmann/json.hpp>

#include "agents/llm/region_brief.h"
#include "code/written.h"
#include "llm/answers.h"

namespace stitch::agents {

namespace {

const Json& diagnosis_schema() {
  static const Json schema = {
      {"type", "object"},
      {"properties",
       {{"bottleneck",
         {{"enum",
           {"launch", "host", "memory", "compute", "latency", "occupancy", "imbalance", "build", "wrong"}}}},
        {"evidence", {{"type", "string"}}},
        {"suggestion", {{"type", "string"}}},
        {"expected_gain_seconds", {{"type", "number"}}}}},
      {"required", {"bottleneck", "evidence", "suggestion"}},
      {"additionalProperties", false}};
  return schema;
}

class LlmVerifier final : public Verifier {
 public:
  LlmVerifier(LlmBrain brain, std::unique_ptr<Verifier> gates)
      : brain_(std::move(brain)), gates_(std::move(gates)) {}

  Result<verifier::Verdict> judge(const fs::path& program, Judging judging,
                                  const std::function<bool()>& should_stop) override {
    should_stop_ = should_stop;
    program_ = program;
    return gates_->judge(program, judging, should_stop);
  }

  Result<Feedback> explain(Outcome outcome, const verifier::Verdict& verdict,
                           const std::string& facts) override {
    STITCH_TRY(Feedback feedback, gates_->explain(outcome, verdict, facts));
    auto read = ask(outcome, verdict, feedback, facts);
    if (!read) return feedback;  // the rules' own words
    feedback.suggestion = *std::move(read);
    return feedback;
  }

  void build_ahead(std::span<const fs::path> programs) override { gates_->build_ahead(programs); }
  Result<void> renew() override { return gates_->renew(); }
  Result<std::unique_ptr<verifier::SettingsClock>> settings_clock(const fs::path& program) override {
    return gates_->settings_clock(program);
  }

 private:
  Result<std::string> ask(Outcome outcome, const verifier::Verdict& verdict, const Feedback& feedback,
                          const std::string& facts) {
    auto evidence = [&](const char* gate) -> std::string {
      const verifier::GateReport* report = verdict.gate(gate);
      if (!report) return "none\n";
      std::string out = llm::quoted(gate, report->summary);
      if (report->evidence)
        out += llm::quoted_json("evidence", *report->evidence, share_of_prompt(brain_, 0.1));
      return out;
    };
    STITCH_TRY(std::string prompt, brain_.prompts("verifier", {{"outcome", std::string(name(outcome))},
                                                               {"build_log", evidence("build")},
                                                               {"mismatch", feedback_text(feedback)},
                                                               {"profile", evidence("profile")},
                                                               {"facts", facts.empty() ? "none\n" : facts},
                                                               {"source", written_sources()},
                                                               {"schema", diagnosis_schema().dump(1)}}));
    llm::AskOptions options;
    options.should_stop = should_stop_;
    STITCH_TRY(llm::JsonAnswer answer,
               llm::ask_json(*brain_.chat, {.messages = {llm::user_message(std::move(prompt))}},
                             diagnosis_schema(), options));
    return format("{}: {} {}", answer.value->at("bottleneck").get<std::string>(),
                  answer.value->at("evidence").get<std::string>(),
                  answer.value->at("suggestion").get<std::string>());
  }

  // Only sources of regions that an LLM or a user wrote, not those of built-in techniques.
  std::string written_sources() const {
    auto package = load_package(program_);
    std::string out;
    if (package)
      for (const ManifestRegion& region : package->manifest.regions)
        if (region.technique == code::written().name())
          if (auto text = read_file(program_ / region.file))
            out += llm::quoted(region.name, *text, "cuda", 20000);
    return out.empty() ? "none\n" : out;
  }

  LlmBrain brain_;
  std::unique_ptr<Verifier> gates_;
  fs::path program_;
  std::function<bool()> should_stop_;
};

}  // namespace

std::unique_ptr<Verifier> llm_verifier(LlmBrain brain, std::unique_ptr<Verifier> gates) {
  return std::make_unique<LlmVerifier>(std::move(brain), std::move(gates));
}

}  // namespace stitch::agents
