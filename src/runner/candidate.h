// A candidate: a sandboxed child process that answers requests over a private channel. Nothing it says
// decides anything; tensors cross through memory that this side owns, and this side compares them.
//
// The same protocol (README) is spoken by stitch-runner, which loads a compiled program for a GPU or the
// emulated one, and by the Python process that holds a ModelNew.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "base/machine/process.h"
#include "graph/type.h"
#include "runner/activity.h"
#include "runner/arena.h"

namespace stitch::runner {

enum class Device : uint8_t { emulated, cuda };

// The order in which the emulated GPU runs a block's threads; results that differ reveal a missing barrier.
// Lagging: one warp or half of them, chosen anew at each launch, runs only when no other can.
enum class ThreadOrder : uint8_t { forward, reversed, shuffled, lagging };

struct Options {
  Device device = Device::emulated;
  fs::path python;  // if set, the candidate is a Python file run by this interpreter
  std::chrono::milliseconds time_limit{60'000};  // for one request, then it is killed
  // For load and create, where a Python file compiles its kernels; 0: time_limit.
  std::chrono::milliseconds load_time_limit{0};
  int64_t memory_limit = 0;  // of host memory in bytes; 0: half of the machine's
  ThreadOrder order = ThreadOrder::forward;
  uint64_t order_seed = 1;  // of the shuffled and the lagging order
  bool address_sanitizer = false;
  // compute-sanitizer's tool around it: memcheck, racecheck, initcheck. Both are sandboxed; where the walls
  // can't confine a tool (sandbox::can_confine_tools), the candidate doesn't start.
  std::string tool;
  // Reuse the process for further candidates of this thread, so that CUDA starts once (0.4 s; 5 to 8 s each
  // with sixteen starting at a time). Candidates could affect each other through its memory: only for
  // programs of our own and quick checks, never for a final verdict.
  bool shared_process = false;
  // A hardware-counter profiler runs inside the process, which is then not sealed: only for trusted programs.
  bool profiler = false;
  // Set to true to cancel a process that is starting.
  const std::atomic<bool>* given_up = nullptr;
  // Folders it may read besides the system's. A program in one of them is loaded in place; any other is first
  // copied into the candidate's scratch folder.
  std::vector<fs::path> readable;
};

enum class FailureKind : uint8_t {
  refused,         // a status other than STITCH_OK, with the program's message
  crashed,         // by a signal, or a fault reported by the emulated GPU
  hung,            // past the time limit
  out_of_memory,   // past the memory limit
  killed,          // by the system, though within its limit: most likely for lack of memory
  forbidden,       // a system call that the sandbox refuses
  left_early,      // exited by itself, with any code
  output_limit,    // printed too much
  broken_protocol  // sent a malformed answer
};
std::string_view name(FailureKind kind);

struct Failure {
  FailureKind kind = FailureKind::refused;
  int code = 0;         // status, signal or exit code
  std::string message;  // one line, for people
  std::string printed;  // the tail of what it wrote to stdout and stderr
};

// After any failure but `refused` the candidate is dead and every later call fails alike.
template <class T>
struct Reply {
  std::optional<Failure> failure;
  T value{};
  bool ok() const { return !failure; }
};

struct Loaded {
  std::string manifest;  // JSON text from the program
  bool has_regions = false;
  std::map<std::string, int64_t> libraries;  // versions of cublas, cublasLt and cudnn, if linked
};

// By name; settings not named keep the program's defaults.
using Settings = std::map<std::string, int64_t>;

struct Created {
  double seconds = 0;
  int64_t device_bytes = 0;   // device memory taken by packing; 0: not known
  bool given_weights = true;  // false: the ModelNew has no place for them and keeps its own
};

enum class Where : uint8_t { host, device };  // in the arena, or in the shared device arena

struct Place {
  int64_t offset = 0;
  Where where = Where::host;
};

// Bytes of a contiguous tensor in an arena.
struct TensorAt {
  TensorType type;
  int64_t offset = 0;
  Where where = Where::host;
};

// What output memory holds before a call.
enum class Filling : uint8_t {
  nan,         // integers: a pattern; differs between poison numbers
  finite,      // numbers that look like results
  old_result,  // of an earlier call
};

// On which side of a tensor there is inaccessible memory, so that out-of-bounds reads are detected. Emulated
// GPU only.
enum class Fence : uint8_t {
  none,
  end,        // after it, its start aligned to 16 bytes
  exact_end,  // right after its last byte
  start,      // before it
  host,       // as `end`, and host code of the program can't touch it at all
  read_only,  // as `end`, and inputs can't be written to
};

// How the call is placed in the caller's stream. Its inputs hold garbage until copies in that stream write
// the true ones right before the call, and its outputs are copied in that stream right after it: work not
// ordered with the stream reads garbage or misses the copy.
enum class InStream : uint8_t {
  idle,      // alone on an idle device
  held,      // after other work of the caller that takes a while
  captured,  // in a CUDA graph, which is then run
  beside,    // captured, and a call of the second program on another stream is a parallel branch of the graph
};

struct CallOptions {
  int region = -1;      // ≥ 0: this region alone
  uint64_t poison = 0;  // seed of the pattern in outputs and scratch before the call
  Filling filling = Filling::nan;
  bool states_in_place = false;  // updates overwrite the states they renew
  bool timed = false;            // between device-wide synchronisations
  int64_t flush_bytes = 0;       // written to the device's cache before a timed call
  int misalign = 0;              // outputs and inputs start this many elements past an aligned address
  int misaligned = -1;           // only this one, inputs counted first; -1: all of them
  Fence fence = Fence::none;     // around copies of the inputs and around outputs
  InStream in_stream = InStream::idle;
};

enum class Captured : uint8_t {
  complete,
  unjoined,  // work was left on a stream that isn't joined
  broken,    // the program did something that can't be captured
};

struct Called {
  int64_t wall_ns = 0, event_ns = 0;  // of a timed call, measured by the child
  int64_t round_trip_ns = 0;          // measured by this side: request, flush, call and answer
  // Which tensor's guard zone was written to; empty: none.
  std::string damage;
  // Of the process. The device's worker threads start with the first calls, so only later ones tell.
  int threads_before = 0, threads_after = 0;
  int64_t device_bytes = 0;  // peak device memory after the call, where it is known
  int64_t host_bytes = 0;    // that the process has allocated, of a compiled program
  Captured captured = Captured::complete;
  // A ModelNew returned a tensor of an earlier call that has been overwritten since, as the process reports.
  bool earlier_result = false;
};

// Hardware counters of one launch, by Nsight Compute's names, in the GPU's units (times in ns).
using Counts = std::map<std::string, double>;

struct ProfileOptions {
  bool host_calls = false;  // also calls of the CUDA API, where the profiler sees them
  bool warm = false;        // after the same call without profiler: graphs captured, kernels loaded
  bool outside = false;     // a profiler around the process records; no activities here
};

// A region run alone, for its time.
struct RegionClock {
  int repeats = 5;          // fewer for a slow region
  int64_t flush_bytes = 0;  // written to the device's cache before each
  bool profiler = true;     // false: CUDA events only
};
struct RegionRun {
  int64_t device_ns = 0;  // kernels, copies and fills, summed; 0: no profiler
  int activities = 0;     // how many of them
  int64_t event_ns = 0;   // between CUDA events around it
};

struct Range {
  int64_t begin = 0, end = 0;  // bytes
};

// Back-to-back calls whose inputs and outputs lie in an arena that another process fills and reads. The child
// copies them, so the program sees the same few addresses again, as from an allocator.
struct Slots {
  // Offsets in an arena: of the first call, between calls, and of each tensor within a call. An input at -1
  // keeps its prepared contents.
  int64_t inputs_at = 0, outputs_at = 0, inputs_step = 0, outputs_step = 0;
  std::vector<int64_t> inputs, outputs;
  Where where = Where::host;
};

struct SeriesOptions {
  int count = 1;
  bool run = true;          // false: everything but the calls, allowed before a program is loaded
  bool timed = false;       // each call alone, measured by the child; its inputs are copied back afterwards
  int64_t flush_bytes = 0;  // written to the device's cache before a timed call
  uint64_t poison = 0;
  std::vector<Filling> fillings;  // of the outputs of timed calls; other calls find old results
};

struct SeriesTimes {
  std::vector<int64_t> wall_ns, event_ns;  // of timed calls
  std::string damage;
};

// Ranges of an output of the last call, concatenated into an arena.
struct OutputPiece {
  int output = 0;
  std::vector<Range> ranges;
  int64_t offset = 0;
  Where where = Where::host;
};

class Candidate {
 public:
  // An Error means a failure of the machine: no runner, device or memory. `arena` must outlive the candidate,
  // and so must the calling thread: the candidate dies with it unless its process was ready (ready.h).
  static Result<Candidate> start(const Options& options, Arena& arena);
  // The same without arena and program, for ready.h.
  static Result<Candidate> start_empty(const Options& options);
  Candidate(Candidate&&) noexcept;
  Candidate& operator=(Candidate&&) = delete;
  ~Candidate();  // kills it and its descendants

  // Copies a file to where the candidate may read it; returns the path.
  Result<fs::path> bring(const fs::path& file);
  Reply<Loaded> load(const fs::path& program);  // a shared library or, for Python, the file with ModelNew
  // `extra` (a JSON object) reaches only Python candidates: constructor arguments and weight names. When
  // settings change, pass all that were ever set.
  Reply<Created> create(std::span<const TensorAt> parameters, std::string_view extra = {},
                        const Settings& settings = {}, Fence fence = Fence::none);
  // A second program of the library, alive beside the first, which is the one that is called; and how much of
  // the device's memory is in use when it is gone. Not of Python candidates.
  Reply<std::monostate> create_other(std::span<const TensorAt> parameters, const Settings& settings);
  Reply<int64_t> destroy_other();
  // Device memory from another process as the device arena, in place of an earlier one. Refused where the
  // device or driver can't.
  Reply<std::monostate> share(const DeviceArena& arena);
  Reply<std::monostate> unshare();
  // A tool around the candidate wouldn't see the other process's writes.
  bool can_share() const;
  // Uploads inputs to new device memory, each tensor between guard zones. Returns the set's number.
  Reply<int> place(std::span<const TensorAt> inputs);
  // Overwrites a set's inputs in place: catches programs that cache results by address.
  Reply<int> place_into(int set, std::span<const TensorAt> inputs);
  Reply<std::monostate> drop(int set);
  // Runs on a set's inputs. Outputs are new, poisoned and guarded, and replace those of the last call.
  // `states` pairs inputs with the outputs that renew them, for states_in_place.
  Reply<Called> call(int set, std::span<const TensorType> outputs, const CallOptions& options = {},
                     std::span<const std::pair<int, int>> states = {});
  // One request, since a model may have hundreds of outputs.
  Reply<std::monostate> fetch_outputs(std::span<const OutputPiece> pieces);
  Reply<std::monostate> fetch_output(int output, std::span<const Range> ranges, int64_t arena_offset,
                                     Where where = Where::host);
  Reply<std::monostate> fetch_input(int set, int input, int64_t arena_offset, Where where = Where::host);
  // Allocates sets of inputs with these contents, each with outputs.
  Reply<std::monostate> prepare_series(int sets, std::span<const TensorAt> inputs,
                                       std::span<const TensorType> outputs);
  // Back-to-back calls; the device is idle when this returns, so the caller can time it.
  Reply<SeriesTimes> series(const Slots& slots, const SeriesOptions& options);
  // Refused without a profiler. Only an answer from before `load` can be trusted.
  Reply<std::monostate> can_profile();
  Reply<std::vector<Activity>> profile(int set, std::span<const TensorType> outputs,
                                       const ProfileOptions& options = {});
  // One region alone, on arbitrary contents.
  Reply<std::vector<Activity>> profile_region(int region, std::span<const TensorType> inputs,
                                              std::span<const TensorType> outputs);
  // Hardware counters of each kernel launched by one call, in order; a CUDA graph is one launch. Needs
  // Options::profiler. Refused where they can't be read.
  Reply<std::vector<Counts>> count(int set, std::span<const TensorType> outputs,
                                   std::span<const std::string> counters);
  Reply<std::monostate> destroy();
  // Times of one region alone, run by run, measured by the child, without the first run of the process.
  Reply<std::vector<RegionRun>> time_region(int region, std::span<const TensorType> inputs,
                                            std::span<const TensorType> outputs, const RegionClock& clock);

  // Calls the ABI with arbitrary arguments, to test how the program answers wrong ones.
  Reply<int> call_with(std::span<const TensorAt> inputs, std::span<const TensorAt> outputs);
  // The same of creating another program. Not of Python candidates.
  Reply<int> create_with(std::span<const TensorAt> parameters);

  int process_number() const;
  // CPU time of its process in ns, from the kernel.
  int64_t cpu_time() const;
  bool held_others() const;     // its process held others before; retry a failure in a new process
  std::string printed() const;  // the tail so far
  // Lets it and its tools exit by themselves; returns the tail of their output.
  std::string finish();

 private:
  Candidate();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stitch::runner
