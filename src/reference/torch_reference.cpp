#include "reference/torch_reference.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "reference/inputs/boundaries.h"
#include "reference/inputs/pointed.h"
#include "reference/sensitivity.h"

namespace stitch::verifier {

namespace {

// Randomness is defined by the graph's seed, which PyTorch knows nothing of.
bool oracle_alone(const TaskGraph& task) { return is_random(task.signature); }

// A model that draws none is asked the same whatever the seed.
std::optional<uint64_t> seed_of(const Question& question) {
  return question.pytorchs_numbers ? std::optional(question.seed) : std::nullopt;
}

}  // namespace

std::string key_of(const TaskGraph& task, size_t output) {
  const ManifestTensor& tensor = task.signature.outputs[output];
  if (tensor.role == "output") return format("output_{}", output);
  int number = 0;
  for (const ManifestTensor& input : task.signature.inputs) {
    if (input.name == tensor.target)
      return input.role == "input" ? format("update:input_{}", number) : "update:" + input.data;
    number += input.role == "input";
  }
  ValueId target = task.graph.find(tensor.target);
  return "update:" + (target == ValueId::none ? tensor.target : task.graph[target].data);
}

namespace {

std::vector<std::byte> converted(const TensorBytes& from, DType to) {
  auto tensor = oracle::Tensor::from_bytes(from.type.dtype, from.type.shape, from.bytes);
  require(static_cast<bool>(tensor), "what safetensors checked converts");
  return tensor->to_bytes(to);
}

Result<Tensors> in_order(const TaskGraph& task, const std::shared_ptr<const Safetensors>& file, bool truth) {
  Tensors out;
  for (size_t i = 0; i < task.signature.outputs.size(); ++i) {
    std::string key = key_of(task, i);
    const TensorBytes* tensor = file->find(key);
    const TensorType& type = task.signature.outputs[i].type;
    if (!tensor) return work_error("reference", format("the reference gives no '{}'", key));
    if (tensor->type.shape != type.shape)
      return work_error("reference", format("the reference gives {} as '{}', the graph {}",
                                            text(tensor->type), key, text(type)));
    // Integers are compared as integers, floats as float64.
    DType wanted = truth && is_floating(type.dtype) ? DType::f64 : tensor->type.dtype;
    if (truth && !is_floating(type.dtype)) wanted = type.dtype;
    if (tensor->type.dtype == wanted)
      out.add(*tensor, file);
    else
      out.add({wanted, type.shape, {}}, converted(*tensor, wanted));
  }
  return out;
}

}  // namespace

TorchReference::TorchReference(TorchProcess process, const TaskGraph& task, Numerics numerics,
                               ScratchFolder scratch)
    : process_(std::move(process)), task_(task), numerics_(numerics), scratch_(std::move(scratch)) {}

Result<std::unique_ptr<TorchReference>> TorchReference::load(TorchProcess process, const TaskGraph& task,
                                                             Numerics numerics, const std::string& device) {
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create_in_memory("stitchcuda-reference"));
  std::unique_ptr<TorchReference> out(
      new TorchReference(std::move(process), task, numerics, std::move(scratch)));
  out->on_gpu_ = device == "cuda";
  Json request = {{"do", "load"}, {"task", fs::absolute(task.source).string()}, {"device", device}};
  const std::string& model_class = task.opened->options.model_class;
  if (!model_class.empty()) request["class"] = model_class;
  if (const Mode mode = task.opened->options.mode; mode != Mode::as_written)
    request["mode"] = stitch::name(mode);
  STITCH_TRY(Json about, out->process_.ask(request));
  about.erase("ok");
  about.erase("parameters");
  about.erase("inputs");
  about["by"] = "PyTorch in float64";
  out->about_ = std::make_shared<const Json>(std::move(about));
  STITCH_TRY(Json names, out->process_.ask({{"do", "distributions"}}));
  for (const Json& one : names["distributions"])
    if (one != "task") out->distributions_.push_back(one.get<std::string>());
  if (const Boundaries boundaries = boundaries_of(task.graph); !boundaries.empty())
    STITCH_CHECK(out->process_.ask({{"do", "boundaries"}, {"kinds", to_json(boundaries, task.graph)}}));
  return out;
}

bool TorchReference::holds_trials() const { return !oracle_alone(task_) && too_large(); }
fs::path TorchReference::fresh_file() { return scratch_.path() / format("{}.safetensors", files_++); }
std::vector<std::string> TorchReference::distributions() const { return distributions_; }
Json TorchReference::describe() const { return *about_; }

Result<void> TorchReference::set_weights(Weights weights) {
  STITCH_CHECK(let_go());
  if (weights == weights_ && !(stale_ && weights != Weights::task)) return {};
  stale_ = false;
  Json request = {
      {"do", "weights"}, {"variant", name(weights)}, {"seed", weights_seed_}, {"mode", name(numerics_)}};
  // What a model carries from call to call is zero before the first.
  if (weights != Weights::task && !updates().is_null()) request["calls"] = 1 + weights_seed_ % 3;
  if (weights == Weights::pointed) request["changes"] = to_json(pointed_weights(task_.graph));
  if (weights == Weights::bounded) request["changes"] = to_json(bounded_weights(task_.graph));
  if (weights == Weights::tails) request["changes"] = to_json(tail_weights(task_.graph));
  fs::path file = fresh_file();
  if (weights != Weights::task && !redrawn_.contains(weights)) request["out"] = file.string();
  STITCH_CHECK(process_.ask(request));
  if (request.contains("out")) {
    STITCH_TRY(Safetensors opened, Safetensors::open(file));
    redrawn_[weights] = std::make_shared<const Safetensors>(std::move(opened));
  }
  weights_ = weights;
  return {};
}

std::shared_ptr<const Safetensors> TorchReference::redrawn(Weights weights) const {
  auto found = redrawn_.find(weights);
  return found == redrawn_.end() ? nullptr : found->second;
}

void TorchReference::seed_weights(uint64_t seed) {
  if (weights_seed_ == (seed & seed_mask)) return;
  weights_seed_ = seed & seed_mask;
  redrawn_.clear();
  // They are drawn when they are next asked for.
  if (weights_ != Weights::task) stale_ = true;
}

Result<Tensors> TorchReference::parameters(Weights weights) {
  // The task's own came with it: PyTorch may keep what it has until it is asked something.
  STITCH_CHECK(weights == Weights::task ? let_go() : set_weights(weights));
  return find_tensors(task_.signature.parameters, redrawn(weights), task_.weights);
}

Json TorchReference::updates() const {
  Json names = Json::array();
  for (const ManifestTensor& output : task_.signature.outputs) {
    if (output.role != "update") continue;
    ValueId target = task_.graph.find(output.target);
    if (target != ValueId::none && task_.graph[target].has_data()) names.push_back(task_.graph[target].data);
  }
  return names.empty() ? Json(nullptr) : names;
}

Result<std::shared_ptr<const Safetensors>> TorchReference::evaluate(const fs::path& inputs,
                                                                    std::string_view mode,
                                                                    std::optional<uint64_t> seed,
                                                                    const Question& question) {
  fs::path out = fresh_file();
  Json request = {{"do", "evaluate"},
                  {"inputs", inputs.string()},
                  {"mode", mode},
                  {"out", out.string()},
                  {"updates", updates()}};
  if (seed) request["seed"] = *seed & seed_mask;
  if (question.moved_weights > 0)
    request.update({{"moved", question.moved_weights}, {"moved_by", question.moved_by & seed_mask}});
  STITCH_CHECK(process_.ask(request));
  STITCH_TRY(Safetensors opened, Safetensors::open(out));
  std::error_code ec;
  fs::remove(out, ec);  // the mapping keeps it
  return std::make_shared<const Safetensors>(std::move(opened));
}

Result<std::shared_ptr<const Safetensors>> TorchReference::draw_to(const fs::path& file,
                                                                   const Question& question) {
  STITCH_CHECK(process_.ask({{"do", "draw"},
                             {"distribution", question.distribution},
                             {"seed", question.seed & seed_mask},
                             {"out", file.string()}}));
  STITCH_TRY(Safetensors opened, Safetensors::open(file));
  return std::make_shared<const Safetensors>(std::move(opened));
}

Result<Tensors> TorchReference::inputs(const Question& question,
                                       const std::shared_ptr<const Safetensors>& drawn) const {
  Tensors out;
  int number = 0;
  for (const ManifestTensor& tensor : task_.signature.inputs) {
    if (tensor.role == "input" && !drawn) {
      out.add({{tensor.type.dtype, tensor.type.shape, {}}, {}}, nullptr);
    } else if (tensor.role == "input") {
      const TensorBytes* input = drawn->find(format("input_{}", number++));
      if (!input || input->type.shape != tensor.type.shape || input->type.dtype != tensor.type.dtype)
        return work_error("reference", format("the reference draws no fitting '{}'", tensor.name));
      out.add(*input, drawn);
    } else if (tensor.role == "state") {
      STITCH_TRY(Tensors state, find_tensors({tensor}, redrawn(question.weights), task_.weights));
      out.add(state[0], state.owners[0]);
    } else {
      std::vector<std::byte> bytes(sizeof(int64_t));
      uint64_t seed = question.seed & seed_mask;
      std::memcpy(bytes.data(), &seed, sizeof(int64_t));
      out.add(tensor.type, std::move(bytes));
    }
  }
  return out;
}

Result<Tensors> TorchReference::draw(const Question& question) {
  STITCH_CHECK(set_weights(question.weights));
  fs::path file = fresh_file();
  STITCH_TRY(auto drawn, draw_to(file, question));
  std::error_code ec;
  fs::remove(file, ec);
  return inputs(question, drawn);
}

Result<Trial> TorchReference::ask(const Question& question) {
  STITCH_CHECK(set_weights(question.weights));
  if (!question.whole && holds_trials()) return hold(question);
  Trial trial{.question = question};
  fs::path file = fresh_file();
  STITCH_TRY(auto drawn, draw_to(file, question));
  STITCH_TRY(trial.inputs, inputs(question, drawn));
  if (oracle_alone(task_) && !question.pytorchs_numbers) {
    STITCH_TRY(Tensors weights, parameters(question.weights));
    STITCH_TRY(OracleAnswer answer,
               ask_oracle(task_, weights, trial.inputs, numerics_, question.seed & seed_mask));
    trial.truth = std::move(answer.truth);
    trial.sensitivity = std::move(answer.sensitivity);
  } else {
    STITCH_TRY(auto truth, evaluate(file, "float64", seed_of(question)));
    const bool moved = question.moved_weights > 0;
    STITCH_TRY(auto pytorch,
               evaluate(file, moved ? "float64" : name(numerics_), seed_of(question), question));
    STITCH_TRY(trial.truth, in_order(task_, truth, true));
    STITCH_TRY(trial.pytorch, in_order(task_, pytorch, moved));
  }
  std::error_code ec;
  fs::remove(file, ec);
  if (question.pytorchs_numbers && question.distribution == "task" && !overflows(trial) && !is_sound(trial))
    return work_error("random",
                      "on this device PyTorch's random numbers are others in float64 than in the model's "
                      "precision: a ModelNew that draws some can't be judged",
                      "judge a compiled program, or put the task's model into eval mode");
  settle(trial);
  if (is_harsh(question) && trial.in_domain && trial.pytorch.size() > 0 &&
      question.distribution != harsh::not_finite && !harsh::is_exact(question.distribution)) {
    STITCH_TRY(trial.sensitivity, movement(trial, 0));
    settle(trial);
  }
  return trial;
}

Result<std::vector<double>> TorchReference::movement(const Trial& trial, uint64_t draw) {
  constexpr double accumulation = 4;  // rounding happens at every node
  const uint64_t seed = trial.question.seed + draw * 0x9e37'79b9'7f4a'7c15;
  if (trial.pytorch.size() == 0) {
    STITCH_TRY(Tensors weights, parameters(trial.question.weights));
    STITCH_TRY(OracleAnswer answer, ask_oracle(task_, weights, trial.inputs, numerics_, seed));
    return std::move(answer.sensitivity);
  }
  STITCH_CHECK(set_weights(trial.question.weights));
  const double unit = coarsest_rounding(task_.graph, 0, task_.graph.nodes.size(), numerics_);
  std::vector<std::pair<std::string, TensorBytes>> moved;
  Tensors kept;
  for (size_t i = 0; i < trial.inputs.size(); ++i) {
    if (task_.signature.inputs[i].role != "input") continue;
    const TensorType& type = trial.inputs[i].type;
    STITCH_TRY(oracle::Tensor exact,
               oracle::Tensor::from_bytes(type.dtype, type.shape, trial.inputs[i].bytes));
    // Half-precision inputs can't be moved by less than their own rounding: only where that is what is asked.
    const double own = type.dtype == DType::f16 ? 0x1p-10 : type.dtype == DType::bf16 ? 0x1p-7 : 0;
    if (own > 0 && draw == 0)
      kept.add(trial.inputs[i], trial.inputs.owners[i]);
    else
      kept.add(type, perturbed(exact, std::max(unit, own), seed + i).to_bytes());
    moved.emplace_back(format("input_{}", moved.size()), kept.tensors.back());
  }
  const fs::path file = fresh_file();
  STITCH_CHECK(write_safetensors(file, moved));
  auto truth = evaluate(file, "float64", seed_of(trial.question));
  std::error_code ec;
  fs::remove(file, ec);
  if (!truth) return std::move(truth).error();
  STITCH_TRY(Tensors outputs, in_order(task_, *truth, true));
  std::vector<double> out;
  for (size_t i = 0; i < outputs.size(); ++i)
    out.push_back(is_floating(outputs[i].type.dtype)
                      ? accumulation * distance(outputs[i], trial.truth[i]).relative()
                      : 0);
  return out;
}

Result<fs::path> TorchReference::init_inputs() {
  if (!for_candidates_) {
    STITCH_TRY(ScratchFolder folder, ScratchFolder::create("stitchcuda-arguments"));
    for_candidates_.emplace(std::move(folder));
  }
  fs::path file = for_candidates_->path() / "init";
  STITCH_CHECK(process_.ask({{"do", "init_inputs"}, {"out", file.string()}}));
  return file;
}

Result<Samples> TorchReference::prepare_baseline(const std::string& kind, uint64_t seed) {
  if (auto ready = prepared_.find(kind); ready != prepared_.end()) return ready->second;
  STITCH_CHECK(set_weights(Weights::task));
  STITCH_TRY(
      Json answer,
      process_.ask(
          {{"do", "baseline"}, {"kind", kind}, {"numerics", name(numerics_)}, {"seed", seed & seed_mask}}));
  Samples samples{.side = kind};
  if (answer.contains("unavailable")) samples.unavailable = answer["unavailable"].get<std::string>();
  if (samples.unavailable.empty()) prepared_.emplace(kind, samples);
  return samples;
}

Result<void> TorchReference::time_baseline(Samples& samples, int count, int64_t flush_bytes, uint64_t seed) {
  STITCH_TRY(Json answer, process_.ask({{"do", "time"},
                                        {"kind", samples.side},
                                        {"count", count},
                                        {"flush", flush_bytes},
                                        {"seed", seed & seed_mask}}));
  for (const Json& one : answer["wall_ns"]) samples.wall_ns.push_back(one.get<int64_t>());
  for (const Json& one : answer["event_ns"]) samples.event_ns.push_back(one.get<int64_t>());
  return {};
}

Result<void> TorchReference::warm_profiler() {
  STITCH_CHECK(process_.ask({{"do", "warm_profiler"}}));
  return {};
}

Result<profile::Timeline> TorchReference::profile_baseline(const std::string& kind, const std::string& gpu) {
  STITCH_TRY(Json answer, process_.ask({{"do", "profile"}, {"kind", kind}, {"host_calls", true}}));
  if (answer.contains("unavailable"))
    return work_error("no_profiler", answer["unavailable"].get<std::string>());
  std::vector<runner::Activity> activities;
  for (const Json& one : answer["activities"]) {
    STITCH_TRY(runner::Activity activity, runner::activity_from_json(one));
    activities.push_back(std::move(activity));
  }
  return profile::make_timeline(profile::Side::pytorch, gpu, std::move(activities));
}

Result<int64_t> TorchReference::peak_bytes() {
  STITCH_TRY(Json answer, process_.ask({{"do", "memory"}}));
  return answer.value("peak_bytes", int64_t{0});
}

}  // namespace stitch::verifier
