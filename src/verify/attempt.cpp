#include "verify/attempt.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/bulk.h"
#include "gpu/gpu_lock.h"
#include "import/python.h"
#include "program/include/stitch/program.h"
#include "reference/torch_reference.h"
#include "runner/ready.h"

namespace stitch::verifier {

namespace {

constexpr int most_tries = 20;
constexpr std::chrono::seconds between_tries{3};

std::vector<std::pair<int, int>> renewed_states(const Signature& signature) {
  std::vector<std::pair<int, int>> pairs;
  for (size_t o = 0; o < signature.outputs.size(); ++o)
    for (size_t i = 0; i < signature.inputs.size(); ++i)
      if (signature.outputs[o].role == "update" && signature.outputs[o].target == signature.inputs[i].name)
        pairs.emplace_back(static_cast<int>(i), static_cast<int>(o));
  return pairs;
}

// Parameters that are one number throughout (gains of one, shifts of zero), by name: a ModelNew that leaves
// them out is right as long as they do not change.
Result<Json> numbers_throughout(Session& session) {
  STITCH_TRY(Tensors parameters, session.reference.parameters(Weights::task));
  Json out = Json::object();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto& [type, bytes] = parameters[i];
    const auto size = static_cast<size_t>(size_of(type.dtype));
    if (!is_floating(type.dtype) || bytes.size() < size ||
        std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) != 0)
      continue;
    STITCH_TRY(oracle::Tensor one, oracle::Tensor::from_bytes(type.dtype, {1}, bytes.first(size)));
    out[session.task.signature.parameters[i].data] = one.data<double>()[0];
  }
  return out;
}

// What a Python candidate needs to make its module, and where its state belongs.
Result<std::string> extra_for(Session& session, const fs::path& init) {
  const Signature& signature = session.task.signature;
  Json extra = {{"init", init.string()},
                {"seed", 42},
                {"state", Json::array()},
                {"states", Json::array()},
                {"updates", Json::array()}};
  for (const ManifestTensor& tensor : signature.parameters) extra["state"].push_back(tensor.data);
  for (const ManifestTensor& tensor : signature.inputs) {
    if (tensor.role == "state") extra["states"].push_back(tensor.data);
    if (tensor.role == "seed") extra["seeded"] = true;
  }
  for (const ManifestTensor& tensor : signature.outputs) {
    if (tensor.role != "update") continue;
    ValueId target = session.task.graph.find(tensor.target);
    extra["updates"].push_back(session.task.graph[target].data);
  }
  STITCH_TRY(extra["numbers"], numbers_throughout(session));
  extra["training"] = mode_in(session.task.facts) != "eval";
  if (session.task.facts && session.task.facts->contains("call"))
    extra["call"] = (*session.task.facts)["call"];
  return extra.dump();
}

}  // namespace

Error found(const runner::Failure& failure, std::string_view while_doing) {
  // What refuses a file says what is wrong with it.
  const bool is_whole = failure.kind == runner::FailureKind::refused && while_doing == loading;
  return user_error(std::string(runner::name(failure.kind)),
                    is_whole ? failure.message : format("{} while {}", failure.message, while_doing));
}

// Others may fill the GPU for a while; not while they wait for this one to be done with it.
template <class Request>
auto Attempt::patiently(const Request& request) {
  auto reply = request();
  for (int tries = 1; tries < most_tries && session_->options.device == runner::Device::cuda; ++tries) {
    if (!reply.failure || reply.failure->kind != runner::FailureKind::refused ||
        reply.failure->code != STITCH_OUT_OF_MEMORY || GpuLock::is_alone())
      break;
    GpuVisit::step_out();
    std::this_thread::sleep_for(between_tries);
    reply = request();
  }
  return reply;
}

runner::Options candidate_options(const Session& session) {
  // Loading is CUDA's start, too, and processes that start it wait for each other: 26 s among sixteen (H200).
  constexpr std::chrono::milliseconds for_cuda{60'000};
  const bool cuda = session.options.device == runner::Device::cuda;
  return {
      .device = session.options.device,
      .time_limit = session.options.time_limit,
      .load_time_limit = cuda ? std::max(for_cuda, session.options.time_limit) : std::chrono::milliseconds(0),
      .memory_limit = session.options.memory_limit,
      .address_sanitizer = session.options.address_sanitizer,
      .shared_process = session.options.shared_process};
}

Result<std::shared_ptr<Attempt>> Attempt::of(Session& session, Weights weights) {
  if (session.attempt) {
    if (session.attempt->weights_ != weights) STITCH_CHECK(session.attempt->create_again(weights));
    return session.attempt;
  }
  STITCH_TRY(Attempt started, start(session, weights));
  session.attempt = std::make_shared<Attempt>(std::move(started));
  return session.attempt;
}

Result<void> ask_for_profiler(Session& session, runner::Candidate& candidate) {
  if (!session.options.profile || session.no_profiler) return {};
  auto reply = candidate.can_profile();
  if (reply.failure && reply.failure->kind == runner::FailureKind::refused) {
    session.no_profiler = reply.failure->message;
    return {};
  }
  STITCH_CHECK(or_found(std::move(reply), "a profiler was looked for"));
  session.no_profiler = "";
  return {};
}

namespace {

// A Python candidate's, too: what is the task's comes into its own folder.
Result<runner::Options> settled(const Session& session, runner::Options options) {
  if (!session.python) return options;
  if (!session.torch) return work_error("torch", "a Python candidate needs a .py task and PyTorch");
  STITCH_TRY(options.python, find_python(session.task.opened->options.python));
  // nvcc takes a minute for PyTorch's headers alone.
  options.load_time_limit = std::max(session.options.build_time_limit, session.options.time_limit);
  return options;
}

}  // namespace

void expect_candidate(const Session& session) {
  // The emulated GPU starts in no time, and one that others used is there already.
  if (session.options.device != runner::Device::cuda || session.options.shared_process) return;
  if (auto options = settled(session, candidate_options(session)))
    runner::ReadyCandidates::here().expect(*options);
}

Result<Attempt> Attempt::start(Session& session, Weights weights, runner::ThreadOrder order) {
  if (session.loaded && order == runner::ThreadOrder::forward) {
    runner::Candidate candidate = *std::move(session.loaded);
    session.loaded.reset();
    return create(session, weights, std::move(candidate), "");
  }
  runner::Options options = candidate_options(session);
  options.order = order;
  options.order_seed = session.next_seed();
  return start_with(session, weights, options,
                    [&](runner::Candidate& candidate) { return ask_for_profiler(session, candidate); });
}

Result<Attempt> Attempt::start_asked(Session& session, const BeforeLoad& before_load) {
  return start_with(session, Weights::task, candidate_options(session), before_load);
}

Result<Attempt> Attempt::start_fenced(Session& session, runner::Fence fence) {
  return start_with(session, Weights::task, candidate_options(session), {}, fence);
}

Result<Attempt> Attempt::start_under(Session& session, const std::string& tool) {
  runner::Options options = candidate_options(session);
  options.tool = tool;
  options.time_limit *= 10;
  return start_with(session, Weights::task, options);
}

Result<Attempt> Attempt::start_with(Session& session, Weights weights, const runner::Options& given,
                                    const BeforeLoad& before_load, runner::Fence fence) {
  STITCH_TRY(const runner::Options options, settled(session, given));
  STITCH_TRY(runner::Candidate candidate, runner::Candidate::start(options, session.arena));
  std::string extra;
  if (session.python) {
    STITCH_TRY(fs::path init, session.torch->init_inputs());
    STITCH_TRY(init, candidate.bring(init));
    STITCH_TRY(extra, extra_for(session, init));
  }
  if (before_load) STITCH_CHECK(before_load(candidate));
  STITCH_CHECK(or_found(candidate.load(session.library), loading));
  return create(session, weights, std::move(candidate), extra, fence);
}

Result<Attempt> Attempt::create(Session& session, Weights weights, runner::Candidate candidate,
                                const std::string& extra, runner::Fence fence) {
  Attempt attempt(session, std::move(candidate));
  for (const ManifestTensor& output : session.task.signature.outputs)
    attempt.outputs_.push_back({output.type.dtype, output.type.shape, {}});
  attempt.states_ = renewed_states(session.task.signature);
  attempt.extra_ = extra;
  STITCH_CHECK(attempt.pack(weights, fence));
  return attempt;
}

Result<void> Attempt::pack(Weights weights, runner::Fence fence) {
  session_->arena.release_to(0);
  STITCH_TRY(Tensors parameters, session_->reference.parameters(weights));
  STITCH_TRY(std::vector<runner::TensorAt> at, upload(parameters));
  STITCH_TRY(created_,
             or_found(patiently([&] { return candidate_.create(at, extra_, session_->settings, fence); }),
                      "weights were packed"));
  weights_ = weights;
  session_->arena.release_to(0);
  return {};
}

Result<void> Attempt::create_again(Weights weights, runner::Fence fence) { return pack(weights, fence); }

Result<void> Attempt::create_other(Weights weights) {
  const int64_t mark = session_->arena.mark();
  STITCH_TRY(Tensors parameters, session_->reference.parameters(weights));
  STITCH_TRY(std::vector<runner::TensorAt> at, upload(parameters));
  STITCH_CHECK(or_found(patiently([&] { return candidate_.create_other(at, session_->settings); }),
                        "a second program was created"));
  session_->arena.release_to(mark);
  return {};
}

Result<int64_t> Attempt::destroy_other() {
  return or_found(candidate_.destroy_other(), "a second program was destroyed");
}

runner::DeviceArena* Attempt::device_arena() {
  // On a CPU the device's memory is the host's: nothing to gain for a Python candidate.
  const bool on_cpu = session_->python && session_->options.device != runner::Device::cuda;
  if (!session_->torch || on_cpu || !candidate_.can_share() || cannot_share_) return nullptr;
  auto arena = session_->torch->device_arena();
  if (arena && (!*arena || (*arena)->number() == shared_)) return *arena;
  std::string trouble;
  if (!arena) {
    trouble = arena.error().message;
  } else if (auto reply = candidate_.share(**arena); reply.failure) {
    trouble = reply.failure->message;
  } else {
    shared_ = (*arena)->number();
    return *arena;
  }
  cannot_share_ = true;
  std::string note = "large tensors go through the host's memory: " + trouble;
  if (std::ranges::find(session_->notes, note) == session_->notes.end()) session_->notes.push_back(note);
  return nullptr;
}

Result<void> Attempt::give_back_device_arena() {
  if (!shared_) return {};
  shared_.reset();
  STITCH_CHECK(or_found(candidate_.unshare(), "shared memory was given back"));
  session_->torch->free_device_arena();
  return {};
}

// What a held trial's tensors lack in bytes comes from the reference, straight into an arena.
Result<std::vector<runner::TensorAt>> Attempt::upload(const Tensors& tensors, const Trial* held) {
  std::vector<runner::TensorAt> at;
  std::vector<std::optional<runner::Place>> elsewhere(tensors.size());
  runner::DeviceArena* device = held ? device_arena() : nullptr;
  if (device) device->clear();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorBytes& tensor = tensors[i];
    runner::TensorAt place{{tensor.type.dtype, tensor.type.shape, {}}};
    const bool held_there = held && tensor.bytes.empty();
    if (held_there && device) {
      place.offset = device->allocate(tensor.type.bytes());
      place.where = runner::Where::device;
    } else {
      STITCH_TRY(place.offset, session_->arena.allocate(tensor.type.bytes()));
    }
    if (held_there)
      elsewhere[i] = {place.offset, place.where};
    else
      copy_bulk(tensor.bytes, session_->arena.bytes(place.offset, std::ssize(tensor.bytes)).data());
    at.push_back(std::move(place));
  }
  if (held) STITCH_CHECK(session_->torch->put_inputs(*held, elsewhere));
  return at;
}

Result<int> Attempt::place(const Tensors& inputs, const Trial* held) {
  int64_t mark = session_->arena.mark();
  STITCH_TRY(std::vector<runner::TensorAt> at, upload(inputs, held));
  STITCH_TRY(int set, or_found(patiently([&] { return candidate_.place(at); }), "inputs were uploaded"));
  session_->arena.release_to(mark);
  if (held) held_.insert(set);
  return set;
}

Result<int> Attempt::place(const Tensors& inputs) { return place(inputs, nullptr); }
Result<int> Attempt::place(const Trial& trial) { return place(trial.inputs, trial.held ? &trial : nullptr); }

Result<void> Attempt::drop(int set) {
  held_.erase(set);
  STITCH_CHECK(or_found(candidate_.drop(set), "inputs were freed"));
  return {};
}

Result<Observed> Attempt::ask(const Trial& trial, const runner::CallOptions& options) {
  session_->arena.release_to(0);
  if (set_ >= 0) STITCH_CHECK(drop(std::exchange(set_, -1)));
  STITCH_TRY(set_, place(trial));
  return call(set_, options);
}

Result<Observed> Attempt::ask_in_place(const Trial& trial, const runner::CallOptions& options) {
  session_->arena.release_to(0);
  const int64_t mark = session_->arena.mark();
  STITCH_TRY(std::vector<runner::TensorAt> at, upload(trial.inputs, trial.held ? &trial : nullptr));
  STITCH_CHECK(or_found(patiently([&] { return candidate_.place_into(set_, at); }), "inputs were uploaded"));
  session_->arena.release_to(mark);
  return call(set_, options);
}

Result<Observed> Attempt::repeat(const runner::CallOptions& options) { return call(set_, options); }

Result<runner::Called> Attempt::run_again(const runner::CallOptions& options) { return run(set_, options); }

Result<runner::Called> Attempt::run(int set, const runner::CallOptions& options) {
  session_->arena.release_to(0);
  return or_found(patiently([&] { return candidate_.call(set, outputs_, options, states_); }), "it ran");
}

Result<int> Attempt::call_with(std::span<const runner::TensorAt> inputs,
                               std::span<const runner::TensorAt> outputs, const std::string& what) {
  return or_found(patiently([&] { return candidate_.call_with(inputs, outputs); }), "it was given " + what);
}

Result<int> Attempt::create_with(std::span<const runner::TensorAt> parameters, const std::string& what) {
  return or_found(patiently([&] { return candidate_.create_with(parameters); }),
                  "stitch_create was given " + what);
}

Result<Observed> Attempt::call(int set, const runner::CallOptions& options) {
  Observed observed;
  STITCH_TRY(observed.called, run(set, options));
  STITCH_TRY(observed.outputs, fetch_outputs(set));
  return observed;
}

// A candidate can write to the arena at any time: what may be read twice is copied, except where that would
// be gigabytes, which are read once.
Result<Tensors> Attempt::fetch(const std::vector<TensorType>& types) {
  auto stays = [&](const TensorType& type) { return type.bytes() > session_->options.hold_above; };
  std::vector<runner::OutputPiece> pieces(types.size());
  auto make_room = [&](bool for_those_that_stay) -> Result<void> {
    for (size_t i = 0; i < types.size(); ++i) {
      if (stays(types[i]) != for_those_that_stay) continue;
      pieces[i] = {static_cast<int>(i), {{0, types[i].bytes()}}};
      STITCH_TRY(pieces[i].offset, session_->arena.allocate(types[i].bytes()));
    }
    return {};
  };
  STITCH_CHECK(make_room(true));
  const int64_t mark = session_->arena.mark();
  STITCH_CHECK(make_room(false));
  STITCH_CHECK(or_found(candidate_.fetch_outputs(pieces), "outputs were fetched"));
  Tensors tensors;
  for (size_t i = 0; i < types.size(); ++i) {
    std::span<const std::byte> there = session_->arena.bytes(pieces[i].offset, types[i].bytes());
    if (stays(types[i])) {
      tensors.add({types[i], there}, nullptr);
    } else {
      BulkBytes copy = bulk_copy_of(there);
      tensors.add({types[i], copy.bytes}, copy.owner);
    }
  }
  session_->arena.release_to(mark);
  return tensors;
}

Result<Tensors> Attempt::fetch_outputs(int set) {
  runner::DeviceArena* device = held_.contains(set) ? device_arena() : nullptr;
  if (!device) return fetch(outputs_);
  device->clear();
  Tensors tensors;
  std::vector<runner::OutputPiece> pieces;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const int64_t size = outputs_[i].bytes(), offset = device->allocate(size);
    pieces.push_back({static_cast<int>(i), {{0, size}}, offset, runner::Where::device});
    tensors.add({outputs_[i], device->bytes(offset, size)}, nullptr);
  }
  STITCH_CHECK(or_found(candidate_.fetch_outputs(pieces), "outputs were fetched"));
  return tensors;
}

Result<bool> Attempt::input_unchanged(const Trial& trial, size_t index) {
  const TensorBytes& before = trial.inputs[index];
  if (runner::DeviceArena* device = trial.held && before.bytes.empty() ? device_arena() : nullptr) {
    device->clear();
    const runner::Place place{device->allocate(before.type.bytes()), runner::Where::device};
    STITCH_CHECK(or_found(candidate_.fetch_input(set_, static_cast<int>(index), place.offset, place.where),
                          "inputs were fetched"));
    return session_->torch->same_input(trial, index, place);
  }
  int64_t mark = session_->arena.mark(), size = before.type.bytes();
  STITCH_TRY(int64_t offset, session_->arena.allocate(size));
  STITCH_CHECK(
      or_found(candidate_.fetch_input(set_, static_cast<int>(index), offset), "inputs were fetched"));
  bool elsewhere = trial.held && before.bytes.empty();
  bool same = !elsewhere && equal_bulk(session_->arena.bytes(offset, size), before.bytes);
  if (elsewhere) {
    STITCH_TRY(same, session_->torch->same_input(trial, index, {offset}));
  }
  session_->arena.release_to(mark);
  return same;
}

}  // namespace stitch::verifier
