#include "agents/optimize.h"

#include "agents/loop.h"

namespace stitch::agents {

namespace {

// What PyTorch multiplies in is what its accuracy asks for. Without an answer the Planner guesses.
void look_at_arithmetic(verifier::Verifier& verifier, const OptimizeOptions& options, Context& context) {
  using verifier::Numerics;
  const bool matters = options.numerics == Numerics::standard || options.numerics == Numerics::tf32;
  if (!matters || options.device != runner::Device::cuda) return;
  auto seen = verifier.tf32_convolutions();
  if (seen)
    context.tf32 = *std::move(seen);
  else if (options.events)
    options.events->on(Doing{format("PyTorch's arithmetic was not seen: {}", seen.error().message)});
}

}  // namespace

Result<Optimized> optimize(const OptimizeOptions& options) {
  const auto begin = Clock::now();
  auto on_progress = [&options](std::string_view text) {
    if (options.events) options.events->on(Doing{text});
  };
  Brains brains;
  STITCH_TRY(brains.planner, make_planner(options.brains.planner, options.strategy));
  STITCH_TRY(brains.coder, make_coder(options.brains.coder));
  STITCH_TRY(verifier::OpenedTask opened,
             verifier::open_task_to_judge(options.model, options.task, on_progress));
  const std::shared_ptr<const Task> task = opened.task;
  STITCH_TRY(
      std::unique_ptr<verifier::Verifier> verifier,
      verifier::Verifier::open(std::move(opened), {.numerics = options.numerics, .device = options.device}));
  Context context{.gpu = options.gpu, .numerics = options.numerics, .tf32 = {}};
  look_at_arithmetic(*verifier, options, context);
  const VerifierSetup setup{.numerics = options.numerics,
                            .device = options.device,
                            .baselines = options.baselines,
                            .quick = options.quick,
                            .timing = options.timing,
                            .on_progress = on_progress};
  STITCH_TRY(brains.verifier, make_verifier(options.brains.verifier, std::move(verifier), setup));
  return optimize(*task, context, brains, options, begin);
}

Result<Optimized> optimize(const Task& task, const Context& context, Brains& brains,
                           const OptimizeOptions& options, Clock::time_point begin) {
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitchcuda-optimize"));
  return Loop(task, context, brains, options, scratch.path(), begin).run();
}

}  // namespace stitch::agents
