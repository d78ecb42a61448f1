#include "agents/optimize.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "code/technique.h"
#include "code/write_program.h"
#include "plan/estimate.h"
#include "plan/steps.h"

namespace stitch::agents {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// A plan with the program made from it, and what a call of that takes.
struct Attempt {
  plan::Plan plan;
  PackageContents contents;
  double seconds = 0;
};

class Optimizer {
 public:
  Optimizer(const OptimizeOptions& options, verifier::Verifier& verifier, const fs::path& scratch)
      : options_(options),
        verifier_(verifier),
        graph_(verifier.task().graph),
        scratch_(scratch),
        techniques_(code::techniques()) {
    ledger_.measured = options.device == runner::Device::cuda;
  }

  Result<Optimized> run() {
    auto begin = Clock::now();
    STITCH_TRY(plan::Plan start,
               plan::plain_plan(graph_, std::string(verifier::name(options_.numerics)), techniques_.plain));
    STITCH_CHECK(take("plain", "one simple kernel a node: always right", std::move(start)));
    for (const plan::StepRule& rule : plan::all_steps()) {
      if (since(begin) > static_cast<double>(options_.budget.count())) break;
      auto next = rule.apply(graph_, best_.plan, techniques_);
      if (!next) continue;
      STITCH_CHECK(take(rule.name, rule.why, *std::move(next)));
    }
    if (best_.contents.sources.empty())
      return work_error("optimize", "no program passed the gates: " + ledger_.entries.back().reason);
    Optimized out{.ledger = std::move(ledger_)};
    STITCH_TRY(out.verdict, ship());
    out.seconds = since(begin);
    return out;
  }

 private:
  void say(std::string_view text) const {
    if (options_.on_progress) options_.on_progress(text);
  }

  double estimated(const plan::Plan& plan) const { return plan::estimate(graph_, plan, options_.gpu); }

  // Codes and judges a plan; it stays if the whole program got better. Only our own trouble is an error.
  Result<void> take(std::string_view step, std::string_view why, plan::Plan plan) {
    auto begin = Clock::now();
    LedgerEntry entry{.step = std::string(step), .why = std::string(why), .before = best_.seconds};
    if (best_.seconds > 0) entry.predicted_gain = estimated(best_.plan) - estimated(plan);
    say(step);
    auto attempt = make(std::move(plan), entry.reason);
    if (!attempt) return std::move(attempt).error();
    if (*attempt) {
      entry.after = (*attempt)->seconds;
      entry.kept = best_.seconds == 0 || entry.after < best_.seconds;
      if (entry.kept)
        best_ = std::move(**attempt);
      else
        entry.reason = "not faster";
    }
    entry.seconds = since(begin);
    ledger_.entries.push_back(std::move(entry));
    return {};
  }

  Result<std::optional<Attempt>> make(plan::Plan plan, std::string& reason) {
    if (auto valid = plan::check(graph_, plan); !valid) {
      reason = valid.error().message;
      return std::optional<Attempt>();
    }
    auto contents = code::write_program(graph_, plan);
    if (!contents) {
      reason = contents.error().message;
      return std::optional<Attempt>();
    }
    fs::path folder = scratch_ / format("step{}", ledger_.entries.size());
    STITCH_CHECK(write_package(folder, *contents));
    verifier::VerifyOptions quick = asked(folder);
    quick.quick = true;
    STITCH_TRY(verifier::Verdict verdict, verifier_.judge(quick));
    if (!verdict.passed()) {
      reason = verdict.failure()->gate + ": " + verdict.failure()->summary;
      return std::optional<Attempt>();
    }
    double seconds =
        verdict.timing ? verdict.timing->at("program").at("seconds").get<double>() : estimated(plan);
    return std::optional<Attempt>(Attempt{std::move(plan), *std::move(contents), seconds});
  }

  verifier::VerifyOptions asked(const fs::path& program) const {
    verifier::VerifyOptions out{.program = program,
                                .task = options_.model,
                                .numerics = options_.numerics,
                                .device = options_.device,
                                .model_class = options_.model_class,
                                .python = options_.python};
    out.on_progress = options_.on_progress;
    return out;
  }

  // The best program, with its task and constants, through every gate and beside the baselines.
  Result<verifier::Verdict> ship() {
    PackageContents contents = best_.contents;
    STITCH_TRY(contents.task, read_file(options_.model));
    if (!options_.model_class.empty()) contents.model_class = options_.model_class;
    for (const ManifestTensor& tensor : contents.manifest.signature.parameters)
      if (tensor.role == "constant")
        if (const TensorBytes* found = verifier_.task().weights->find(tensor.data))
          contents.constants.emplace_back(tensor.data, *found);
    STITCH_CHECK(write_package(options_.out, contents));
    verifier::VerifyOptions whole = asked(options_.out);
    whole.baselines = options_.baselines;
    return verifier_.judge(whole);
  }

  const OptimizeOptions& options_;
  verifier::Verifier& verifier_;
  const Graph& graph_;
  fs::path scratch_;
  plan::Techniques techniques_;
  Attempt best_;
  Ledger ledger_;
};

}  // namespace

Result<Optimized> optimize(const OptimizeOptions& options) {
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitchcuda-optimize"));
  verifier::VerifyOptions task{.task = options.model,
                               .numerics = options.numerics,
                               .device = options.device,
                               .model_class = options.model_class,
                               .python = options.python,
                               .on_progress = options.on_progress};
  STITCH_TRY(std::unique_ptr<verifier::Verifier> verifier, verifier::Verifier::open(task));
  return Optimizer(options, *verifier, scratch.path()).run();
}

}  // namespace stitch::agents
