#include "verify/verify.h"

#include "verify/at_sizes.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <shared_mutex>

#include "base/error_codes.h"
#include "base/machine/time_account.h"
#include "base/text.h"
#include "gpu/floor.h"
#include "gpu/gpu_detect.h"
#include "gpu/gpu_lock.h"
#include "graph/cost.h"
#include "program/package.h"
#include "reference/preflight.h"
#include "reference/shared_reference.h"
#include "reference/torch_reference.h"
#include "reference/trial_memory.h"
#include "reference/trials_ahead.h"
#include "sandbox/sandbox.h"
#include "verify/adequacy/measure.h"
#include "verify/adequacy/told_apart.h"
#include "verify/attempt.h"
#include "verify/clock/baselines_ahead.h"
#include "verify/clock/clock.h"
#include "verify/gates/gates.h"
#include "verify/gates/region_questions.h"
#include "verify/not_judged.h"
#include "verify/receipt.h"

namespace stitch::verifier {

namespace {

using Clock = std::chrono::steady_clock;

// Whether a program may be of this task at all: one of another model fails at a gate, whatever its mode.
bool has_inputs_of(const fs::path& program, const Graph& graph) {
  auto types = [](const std::vector<ManifestTensor>& all) {
    std::vector<std::string> out;
    for (const ManifestTensor& tensor : all)
      if (tensor.role == "input") out.push_back(text(tensor.type));
    return out;
  };
  auto package = load_package(program);
  return package && types(package->manifest.signature.inputs) == types(signature_of(graph).inputs);
}

// A program that was made from a model in one mode computes another function than the model in the other.
Result<void> check_modes(const fs::path& program, const TaskGraph& task) {
  std::error_code ec;
  if (!fs::is_directory(program, ec)) return {};
  STITCH_TRY(TaskFacts facts, read_task_facts(program));
  const std::string made = mode_in(facts), asked = mode_in(task.facts);
  if (made.empty() || asked.empty() || made == asked || !has_inputs_of(program, task.graph)) return {};
  return at(
      program.string(),
      user_error("mode", format("this program was made in {} mode, the task is in {} mode", made, asked),
                 format("verify it in {} mode, or make it again in {} mode", made, asked)));
}

// What the machine lacks is not charged to the candidate: then a failure is an Error that ends the
// verification.
std::optional<Error> not_its_own(Session& session, const Error& failure, int64_t killed_before) {
  // What it wrote and allocated is free again once it is gone.
  session.attempt.reset();
  session.loaded.reset();
  std::string source;
  if (session.python)
    if (auto text = read_file(session.options.program)) source = *std::move(text);
  return machines_part({failure, std::move(source), killed_before}, senses_here());
}

Result<GateReport> run_gate(const Gate& gate, Session& session, int64_t killed_before) {
  GateReport report{.gate = std::string(gate.name), .id = gate.id};
  session.progress(gate.name);
  const auto begin = Clock::now();
  const double waited = TimeAccount::waited_here();
  Json evidence;
  auto passed = [&] {
    const GpuVisit visit;
    return gate.run(session, evidence);
  }();
  report.seconds = seconds_since(begin);
  report.waited = TimeAccount::waited_here() - waited;
  TimeAccount::add(TimeAccount::Kind::phase, "gate: " + report.gate, report.seconds);
  if (passed) {
    report.evidence = std::make_shared<const Json>(std::move(evidence));
    report.outcome = passed->skipped ? Outcome::skipped : Outcome::passed;
    report.summary = passed->summary;
    return report;
  }
  if (passed.error().blame == Error::Blame::work) return std::move(passed).error();
  const Error& error = passed.error();
  // Memory of the GPU that it holds itself is not others' doing.
  if (session.options.device == runner::Device::cuda) {
    session.attempt.reset();
    session.loaded.reset();
  }
  if (auto machines = not_its_own(session, error, killed_before)) return *std::move(machines);
  report.outcome = Outcome::failed;
  report.code = error.code;
  report.fault = fault_of(gate.id, error.code);
  size_t line = error.message.find('\n');  // compilers go on
  report.summary = (error.where.empty() ? "" : error.where + ": ") + error.message.substr(0, line);
  if (line != std::string::npos) evidence["details"] = error.message.substr(line + 1);
  report.evidence = std::make_shared<const Json>(std::move(evidence));
  return report;
}

// Whether a region is wrong by itself, or all are right and rounding added up.
void name_wrong_region(Session& session, GateReport& report) {
  if (session.manifest.regions.empty()) return;
  const std::string region = wrong_region(session);
  if (region.empty()) return;
  Json evidence = report.evidence ? *report.evidence : Json::object();
  evidence["wrong_region"] = region;
  report.evidence = std::make_shared<const Json>(std::move(evidence));
  report.summary += format("; region '{}' alone is wrong", region);
}

Json header_of(const Session& session) {
  const VerifyOptions& options = session.options;
  bool cuda = options.device == runner::Device::cuda;
  Json json = {{"program", options.program.string()},
               {"task", session.task.source.string()},
               {"class", name(options.numerics)},
               {"device", cuda ? (session.gpu ? session.gpu->name : "cuda") : "emulated"},
               {"trust", session.python ? "python" : "compiled"},
               {"sandbox", sandbox::describe_walls()},
               {"reference", session.reference.describe()},
               {"seed", format("{:016x}", session.seed)},
               {"date", utc_now()}};
  if (session.gpu) json["architecture"] = session.gpu->architecture.name;
  return json;
}

std::shared_ptr<const Json> timing_of(const Session& session) {
  if (session.own.wall_ns.empty()) return nullptr;
  Json json = {{"program", to_json(session.own, false)}, {"baselines", Json::array()}};
  const Samples* best = nullptr;
  for (const Samples& samples : session.baselines) {
    json["baselines"].push_back(to_json(samples, false));
    if (!samples.wall_ns.empty() && (!best || samples.median() < best->median())) best = &samples;
  }
  if (best)
    json.update(Json{{"best_baseline", best->side}, {"speedup", best->median() / session.own.median()}});
  if (session.gpu) {
    GraphCost costs = cost(session.task.graph);
    json["floor_seconds"] = floor_of(session.task.graph, costs, *session.gpu).seconds();
  }
  return std::make_shared<const Json>(std::move(json));
}

Result<void> find_the_program(const fs::path& program) {
  std::error_code ec;
  if (fs::exists(program, ec)) return {};
  return at(program.string(), user_error("no_file", "no such program",
                                         "name a program folder, a .cu file, or a .py file with ModelNew"));
}

}  // namespace

uint64_t Session::next_seed() {
  // SplitMix64 over a secret start: every draw differs, and the whole run can be repeated from one number.
  uint64_t z = seed + 0x9e3779b97f4a7c15 * ++drawn_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t Session::unseen_seed() {
  if (!options.remember_trials || !options.ask_unseen) return next_seed();
  return uint64_t{std::random_device{}()} << 32 | std::random_device{}();
}

bool Session::large() const {
  int64_t bytes = 0;
  for (const auto* side : {&task.signature.inputs, &task.signature.outputs})
    for (const ManifestTensor& tensor : *side) bytes += tensor.type.bytes();
  return bytes > options.few_above || cost(task.graph).total.flops > options.few_above_flops;
}

namespace {

// Processes that later gates will want start while this one is at work: what the compiler takes hides the
// first, conduct and profile the second, which has the clock. Not correctness: most programs that fail do so
// there, and processes that start CUDA hold each other up. The next program's is wanted in any case.
void expect_those_of(GateId gate, const Session& session) {
  const VerifyOptions& options = session.options;
  if (gate == GateId::build || (gate == GateId::correctness && options.more_to_come) ||
      (gate == GateId::conduct && options.timing))
    expect_candidate(session);
}

// Its memory is others' once the candidates are gone.
struct SharedDeviceMemory {
  TorchReference* torch;
  ~SharedDeviceMemory() {
    if (torch) torch->free_device_arena();
  }
};

class OpenVerifier final : public Verifier {
 public:
  OpenVerifier(std::unique_ptr<OpenReference> reference, const VerifyOptions& options)
      : open_(std::move(reference)), task_(open_->task), torch_(open_->torch()) {
    if (!open_->for_baselines || !open_->gpu || !options.timing || options.baselines.empty()) return;
    Session session(options, task_, open_->answers(), open_->arena);
    session.gpu = open_->gpu;
    if (has_room_for_baselines(session)) baseline_process_.emplace(*std::move(open_->for_baselines), session);
  }

  const TaskGraph& task() const override { return task_; }

  Result<Json> adequacy(const VerifyOptions& options, double work) override {
    Session session(options, task_, open_->answers(), open_->arena);
    session.torch = torch_;
    session.seed = options.seed.value_or(std::random_device{}());
    session.reference.seed_weights(session.next_seed());
    return measure_adequacy(session, work);
  }

  // What only one program at a time may have: the clock, trials that stay with PyTorch, and a process of its
  // own imports PyTorch for a ModelNew.
  bool side_by_side(const VerifyOptions& options) const override {
    const bool timed = options.rehearse_timing || (options.timing && options.device == runner::Device::cuda);
    return !timed && !is_python(options) && !(torch_ && torch_->holds_trials());
  }

  void build_ahead(const VerifyOptions& options) const override {
    verifier::build_ahead(options, open_->gpu);
  }

  Result<Verdict> judge(const VerifyOptions& options) override {
    STITCH_TRY(auto judged, judge_at_its_sizes(options));
    auto& [verdict, built] = judged;
    if (options.other_sizes) STITCH_CHECK(judge_at_other_sizes(verdict, *task_.opened, options));
    if (!options.receipt.empty() && verdict.passed())
      STITCH_CHECK(write_receipt(options.receipt,
                                 {.program = options.program,
                                  .library_hash = built.hash,
                                  .read = built.read,
                                  .options = options,
                                  .task = *task_.opened},
                                 verdict));
    return std::move(verdict);
  }

  Result<std::unique_ptr<SettingsClock>> settings_clock(const VerifyOptions& options) override {
    auto session = std::make_unique<Session>(options, task_, open_->answers(), open_->arena);
    STITCH_CHECK(prepare(*session));
    return open_settings_clock(std::move(session));
  }

 private:
  using Judged = std::pair<Verdict, build::Built>;

  Result<Judged> judge_at_its_sizes(const VerifyOptions& options) {
    if (!side_by_side(options)) {
      std::unique_lock alone(programs_);
      SharedDeviceMemory until_all_is_judged{torch_};
      TrialsAhead ahead(reference_for(options));
      return judge_by(options, ahead, open_->arena, &ahead);
    }
    std::shared_lock among_others(programs_);
    STITCH_TRY(runner::Arena own, runner::Arena::create(int64_t{1} << 20));
    SharedReference reference(reference_for(options), asking_);
    return judge_by(options, reference, own, nullptr);
  }

  // Questions are asked ahead where their answers come to this process, and nothing else speaks to PyTorch.
  bool asks_ahead(const Session& session, const BaselinesAhead& baselines) const {
    return session.options.baselines_ahead && !session.python && torch_ && !torch_->holds_trials() &&
           !baselines.is_at_work() && (!open_->gpu || has_room_for_baselines(session));
  }

  Result<Judged> judge_by(const VerifyOptions& options, Reference& reference, runner::Arena& arena,
                          TrialsAhead* ahead) {
    Session session(options, task_, reference, arena);
    STITCH_CHECK(prepare(session));
    const int64_t killed_before = senses_here().killed_for_memory();
    Verdict verdict;
    BaselinesAhead baselines(session);
    if (ahead && asks_ahead(session, baselines)) {
      session.questions = questions_of(session);
      ahead->begin(session.questions, region_questions_ahead(session));
    }
    for (const Gate& gate : all_gates()) {
      if (gate.id > GateId::load || verdict.failure()) baselines.finish();
      if (verdict.failure() || (options.build_only && gate.id > GateId::screen)) {
        verdict.gates.push_back(
            {.gate = std::string(gate.name), .id = gate.id, .summary = std::string(not_reached)});
        continue;
      }
      if (options.should_stop && options.should_stop())
        return work_error(error_code::stopped, "stopped on request");
      expect_those_of(gate.id, session);
      STITCH_TRY(GateReport report, run_gate(gate, session, killed_before));
      if (ahead && gate.id == GateId::correctness) ahead->end();
      if (gate.id == GateId::correctness && report.fault == Fault::wrong) name_wrong_region(session, report);
      verdict.gates.push_back(std::move(report));
    }
    verdict.header = std::make_shared<const Json>(header_of(session));
    verdict.notes = std::move(session.notes);
    if (session.adequacy) verdict.adequacy = std::make_shared<const Json>(session.adequacy->evidence());
    verdict.timing = timing_of(session);
    verdict.library = session.library;
    return Judged{std::move(verdict), std::move(session.built)};
  }

  static bool is_python(const VerifyOptions& options) { return options.program.extension() == ".py"; }

  Result<void> prepare(Session& session) {
    const VerifyOptions& options = session.options;
    session.torch = torch_;
    if (baseline_process_) session.baseline_process = &*baseline_process_;
    if (torch_) {
      std::lock_guard asking(asking_);
      torch_->hold_above(options.hold_above, open_->arena);
      torch_->set_time_limit(options.reference_time_limit);
    }
    session.seed =
        options.seed ? *options.seed : (uint64_t{std::random_device{}()} << 32 | std::random_device{}());
    session.gpu = open_->gpu;
    session.reference.seed_weights(session.next_seed());
    STITCH_CHECK(find_the_program(options.program));
    STITCH_CHECK(check_modes(options.program, task_));
    session.python = is_python(options);
    return {};
  }

  Reference& reference_for(const VerifyOptions& options) {
    if (!options.remember_trials) return open_->answers();
    std::lock_guard asking(asking_);
    if (!memory_) memory_.emplace(open_->answers());
    return *memory_;
  }

  std::unique_ptr<OpenReference> open_;
  const TaskGraph& task_;
  TorchReference* torch_;
  std::optional<TrialMemory> memory_;
  std::optional<BaselineProcess> baseline_process_;
  std::shared_mutex programs_;  // that are judged now
  std::mutex asking_;           // the reference
};

}  // namespace

std::unique_ptr<Verifier> Verifier::open(std::unique_ptr<OpenReference> reference,
                                         const VerifyOptions& options) {
  return std::make_unique<OpenVerifier>(std::move(reference), options);
}

Result<std::unique_ptr<Verifier>> Verifier::open(OpenedTask task, const VerifyOptions& options) {
  STITCH_TRY(std::unique_ptr<OpenReference> reference,
             OpenReference::open(std::move(task), {.numerics = options.numerics,
                                                   .device = options.device,
                                                   .time_limit = options.reference_time_limit,
                                                   .hold_above = options.hold_above,
                                                   .on_warning = options.on_warning,
                                                   .on_notice = options.on_notice}));
  return open(std::move(reference), options);
}

Result<Verdict> verify(const fs::path& task, const VerifyOptions& options, const TaskOptions& task_options) {
  // Before the import, which may take a minute.
  STITCH_CHECK(find_the_program(options.program));
  STITCH_TRY(OpenedTask opened, open_task_to_judge(task, task_options, options.on_progress));
  STITCH_TRY(std::unique_ptr<Verifier> verifier, Verifier::open(std::move(opened), options));
  return verifier->judge(options);
}

}  // namespace stitch::verifier
