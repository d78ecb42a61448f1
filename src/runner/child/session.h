// Executes requests and returns answers.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/machine/descriptor.h"
#include "runner/child/arena_view.h"
#include "runner/child/backend.h"
#include "runner/child/guarded_buffer.h"
#include "runner/child/loaded_program.h"

namespace stitch::runner {

// Sets of inputs, each with outputs, whose addresses are reused from call to call.
struct SeriesSets {
  std::vector<std::vector<GuardedBuffer>> inputs, outputs;
};

class Session {
 public:
  // The answer without its token. A device Error is a fault.
  Json answer(const Json& request);
  // A descriptor received with the next request.
  void take(Descriptor descriptor) { given_ = std::move(descriptor); }

 private:
  struct Refusal {
    int status;
    std::string message;
  };
  using Buffers = std::vector<GuardedBuffer>;

  Json dispatch(const Json& request);
  Json hello(const Json& request);
  Json share(const Json& request);
  Json unshare();
  Json load(const Json& request);
  Json unload();
  Json take_arena();
  Json create(const Json& request);
  Json create_other(const Json& request);
  Json destroy_other();
  Json make(const Json& request, StitchProgram*& program);
  void choose(const Json& settings);
  Json place(const Json& request);
  Json place_into(const Json& request);
  Json drop(const Json& request);
  Json time_region(const Json& request);
  Json call(const Json& request);
  Json call_in_stream(const Json& request, InStream in_stream);
  Json fetch_outputs(const Json& request);
  Json fetch_input(const Json& request);
  Json prepare_series(const Json& request);
  Json series(const Json& request);
  Json can_profile();
  Json profile(const Json& request);
  Json profile_region(const Json& request);
  Json count(const Json& request);
  Json call_with(const Json& request);
  Json create_with(const Json& request);
  Json status_answer(int status);
  Json destroy();

  Buffers upload(const Json& tensors, std::string_view role, Fence fence = Fence::none);
  void fill(GuardedBuffer& buffer, const TensorAt& from);
  // In the device arena.
  Address shared(int64_t offset, int64_t bytes) const;
  void fetch(const Place& to, Address from, int64_t bytes);
  Buffers zeros(const Json& types);
  Buffers with_any_content(const Json& types);
  // Where a call's tensors are placed: misaligned, or next to an inaccessible page.
  struct Placement {
    int misalign = 0;     // elements
    int misaligned = -1;  // only this one, inputs counted first; -1: all
    Fence fence = Fence::none;
    bool is_odd() const { return misalign > 0 || fence != Fence::none; }
    int of(size_t tensor) const {
      return misaligned < 0 || misaligned == static_cast<int>(tensor) ? misalign : 0;
    }
  };
  static Placement placement_in(const Json& request);
  GuardedBuffer buffer_at(const TensorType& type, const Placement& placement, size_t tensor, uint32_t word);
  Buffers fresh_outputs(const Json& types, uint64_t poison, const Placement& placement, size_t inputs,
                        Filling filling = Filling::nan);
  // Copies the last call's results into outputs of the same types.
  void leave_old_results(Buffers& outputs);
  Buffers& set(const Json& request);
  // Outputs of timed calls on a set, at reused addresses, like an allocator's.
  Buffers* timed_outputs(const Json& request, int set);
  void put_back_outputs();
  void warm_up(const Json& request);
  // Wall and event time of a call; the device is idle before and after.
  std::pair<int64_t, int64_t> clock(int region, std::vector<StitchTensor>& inputs,
                                    std::vector<StitchTensor>& outputs);
  void fetch_slot(const Slots& slots, int64_t call, Buffers& inputs);
  void leave_outputs(const Slots& slots, int64_t call, const Buffers& outputs);
  void leave_inputs(const Slots& slots, int64_t call, const Buffers& inputs);
  void time_in_series(const Json& request, size_t call, Json& reply);
  void run(int region, std::vector<StitchTensor>& inputs, std::vector<StitchTensor>& outputs);
  std::string damage_of(const Buffers& buffers, std::string_view role);

  std::unique_ptr<Backend> backend_;
  ArenaView arena_;
  Descriptor given_;
  Address shared_ = 0;
  int64_t shared_bytes_ = 0;
  std::optional<LoadedProgram> library_;
  StitchProgram *program_ = nullptr, *other_program_ = nullptr;
  HandedArguments handed_inputs_, handed_outputs_;
  std::map<int, Buffers> sets_;
  int next_set_ = 0;
  Buffers outputs_;                       // of the last call
  std::map<int, Buffers> timed_outputs_;  // by set
  int outputs_of_ = -1;                   // the set that outputs_ belong to, or -1
  std::optional<SeriesSets> series_;
};

}  // namespace stitch::runner
