#include "agents/optimize.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "agents/loop/loop.h"
#include "agents/loop/measured_gain.h"
#include "agents/record/recorded_run.h"
#include "agents/record/shipped.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/limits.h"
#include "gpu/gpu_lock.h"
#include "graph/cost.h"
#include "plan/document/document.h"
#include "reference/preflight.h"

namespace stitch::agents {

namespace {

template <class Told>
std::function<void(std::string_view)> teller(EventSink* events) {
  return [events](std::string_view text) {
    if (events) events->on(Told{text});
  };
}

// No budget can end what one emulated call takes, so hours are refused beforehand.
Result<void> check_emulated_time(const Graph& graph, const OptimizeOptions& options) {
  constexpr double always_fine = 900, times_the_budget = 15;
  if (options.device != runner::Device::emulated) return {};
  const verifier::Needs needs = verifier::needs_of(graph);
  if (auto fits = verifier::check_room(graph, needs, verifier::room_here(options.device)); !fits)
    return at(options.model.string(), fits.error());
  const double seconds = needs.emulated_seconds;
  if (seconds <= std::max(always_fine, times_the_budget * static_cast<double>(options.budget.count())))
    return {};
  return at(
      options.model.string(),
      user_error("emulated_time",
                 format("judging one program on the emulated GPU takes about {} (an estimate)",
                        seconds_text(seconds)),
                 format("use a machine with a GPU, or smaller inputs; --budget {:.0f} runs it all the same",
                        std::ceil(seconds / times_the_budget))));
}

// Where steps that round have something to gain, and a backward pass in float64 takes no longer than judging
// a program does.
bool worth_measuring(const Graph& graph, const OptimizeOptions& options) {
  constexpr double most_flops_on_a_cpu = 2e10,
                   bytes_an_element = 32;  // value, gradient, and what autograd keeps
  if (options.numerics == Numerics::strict || options.kernelbench_compatible || options.plan) return false;
  constexpr double large_product = 1e9;
  auto matters = [&](const Node& node) {
    return plan::is_convolution(node.op) || cost(graph, node).matrix_flops > large_product;
  };
  if (std::ranges::none_of(graph.nodes, matters)) return false;
  if (options.device != runner::Device::cuda) return cost(graph).total.flops < most_flops_on_a_cpu;
  double elements = 0;
  for (const Value& value : graph.values) elements += static_cast<double>(value.type.elements());
  return bytes_an_element * elements < 0.25 * static_cast<double>(options.gpu.memory);
}

// What PyTorch multiplies in is what its accuracy asks for, and what rounding does to the outputs is what it
// costs. Without answers the Planner guesses, and steps that round stand or fall as a whole.
plan::ReferenceFacts look_at_reference(verifier::OpenReference& reference, const OptimizeOptions& options) {
  plan::ReferenceFacts out{.as_pytorch = options.kernelbench_compatible};
  auto tell = [&](const std::string& text) {
    if (options.events) options.events->on(Doing{text});
  };
  const bool follows = options.numerics == Numerics::standard || options.numerics == Numerics::tf32;
  if (follows && options.device == runner::Device::cuda) {
    const SpentOn phase("arithmetic", TimeAccount::Kind::phase);
    if (auto seen = reference.tf32_convolutions())
      out.tf32 = *std::move(seen);
    else
      tell(format("PyTorch's arithmetic (TF32 or FP32) could not be observed: {}", seen.error().message));
  }
  // Without a GPU, PyTorch's side rounds the operands of every convolution.
  if (follows && options.kernelbench_compatible && options.device != runner::Device::cuda)
    for (const Node& node : reference.task.graph.nodes)
      if (plan::is_convolution(node.op)) out.tf32[reference.task.graph.number_of(node)] = true;
  if (!worth_measuring(reference.task.graph, options)) return out;
  tell("measuring how rounding affects the outputs");
  const SpentOn phase("roundings", TimeAccount::Kind::phase);
  auto measured = reference.roundings();
  if (measured) {
    if (auto errors = plan::measured_errors(*measured))
      out.errors = std::make_shared<const plan::MeasuredErrors>(
          plan::held_to_pytorch(*std::move(errors), reference.task.graph, out.tf32));
  } else if (options.events) {
    options.events->on(
        Notice{format("How rounding affects the outputs was not measured: {}.", measured.error().message)});
  }
  return out;
}

Result<std::optional<plan::GivenPlan>> given_plan(const OptimizeOptions& options, const Task& task) {
  if (!options.plan) return std::optional<plan::GivenPlan>();
  auto given = plan::read_given_plan(*options.plan, task.planned(), options.gpu, code::catalogue(),
                                     options.numerics, task.instances);
  if (!given) return within(options.plan_source, std::move(given).error());
  return std::optional(*std::move(given));
}

std::string brains_text(const BrainNames& brains) {
  if (brains.planner == brains.coder && brains.coder == brains.verifier) return brains.planner;
  return format("{}, {}, {}", brains.planner, brains.coder, brains.verifier);
}

// Null: the run is not recorded. A resumed run has to be.
Result<std::unique_ptr<RecordedRun>> open_record(const OptimizeOptions& options, const Graph& graph) {
  if (!options.recording) return std::unique_ptr<RecordedRun>();
  auto record = RecordedRun::open(*options.recording,
                                  {.task = options.model.stem().string(),
                                   .graph = plan::graph_hash(graph),
                                   .numerics = std::string(name(options.numerics)),
                                   .gpu = options.gpu.name,
                                   .device = options.device == runner::Device::cuda ? "cuda" : "emulated",
                                   .brains = brains_text(options.brains),
                                   .options = options.recording->options,
                                   .version = options.recording->version},
                                  options.events);
  if (record || !options.recording->resume.empty()) return record;
  const std::string text = format("this run is not recorded: {}", record.error().text());
  if (options.events) options.events->on(Warning{text});
  return std::unique_ptr<RecordedRun>();
}

// Says who has the GPU while this run waits for it.
class GpuQueue {
 public:
  explicit GpuQueue(EventSink* events) { GpuLock::when_waiting(teller<Doing>(events)); }
  GpuQueue(const GpuQueue&) = delete;
  GpuQueue& operator=(const GpuQueue&) = delete;
  ~GpuQueue() {
    GpuLock::when_waiting({});
    GpuLock::introduce("");
  }
};

template <class Work>
auto timed(const char* phase, Work&& work) {
  const SpentOn spent(phase, TimeAccount::Kind::phase);
  return work();
}

}  // namespace

Result<Optimized> optimize(const OptimizeOptions& asked) {
  const auto begin = Clock::now();
  const TimeAccount::Entries spent_before = TimeAccount::all();
  OptimizeOptions options = asked;
  options.task.limits = code::limits_on(options.gpu);
  options.on_progress = teller<Doing>(options.events);
  // The built-in Coder learns nothing from earlier questions: the same ones again, and a new one, save the
  // reference most of its work.
  options.remember_trials = options.brains.coder == "builtin";
  STITCH_CHECK(check_place(options));
  std::shared_ptr<LlmSession> session;
  if (is_llm(options.brains.planner) || is_llm(options.brains.coder) || is_llm(options.brains.verifier)) {
    STITCH_TRY(session, LlmSession::open(options.llm, options.on_progress));
  }
  STITCH_CHECK(check_brains(options.brains, session.get()));
  if (is_llm(options.brains.planner) || is_llm(options.brains.coder))
    options.llm_budget = options.llm.time_budget;
  Brains brains;
  STITCH_TRY(brains.planner, make_planner(options.brains, options.measured_ledger, session.get()));
  if (options.around_planner) brains.planner = options.around_planner(std::move(brains.planner));
  STITCH_TRY(brains.coder, make_coder(options.brains, session.get()));
  // A process of their own for the baselines: it imports PyTorch while the model is imported.
  std::optional<verifier::TorchProcess> for_baselines;
  if (options.device == runner::Device::cuda && options.timing && !options.baselines.empty())
    if (auto started = verifier::TorchProcess::start(options.task.python))
      for_baselines.emplace(*std::move(started));
  STITCH_TRY(verifier::OpenedTask opened, timed("import", [&] {
               return verifier::open_task_to_judge(options.model, options.task, options.on_progress);
             }));
  if (for_baselines) opened.for_baselines.emplace(*std::move(for_baselines));
  const std::shared_ptr<const Task> task = opened.task;
  STITCH_CHECK(check_emulated_time(task->graph, options));
  STITCH_TRY(std::optional<plan::GivenPlan> given, given_plan(options, *task));
  if (given) options.numerics = given->context.numerics;
  STITCH_TRY(std::unique_ptr<RecordedRun> record, open_record(options, task->graph));
  if (session && record)
    STITCH_CHECK(session->go_on(record->conversation(),
                                [&](std::string_view line) { record->add_to_conversation(line); }));
  const GpuQueue queue(options.events);
  if (record) GpuLock::introduce("run " + record->id());
  auto open = [&] {
    const SpentOn phase("open the reference", TimeAccount::Kind::phase);
    return verifier::OpenReference::open(std::move(opened), {.numerics = options.numerics,
                                                             .device = options.device,
                                                             .on_warning = teller<Warning>(options.events),
                                                             .on_notice = teller<Notice>(options.events)});
  };
  auto make = [&](std::unique_ptr<verifier::OpenReference> reference) {
    return make_verifier(options.brains, verifier::Verifier::open(std::move(reference), options), options,
                         session.get());
  };
  // A resumed run may need no new verdicts: its reference starts on first use.
  std::optional<plan::ReferenceFacts> facts = record ? record->reference_facts(task->graph) : std::nullopt;
  if (!facts) {
    STITCH_TRY(std::unique_ptr<verifier::OpenReference> reference, open());
    verifier::OpenReference& opened_reference = *reference;
    // First, since baselines begin to compile with it.
    STITCH_TRY(brains.verifier, make(std::move(reference)));
    facts = look_at_reference(opened_reference, options);
  }
  if (given) {
    brains.planner = given_plan_planner(std::move(given->plan));
    if (is_llm(options.brains.coder))
      brains.planner = writing_planner(std::move(brains.planner), options.llm.regions, options.llm.whole,
                                       options.llm.rounds);
  }
  plan::Context context =
      given ? std::move(given->context)
            : plan::Context(task->planned(), options.gpu, options.numerics, *std::move(facts));
  context.instances = task->instances;
  auto with_account = [&](Result<Optimized> made) {
    if (made && session) {
      made->llm = std::make_shared<const Json>(session->account().to_json());
      made->own_seconds -= session->account().total().seconds;
    }
    if (made)
      made->time = std::make_shared<const Json>(time_spent(TimeAccount::since(spent_before), made->seconds));
    return made;
  };
  if (!record) return with_account(optimize(*task, context, brains, options, begin));
  record->attach(context, brains, options, begin, [&]() -> Result<std::unique_ptr<Verifier>> {
    STITCH_TRY(std::unique_ptr<verifier::OpenReference> reference, open());
    return make(std::move(reference));
  });
  Result<Optimized> out = with_account(optimize(*task, context, brains, options, begin));
  record->finish(out);
  if (out) out->run = record->id();
  return out;
}

Result<Optimized> optimize(const Task& task, const plan::Context& context, Brains& brains,
                           const OptimizeOptions& options, Clock::time_point begin) {
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitchcuda-optimize"));
  return Loop(task, context, brains, options, scratch.path(), begin).run();
}

Result<void> add_task(PackageContents& contents, const Task& task) {
  if (!task.text.empty()) {
    STITCH_CHECK(stitch::add_task(contents, task.source, task.options.model_class, task.facts));
    contents.task = task.text;  // as it was judged: the file may have changed since
  }
  for (const ManifestTensor& tensor : contents.manifest.signature.parameters) {
    if (tensor.role != "constant") continue;
    const TensorBytes* found = task.weights ? task.weights->find(tensor.data) : nullptr;
    if (!found)
      return work_error("weights", format("the constant '{}' is not in the graph's weights", tensor.data),
                        "import the model again, with weights");
    contents.constants.emplace_back(tensor.data, *found);
  }
  return {};
}

}  // namespace stitch::agents
