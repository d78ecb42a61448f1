// Trials that stay with PyTorch, where the GPU is: gigabytes are asked about there, and a candidate's inputs
// and outputs cross memory of the device that both sides map, or the host's where that can't be had.
#include <unistd.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error_codes.h"
#include "gpu/gpu_lock.h"
#include "reference/torch_reference.h"

namespace stitch::verifier {

namespace {

// Others who use the GPU's memory are waited for; after that, float64 is left to the CPU.
constexpr int most_tries_for_memory = 20;
constexpr std::chrono::seconds between_tries_for_memory{3};

// JSON has no infinities: they come in words.
double number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const std::string word = json.get<std::string>();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  return (word == "-inf" ? -1 : 1) * std::numeric_limits<double>::infinity();
}

std::string_view side_of(runner::Where where) { return where == runner::Where::device ? "device" : "host"; }

Distance distance_from(const Json& json) {
  return {.error = number(json.at("error")),
          .truth = number(json.at("truth")),
          .largest = number(json.at("largest")),
          .worst = json.at("worst").get<int64_t>(),
          .elements = json.at("elements").get<int64_t>(),
          .not_finite = json.at("not_finite").get<int64_t>(),
          .unequal = json.at("unequal").get<int64_t>(),
          .first_bad = json.at("first_bad").get<int64_t>(),
          .scattered = json.at("scattered").get<bool>()};
}

}  // namespace

bool TorchReference::too_large() const {
  if (!arena_) return false;
  int64_t bytes = 0;
  for (const ManifestTensor& input : task_.signature.inputs) bytes += input.type.bytes();
  for (const ManifestTensor& output : task_.signature.outputs)
    bytes += output.type.elements() * size_of(DType::f64);
  return bytes > hold_above_;
}

// Between tries the GPU belongs to others, who may want to time something before they free their memory.
Result<Json> TorchReference::ask_patiently(Json request) {
  for (int tries = 1;; ++tries) {
    const bool last = !on_gpu_ || tries >= most_tries_for_memory;
    if (request["do"] == "hold") request["patient"] = !last;
    auto answer = process_.ask(request);
    if (answer || last ||
        (answer.error().code != error_code::busy && answer.error().code != error_code::memory))
      return answer;
    GpuVisit::step_out();
    std::this_thread::sleep_for(between_tries_for_memory);
  }
}

// All inputs at once, or all outputs.
Result<runner::DeviceArena> TorchReference::make_device_arena() {
  std::vector<int64_t> inputs, outputs;
  for (const ManifestTensor& input : task_.signature.inputs)
    if (input.role == "input") inputs.push_back(input.type.bytes());
  for (const ManifestTensor& output : task_.signature.outputs) outputs.push_back(output.type.bytes());
  const int64_t bytes =
      std::max({runner::DeviceArena::size_for(inputs), runner::DeviceArena::size_for(outputs), int64_t{1}});
  return take_device_arena({{"do", "share_device"}}, bytes);
}

Result<runner::DeviceArena> TorchReference::take_device_arena(Json request, int64_t bytes) {
  const fs::path socket = scratch_.path() / format("arena.{}", files_++);
  STITCH_TRY(Letterbox box, Letterbox::create(socket));
  request.update(Json{{"bytes", bytes}, {"socket", socket.string()}});
  STITCH_TRY(Json answer, ask_patiently(std::move(request)));
  STITCH_TRY(Descriptor descriptor, box.take());
  return runner::DeviceArena::over(std::move(descriptor), answer.at("bytes").get<int64_t>());
}

Result<runner::DeviceArena*> TorchReference::device_arena() {
  if (!holds_trials()) return nullptr;
  if (!device_arena_) device_arena_.emplace(make_device_arena());
  if (!*device_arena_) return device_arena_->error();
  return &**device_arena_;
}

void TorchReference::free_device_arena() {
  if (device_arena_ && *device_arena_) (void)process_.ask({{"do", "unshare_device"}});
  device_arena_.reset();
}

std::optional<int64_t> TorchReference::on_device(std::span<const std::byte> bytes) const {
  return device_arena_ && *device_arena_ ? (*device_arena_)->offset_of(bytes) : std::nullopt;
}

Result<std::string> TorchReference::fingerprint(int64_t offset, int64_t bytes) {
  STITCH_TRY(Json answer, ask_patiently({{"do", "fingerprint"}, {"offset", offset}, {"bytes", bytes}}));
  return answer.at("fingerprint").get<std::string>();
}

Result<void> TorchReference::fetch(int64_t offset, std::span<const runner::Range> ranges, int64_t to) {
  Json pairs = Json::array();
  for (const runner::Range& range : ranges) pairs.push_back({range.begin, range.end});
  STITCH_CHECK(
      ask_patiently({{"do", "fetch"}, {"offset", offset}, {"ranges", std::move(pairs)}, {"to", to}}));
  return {};
}

Result<void> TorchReference::share_arena() {
  if (std::exchange(shared_, true)) return {};
  const std::string path = format("/proc/{}/fd/{}", ::getpid(), arena_->descriptor());
  STITCH_CHECK(process_.ask({{"do", "share"}, {"path", path}}));
  return {};
}

Result<const runner::DeviceArena*> TorchReference::open_series(Json layout, int64_t bytes) {
  STITCH_CHECK(share_arena());
  free_device_arena();
  layout["do"] = "open_series";
  auto arena = take_device_arena(std::move(layout), bytes);
  if (!arena) return arena.error();
  device_arena_.emplace(*std::move(arena));
  return &**device_arena_;
}

Result<Json> TorchReference::about_series(Json request) { return ask_patiently(std::move(request)); }

Result<Distance> TorchReference::kept_distance(int number, const Trial& trial, size_t output, DType dtype,
                                               int64_t offset) {
  STITCH_TRY(Json answer, ask_patiently({{"do", "kept_distance"},
                                         {"number", number},
                                         {"trial", trial.held->number},
                                         {"output", output},
                                         {"dtype", name(dtype)},
                                         {"offset", offset}}));
  return distance_from(answer.at("distance"));
}

Result<std::vector<StrangeCall>> TorchReference::strange_calls(int count, int most,
                                                               std::span<const int64_t> offsets,
                                                               double seconds, uint64_t seed) {
  Json outputs = Json::array();
  for (size_t i = 0; i < task_.signature.outputs.size(); ++i)
    outputs.push_back({key_of(task_, i), name(task_.signature.outputs[i].type.dtype), offsets[i]});
  STITCH_TRY(Json answer, process_.ask({{"do", "compare_series"},
                                        {"count", count},
                                        {"mode", name(numerics_)},
                                        {"outputs", std::move(outputs)},
                                        {"updates", updates()},
                                        {"seconds", seconds},
                                        {"most", most},
                                        {"seed", seed & seed_mask}}));
  std::vector<StrangeCall> out;
  for (const Json& entry : answer.at("strange"))
    out.push_back({entry.at(0).get<int>(), entry.at(1).get<double>()});
  return out;
}

Result<double> TorchReference::strangeness(const Question& question, std::span<const Sample> samples) {
  Json outputs = Json::array();
  std::string content;
  for (size_t i = 0; i < samples.size(); ++i) {
    outputs.push_back(
        {key_of(task_, i), name(task_.signature.outputs[i].type.dtype), samples[i].start, samples[i].step});
    content.append(reinterpret_cast<const char*>(samples[i].bytes.data()), samples[i].bytes.size());
  }
  // Not in an arena: the candidate could write there until it is read.
  const fs::path file = scratch_.path() / "sample";
  STITCH_CHECK(write_file(file, content));
  STITCH_TRY(Json answer, process_.ask({{"do", "compare_call"},
                                        {"distribution", question.distribution},
                                        {"seed", question.seed & seed_mask},
                                        {"mode", name(numerics_)},
                                        {"outputs", std::move(outputs)},
                                        {"updates", updates()},
                                        {"file", file.string()}}));
  return answer.at("distance").get<double>();
}

Result<Trial> TorchReference::hold(const Question& question) {
  STITCH_CHECK(share_arena());
  Json outputs = Json::array();
  for (size_t i = 0; i < task_.signature.outputs.size(); ++i)
    outputs.push_back({key_of(task_, i), name(task_.signature.outputs[i].type.dtype)});
  Json request = {{"do", "hold"},
                  {"trial", trials_++},
                  {"distribution", question.distribution},
                  {"seed", question.seed & seed_mask},
                  {"mode", name(numerics_)},
                  {"outputs", std::move(outputs)},
                  {"updates", updates()},
                  {"own", question.own}};
  STITCH_TRY(Json answer, ask_patiently(request));
  Trial trial{.question = question};
  trial.held = std::shared_ptr<const HeldTrial>(new HeldTrial{request["trial"].get<int>()},
                                                [dropped = dropped_](const HeldTrial* held) {
                                                  dropped->push_back(held->number);
                                                  delete held;
                                                });
  STITCH_TRY(trial.inputs, inputs(question, nullptr));
  for (size_t i = 0; i < task_.signature.outputs.size(); ++i) {
    const TensorType& type = task_.signature.outputs[i].type;
    const Json& output = answer.at("outputs").at(i);
    if (output.at("shape").get<Shape>() != type.shape)
      return work_error("reference", format("the reference gives {} as '{}', the graph {}",
                                            output.at("shape").dump(), key_of(task_, i), text(type)));
    trial.truth.add({{is_floating(type.dtype) ? DType::f64 : type.dtype, type.shape, {}}, {}}, nullptr);
    trial.pytorch_distances.push_back(distance_from(output.at("pytorch")));
    if (question.distribution != "task" && trial.pytorch_distances.back()->scattered) trial.in_domain = false;
  }
  if (overflows(trial)) trial.in_domain = false;
  return trial;
}

Result<void> TorchReference::let_go() {
  if (dropped_->empty()) return {};
  STITCH_CHECK(process_.ask({{"do", "let_go"}, {"trials", std::exchange(*dropped_, {})}}));
  return {};
}

Result<void> TorchReference::put_inputs(const Trial& trial,
                                        std::span<const std::optional<runner::Place>> places) {
  Json list = Json::array();
  int among_inputs = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    if (task_.signature.inputs[i].role != "input") continue;
    if (places[i]) list.push_back({among_inputs, places[i]->offset, side_of(places[i]->where)});
    ++among_inputs;
  }
  STITCH_CHECK(ask_patiently({{"do", "put"}, {"trial", trial.held->number}, {"inputs", std::move(list)}}));
  return {};
}

Result<bool> TorchReference::same_input(const Trial& trial, size_t input, runner::Place place) {
  int among_inputs = 0;
  for (size_t i = 0; i < input; ++i) among_inputs += task_.signature.inputs[i].role == "input";
  STITCH_TRY(Json answer, ask_patiently({{"do", "same_input"},
                                         {"trial", trial.held->number},
                                         {"input", among_inputs},
                                         {"offset", place.offset},
                                         {"where", side_of(place.where)}}));
  return answer.at("same").get<bool>();
}

namespace {

Json about_output(const char* what, const Trial& trial, size_t output, DType dtype, runner::Place place) {
  return {{"do", what},           {"trial", trial.held->number}, {"output", output},
          {"dtype", name(dtype)}, {"offset", place.offset},      {"where", side_of(place.where)}};
}

}  // namespace

Result<Distance> TorchReference::distance_to(const Trial& trial, size_t output, DType dtype,
                                             runner::Place place) {
  STITCH_TRY(Json answer, ask_patiently(about_output("distance", trial, output, dtype, place)));
  return distance_from(answer.at("distance"));
}

Result<double> TorchReference::outside_of_own(const Trial& trial, size_t output, DType dtype,
                                              runner::Place place, double tolerance) {
  Json request = about_output("outside", trial, output, dtype, place);
  request["tolerance"] = tolerance;
  STITCH_TRY(Json answer, ask_patiently(std::move(request)));
  return answer.at("outside").get<double>();
}

Result<std::vector<Distance>> TorchReference::imitations(const Trial& trial, size_t output,
                                                         std::string_view by, const Trial& other) {
  STITCH_TRY(Json answer, ask_patiently({{"do", "imitate"},
                                         {"trial", trial.held->number},
                                         {"output", output},
                                         {"by", by},
                                         {"other", other.held->number}}));
  std::vector<Distance> out;
  for (const Json& one : answer.at("distances")) out.push_back(distance_from(one));
  return out;
}

}  // namespace stitch::verifier
