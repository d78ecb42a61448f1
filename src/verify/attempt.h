// A candidate process with weights in it, asked trial by trial. Its failures come back as findings.
#pragma once

#include <functional>
#include <set>

#include "runner/candidate.h"
#include "verify/session.h"

namespace stitch::verifier {

// How candidates of this session are started.
runner::Options candidate_options(const Session& session);

// One more process of that kind will be wanted: on a GPU it starts ahead.
void expect_candidate(const Session& session);

// Asked before the candidate is loaded: afterwards "no profiler" may be the candidate's doing.
Result<void> ask_for_profiler(Session& session, runner::Candidate& candidate);

inline constexpr std::string_view loading = "it was loaded";
// What a failure of the candidate is called in a verdict.
Error found(const runner::Failure& failure, std::string_view while_doing);

template <class T>
Result<T> or_found(runner::Reply<T> reply, std::string_view while_doing) {
  if (reply.failure) return found(*reply.failure, while_doing);
  return std::move(reply.value);
}

struct Observed {
  Tensors outputs;  // large ones lie in an arena until the next question, or one about inputs
  runner::Called called;
};

class Attempt {
 public:
  // Starts, loads and creates with the given weights.
  static Result<Attempt> start(Session& session, Weights weights,
                               runner::ThreadOrder order = runner::ThreadOrder::forward);

  // The same in a process of its own, which is asked something while it can still be believed: no code of the
  // candidate is in it yet.
  using BeforeLoad = std::function<Result<void>(runner::Candidate&)>;
  static Result<Attempt> start_asked(Session& session, const BeforeLoad& before_load);

  // The session's own, which other gates asked before, made anew where it has other weights: a process with
  // the GPU costs a second.
  static Result<std::shared_ptr<Attempt>> of(Session& session, Weights weights);

  // A process with every parameter beside an inaccessible page. Only the emulated GPU has such.
  static Result<Attempt> start_fenced(Session& session, runner::Fence fence);

  // The same under a tool of compute-sanitizer.
  static Result<Attempt> start_under(Session& session, const std::string& tool);

  // The same process with the program made anew, with the session's settings; placed inputs stay.
  Result<void> create_again(Weights weights = Weights::task, runner::Fence fence = runner::Fence::none);
  // Another program with these weights, alive beside the one that is asked; the device's memory in use after.
  Result<void> create_other(Weights weights);
  Result<int64_t> destroy_other();

  // Uploads a trial's inputs and runs; they stay on the device until the next question.
  Result<Observed> ask(const Trial& trial, const runner::CallOptions& options = {});
  // The same where the inputs of the question before are, as a caller does that uses its buffers again.
  Result<Observed> ask_in_place(const Trial& trial, const runner::CallOptions& options = {});
  // The same on inputs that are there already.
  Result<Observed> repeat(const runner::CallOptions& options = {});
  // The same where the outputs are not compared.
  Result<runner::Called> run_again(const runner::CallOptions& options = {});
  // A trial's inputs placed to stay; returns the set's number.
  Result<int> place(const Trial& trial);
  Result<int> place(const Tensors& inputs);
  Result<Observed> call(int set, const runner::CallOptions& options);
  Result<void> drop(int set);
  // The ABI with whatever arguments: how a program answers to wrong ones.
  Result<int> call_with(std::span<const runner::TensorAt> inputs, std::span<const runner::TensorAt> outputs,
                        const std::string& what);
  Result<int> create_with(std::span<const runner::TensorAt> parameters, const std::string& what);
  // Whole outputs of the last call, which had these types.
  Result<Tensors> fetch(const std::vector<TensorType>& types);
  // The program's outputs, of the last call on this set: of a held trial, in the device arena.
  Result<Tensors> fetch_outputs(int set);
  // Memory that others may want meanwhile; it is made again when a held trial needs it.
  Result<void> give_back_device_arena();
  // Is an input of the last trial on the device as it was uploaded?
  Result<bool> input_unchanged(const Trial& trial, size_t index);

  runner::Candidate& candidate() { return candidate_; }
  const std::vector<TensorType>& output_types() const { return outputs_; }
  double create_seconds() const { return created_.seconds; }
  bool has_given_weights() const { return created_.given_weights; }
  int64_t device_bytes() const { return created_.device_bytes; }

 private:
  Attempt(Session& session, runner::Candidate candidate)
      : session_(&session), candidate_(std::move(candidate)) {}
  static Result<Attempt> start_with(Session& session, Weights weights, const runner::Options& options,
                                    const BeforeLoad& before_load = {},
                                    runner::Fence fence = runner::Fence::none);
  static Result<Attempt> create(Session& session, Weights weights, runner::Candidate candidate,
                                const std::string& extra, runner::Fence fence = runner::Fence::none);
  Result<void> pack(Weights weights, runner::Fence fence = runner::Fence::none);
  Result<std::vector<runner::TensorAt>> upload(const Tensors& tensors, const Trial* held = nullptr);
  Result<int> place(const Tensors& inputs, const Trial* held);
  Result<runner::Called> run(int set, const runner::CallOptions& options);
  // Shared with this candidate from now on; null where the host's arena has to do.
  runner::DeviceArena* device_arena();
  template <class Request>
  auto patiently(const Request& request);  // its reply

  Session* session_;
  runner::Candidate candidate_;
  std::vector<TensorType> outputs_;
  std::string extra_;                        // for Python candidates
  std::vector<std::pair<int, int>> states_;  // inputs and the outputs that renew them
  runner::Created created_;
  Weights weights_ = Weights::task;
  int set_ = -1;
  std::set<int> held_;         // sets whose trials are
  std::optional<int> shared_;  // the number of the device arena that the candidate has
  bool cannot_share_ = false;
};

}  // namespace stitch::verifier
