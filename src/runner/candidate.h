// A candidate at work: a child process of its own, sandboxed, spoken to over a private channel. Nothing it
// says decides anything; tensors cross through memory that this side owns, and this side compares them.
//
// The same protocol (README) is spoken by the runner, which loads a compiled program for a GPU or for the
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
#include "base/process.h"
#include "graph/type.h"
#include "runner/activity.h"
#include "runner/arena.h"
#include "runner/device_arena.h"

namespace stitch::runner {

enum class Device : uint8_t { emulated, cuda };

// How the emulated GPU orders the threads of a block. Results that differ betray a missing barrier.
// Lagging: one warp or half of them, others at each launch, run only when no other can.
enum class ThreadOrder : uint8_t { forward, reversed, shuffled, lagging };

struct Options {
  Device device = Device::emulated;
  fs::path python;  // set: the candidate is a Python file, run by this interpreter
  std::chrono::milliseconds time_limit{60'000};  // for one request; whoever takes longer is killed
  // For load and create, where a Python file compiles its kernels; 0: the same.
  std::chrono::milliseconds load_time_limit{0};
  int64_t memory_limit = 0;  // of host memory in bytes; 0: half of the machine's
  ThreadOrder order = ThreadOrder::forward;
  uint64_t order_seed = 1;  // of the shuffled and the lagging order
  bool address_sanitizer = false;
  // compute-sanitizer's tool around it: memcheck, racecheck, initcheck. Both stand behind the walls; where
  // these can't hold a tool (sandbox::can_confine_tools), such a candidate doesn't start.
  std::string tool;
  // Its process may have held other candidates of this thread, and may hold more afterwards: CUDA is started
  // once for all of them (0.4 s; 5 to 8 s each where sixteen start it at a time). They could meet in its
  // memory, so this is for programs of our own and for quick looks, never for a verdict that lasts.
  bool shared_process = false;
  // A profiler of hardware counters works inside the process, which stays without its inner walls for it:
  // whoever asks for one trusts the program.
  bool profiler = false;
  // A process that starts ends when this becomes true: nobody wants it any more.
  const std::atomic<bool>* given_up = nullptr;
  // Folders it may read besides the system's. A program in one of them is loaded where it lies; any other is
  // copied into the candidate's scratch folder first.
  std::vector<fs::path> readable;
};

enum class FailureKind : uint8_t {
  refused,         // a status other than STITCH_OK, with the program's message
  crashed,         // by a signal, or the emulated GPU reported a fault
  hung,            // past the time limit
  out_of_memory,   // past the memory limit
  killed,          // by the system, though within its limit: most likely for lack of memory
  forbidden,       // a system call the sandbox doesn't allow
  left_early,      // exited by itself, whatever its code
  too_talkative,   // past the limit of what may be printed
  broken_protocol  // said something that is no answer
};
std::string_view name(FailureKind kind);

struct Failure {
  FailureKind kind = FailureKind::refused;
  int code = 0;         // the status, the signal or the exit code
  std::string message;  // one line, for people
  std::string printed;  // the tail of what it wrote to stdout and stderr
};

// What is left after a failure other than `refused` is a dead candidate: every later call fails alike.
template <class T>
struct Reply {
  std::optional<Failure> failure;
  T value{};
  bool ok() const { return !failure; }
};

struct Loaded {
  std::string manifest;  // JSON text as the program gave it
  bool has_regions = false;
  std::map<std::string, int64_t>
      libraries;  // cublas, cublasLt, cudnn: their versions, if the program is linked to them
};

// Of the program's settings, by name; the others have the values that it ships with.
using Settings = std::map<std::string, int64_t>;

struct Created {
  double seconds = 0;
  int64_t device_bytes = 0;   // device memory that packing took; 0 where it isn't known
  bool given_weights = true;  // a ModelNew may have no place for them, and then has its own
};

enum class Where : uint8_t { host, device };  // in the arena, or in the device arena that is shared

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

// What the memory of outputs holds before a call.
enum class Filling : uint8_t {
  nan,         // integers: a pattern; as the others, it differs from poison to poison
  finite,      // numbers that look like results
  old_result,  // what an earlier call left
};

// Where a tensor lies beside memory that nobody can touch: reads outside of it are noticed, too. The emulated
// GPU's alone.
enum class Fence : uint8_t {
  none,
  end,        // behind it, its start aligned to 16 bytes
  exact_end,  // behind its last byte
  start,      // before it
};

// How a call stands in the caller's stream. Its inputs hold garbage until a copy in that stream brings the
// true ones, right before the call, and its outputs are copied in that stream, right behind it: work that
// isn't ordered with the stream reads the one or misses the other.
enum class InStream : uint8_t {
  idle,      // alone on an idle device
  held,      // behind work of the caller's that takes a while
  captured,  // becomes part of a CUDA graph, which is run
};

struct CallOptions {
  int region = -1;      // this region alone
  uint64_t poison = 0;  // what outputs and scratch hold before: a pattern made from this number
  Filling filling = Filling::nan;
  bool states_in_place = false;  // updates are written over the states they renew
  bool timed = false;            // between device-wide synchronisations
  int64_t flush_bytes = 0;       // written to the device's cache before a timed call
  int misalign = 0;              // outputs and inputs start this many elements past an aligned address
  int misaligned = -1;           // only this one, inputs counted first; -1: all of them
  Fence fence = Fence::none;     // around copies of the inputs, and the outputs
  InStream in_stream = InStream::idle;
};

// What became of a capture.
enum class Captured : uint8_t {
  complete,
  unjoined,  // work was left on a stream that the caller's doesn't wait for
  broken,    // the program did what can't be captured
};

struct Called {
  int64_t wall_ns = 0, event_ns = 0;  // of a timed call, by the child's word
  int64_t round_trip_ns = 0;          // by this side's clock: request, flush, call and answer
  // Which tensor's surroundings were written to, in words; empty: none.
  std::string damage;
  // Of the process. The device's own workers start with the first calls: only later ones tell.
  int threads_before = 0, threads_after = 0;
  int64_t device_bytes = 0;  // peak device memory seen after the call, where it is known
  Captured captured = Captured::complete;
  // A ModelNew returned a tensor of an earlier call as it was overwritten after that: by the process's word,
  // which says it of itself alone.
  bool earlier_result = false;
};

// Hardware counters of one launch, by Nsight Compute's names for them, as the GPU gives them (times in ns).
using Counts = std::map<std::string, double>;

struct ProfileOptions {
  bool host_calls = false;  // calls of the CUDA API too, where the profiler sees them
  bool warm = false;        // the same call once before: graphs captured, kernels loaded
  bool outside = false;     // a profiler around the process records: nothing is told here
};

// A region run alone, for its time.
struct RegionClock {
  int repeats = 5;          // fewer of one that takes long
  int64_t flush_bytes = 0;  // written to the device's cache before each
  bool profiler = true;     // no: by events alone
};
struct RegionRun {
  int64_t device_ns = 0;  // kernels, copies and fills, summed; 0: no profiler could tell
  int activities = 0;     // how many of them
  int64_t event_ns = 0;   // between CUDA events around it
};

struct Range {
  int64_t begin = 0, end = 0;  // bytes
};

// Calls one after the other, each on inputs of its own and with outputs of its own in an arena, which another
// process fills and reads. The program itself sees the same few addresses again and again, as an allocator
// would give them: the child copies.
struct Slots {
  // In an arena: of the first call, from call to call, and each tensor within a call's. An input at -1 stays
  // as it was when the series was prepared.
  int64_t inputs_at = 0, outputs_at = 0, inputs_step = 0, outputs_step = 0;
  std::vector<int64_t> inputs, outputs;
  Where where = Where::host;
};

struct SeriesOptions {
  int count = 1;
  bool run = true;          // no: everything but the calls, which may be asked before a program is loaded
  bool timed = false;       // each call alone, by the child's word; its inputs are copied back afterwards
  int64_t flush_bytes = 0;  // written to the device's cache before a timed call
  uint64_t poison = 0;
  std::vector<Filling> fillings;  // of the outputs of timed calls; the others find old results
};

struct SeriesTimes {
  std::vector<int64_t> wall_ns, event_ns;  // of timed calls
  std::string damage;
};

// Ranges of an output of the last call, one after the other, into an arena.
struct OutputPiece {
  int output = 0;
  std::vector<Range> ranges;
  int64_t offset = 0;
  Where where = Where::host;
};

class Candidate {
 public:
  // An Error is our own trouble: no runner, no device, no memory. `arena` must outlive the candidate, and so
  // must the thread that starts it: the candidate dies with it, unless its process was ready (ready.h).
  static Result<Candidate> start(const Options& options, Arena& arena);
  // A process as the one above, which waits for an arena and a program: for ready.h.
  static Result<Candidate> start_empty(const Options& options);
  Candidate(Candidate&&) noexcept;
  Candidate& operator=(Candidate&&) = delete;
  ~Candidate();  // nothing of it survives

  // A copy of a file that it may read: where it lies for the candidate.
  Result<fs::path> bring(const fs::path& file);
  Reply<Loaded> load(const fs::path& program);  // a shared library or, for Python, the file with ModelNew
  // `extra`, a JSON object, reaches only Python candidates: constructor arguments and where weights belong.
  // A program with other settings than the one before has to be given all that were ever set.
  Reply<Created> create(std::span<const TensorAt> parameters, std::string_view extra = {},
                        const Settings& settings = {}, Fence fence = Fence::none);
  // Memory of the device, made by another process, as a second arena instead of the one before. Refused where
  // the device or the driver can't.
  Reply<std::monostate> share(const DeviceArena& arena);
  Reply<std::monostate> unshare();
  // A tool around a candidate wouldn't know who wrote there.
  bool can_share() const;
  // Uploads a set of inputs to fresh device memory, each tensor between guard zones. Returns its number.
  Reply<int> place(std::span<const TensorAt> inputs);
  // Other contents where a set's are: whoever knows inputs by their addresses is wrong now.
  Reply<int> place_into(int set, std::span<const TensorAt> inputs);
  Reply<std::monostate> drop(int set);
  // Runs on a set's inputs. Outputs are fresh, poisoned and guarded, and replace those of the last call.
  // `states` pairs inputs with the outputs that renew them, for states_in_place.
  Reply<Called> call(int set, std::span<const TensorType> outputs, const CallOptions& options = {},
                     std::span<const std::pair<int, int>> states = {});
  // A model may have hundreds of outputs: one request for all of them.
  Reply<std::monostate> fetch_outputs(std::span<const OutputPiece> pieces);
  Reply<std::monostate> fetch_output(int output, std::span<const Range> ranges, int64_t arena_offset,
                                     Where where = Where::host);
  Reply<std::monostate> fetch_input(int set, int input, int64_t arena_offset, Where where = Where::host);
  // Memory for series: so many sets of inputs with these contents, each with outputs.
  Reply<std::monostate> prepare_series(int sets, std::span<const TensorAt> inputs,
                                       std::span<const TensorType> outputs);
  // Back to back, and idle again when it answers. Whoever wants to know how long that took holds the watch.
  Reply<SeriesTimes> series(const Slots& slots, const SeriesOptions& options);
  // Refused where no profiler is there. To be believed, it is asked before a program is loaded.
  Reply<std::monostate> can_profile();
  // What one call made the device do.
  Reply<std::vector<Activity>> profile(int set, std::span<const TensorType> outputs,
                                       const ProfileOptions& options = {});
  // The same of one region alone, on contents that mean nothing.
  Reply<std::vector<Activity>> profile_region(int region, std::span<const TensorType> inputs,
                                              std::span<const TensorType> outputs);
  // Hardware counters of each kernel that one call launches, in order; a CUDA graph is one launch. Only of a
  // candidate that was started with `profiler`. Refused where they can't be read.
  Reply<std::vector<Counts>> count(int set, std::span<const TensorType> outputs,
                                   std::span<const std::string> counters);
  Reply<std::monostate> destroy();
  // How long a region alone takes, run by run, by the child's word. The first run of a process isn't among
  // them.
  Reply<std::vector<RegionRun>> time_region(int region, std::span<const TensorType> inputs,
                                            std::span<const TensorType> outputs, const RegionClock& clock);

  // Raw calls of the ABI with whatever arguments: how a program answers to wrong ones.
  Reply<int> call_with(std::span<const TensorAt> inputs, std::span<const TensorType> outputs);

  int process_number() const;
  // Nanoseconds of CPU time that its process has had, as the kernel counts it.
  int64_t cpu_time() const;
  bool held_others() const;     // its process did, before it: whoever fails there is asked again alone
  std::string printed() const;  // so far, the tail
  // Lets it exit by itself, tools around it included, and gives the tail of what all of them printed.
  std::string finish();

 private:
  Candidate();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stitch::runner
