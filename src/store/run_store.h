// The run store: what happened in every run, event by event, and all that was written in it. One SQLite file,
// which several processes may use at once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace stitch::store {

class Database;

enum class RunState : uint8_t {
  running,
  killed,   // running, said its process, which is gone
  shipped,  // to the end
  stopped,  // Ctrl-C: the best so far was shipped
  failed,   // no program
};
std::string_view name(RunState state);

// What is known when a run begins.
struct RunStart {
  std::string task;   // its name, for people
  std::string graph;  // hash
  std::string numerics, gpu, device;
  std::string brains;   // for people: "builtin", "llm:qwen (coder)"
  std::string options;  // JSON: what to start it with again
  std::string version;  // of stitchcuda
};
// What the listing says of a run; rewritten with every event.
struct RunSummary {
  int attempts = 0, kept = 0;
  double seconds_a_call = 0;  // of the best program; 0: none yet
  double elapsed = 0;         // seconds at work
  bool measured = false;      // else estimates
};
struct Run {
  int64_t number = 0;
  std::string id;       // "1116-kmtz": what people type; a beginning that only one has will do
  std::string origin;   // random: tells it from the runs of other machines
  std::string started;  // UTC
  RunState state = RunState::running;
  RunStart start;
  RunSummary summary;
};

struct StoredEvent {
  int64_t sequence = 0;
  double elapsed = 0;  // seconds into the run, without the time between being killed and being resumed
  std::string kind;
  std::string body;  // JSON
};

// Neither running nor at its end.
Result<void> check_resumable(const Run& run);

class RunStore {
 public:
  enum class Access : uint8_t { read, write };
  static Result<RunStore> open(const fs::path& file, Access access = Access::write);
  RunStore(RunStore&&) noexcept;
  ~RunStore();
  const fs::path& file() const;

  // Writing: each call is whole on disk or not there at all, whatever kills the process.
  Result<Run> begin(const RunStart& start);
  // Refused while the run's process lives, or if it came to its end.
  Result<Run> resume(const std::string& id);
  Result<int64_t> append(const Run& run, const StoredEvent& event, const RunSummary& summary,
                         const std::vector<std::string>& blobs = {});
  // Events from `sequence` on no longer count: a resumed run went another way. They are kept.
  Result<void> rewind(const Run& run, int64_t sequence, double elapsed);
  Result<void> finish(const Run& run, RunState state, const RunSummary& summary);
  Result<void> remove(const Run& run);  // and blobs that no other run references

  // Reading.
  Result<std::vector<Run>> list() const;  // the last one first
  Result<Run> find(const std::string& id) const;
  // Those that count, in order; with `all`, rewound ones too. Of one kind unless it is empty.
  Result<std::vector<StoredEvent>> events(const Run& run, std::string_view kind = {}, bool all = false) const;
  Result<std::string> blob(const std::string& hash) const;

  Database& database() const { return *database_; }

 private:
  explicit RunStore(Database database);
  std::unique_ptr<Database> database_;
};

// Answers in a run (verdicts, an LLM's replies) are kept, whatever becomes of the events beside
// it.
bool is_kept_by_rewind(std::string_view kind);
// By which blobs are known: the SHA-256 of their bytes.
std::string blob_hash(std::string_view bytes);
// Where runs are kept unless told: $STITCHCUDA_STORE, $XDG_DATA_HOME/stitchcuda/runs.db,
// ~/.local/share/stitchcuda/runs.db, or, for those without a home, a file in the cache's folder.
fs::path default_store();

}  // namespace stitch::store
