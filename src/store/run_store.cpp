#include "store/run_store.h"

#include <array>
#include <cstdlib>
#include <ctime>
#include <random>
#include <set>
#ifdef STITCH_HAVE_ZLIB
#include <zlib.h>
#endif

#include "base/digest/sha256.h"
#include "base/terminal/terminal.h"
#include "store/database.h"
#include "store/schema.h"

namespace stitch::store {

namespace {

// Texts made smaller for the store: sources and verdicts shrink to a quarter.
struct Packed {
  std::string bytes;
  bool zlib = false;  // else as they were: without zlib, or where it gains nothing
};

constexpr size_t too_small = 256;              // to be worth it
constexpr size_t too_large = size_t{1} << 30;  // more is no text of ours

#ifdef STITCH_HAVE_ZLIB

Packed pack(std::string_view text) {
  if (text.size() < too_small || text.size() > too_large) return {std::string(text), false};
  uLongf length = compressBound(text.size());
  std::string out(length, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &length,
                             reinterpret_cast<const Bytef*>(text.data()), text.size(), 3);
  if (code != Z_OK || length >= text.size()) return {std::string(text), false};
  out.resize(length);
  return {std::move(out), true};
}

Result<std::string> unpack(std::string packed, bool zlib, size_t size) {
  if (!zlib) return packed;
  if (size > too_large) return work_error("store_damaged", "a text in the database has an impossible length");
  std::string out(size, '\0');
  uLongf length = size;
  const int code = uncompress(reinterpret_cast<Bytef*>(out.data()), &length,
                              reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  if (code != Z_OK || length != size) return work_error("store_damaged", "a text in the database is damaged");
  return out;
}

#else

Packed pack(std::string_view text) { return {std::string(text), false}; }

Result<std::string> unpack(std::string packed, bool zlib, size_t) {
  if (!zlib) return packed;
  return work_error("no_zlib", "stitchcuda was built without zlib, and texts in the database are compressed",
                    "install zlib's development files (zlib1g-dev) and build again");
}

#endif

constexpr std::array<std::string_view, 5> state_names = {"running", "killed", "shipped", "stopped", "failed"};

RunState state_of(std::string_view text, const std::string& process) {
  for (size_t i = 0; i < state_names.size(); ++i) {
    if (text != state_names[i]) continue;
    const auto state = static_cast<RunState>(i);
    return state == RunState::running && is_gone(process) ? RunState::killed : state;
  }
  return RunState::failed;
}

std::string utc(const char* form) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, form, &parts)};
}

std::string random_letters(std::string_view alphabet, int count) {
  static std::random_device device;
  std::uniform_int_distribution<size_t> pick(0, alphabet.size() - 1);
  std::string out;
  for (int i = 0; i < count; ++i) out += alphabet[pick(device)];
  return out;
}

// The day and four letters: no vowels, no words.
std::string new_id() { return utc("%m%d-") + random_letters("bcdfghjkmnpqrstvwxz", 4); }

constexpr const char* run_columns =
    "number, id, origin, started, state, process, task, graph, numerics, gpu, device, brains, options, "
    "version, attempts, kept, seconds_a_call, elapsed, measured";

Run run_of(const Statement& row) {
  return {.number = row.integer(0),
          .id = row.text(1),
          .origin = row.text(2),
          .started = row.text(3),
          .state = state_of(row.text(4), row.text(5)),
          .start = {.task = row.text(6),
                    .graph = row.text(7),
                    .numerics = row.text(8),
                    .gpu = row.text(9),
                    .device = row.text(10),
                    .brains = row.text(11),
                    .options = row.text(12),
                    .version = row.text(13)},
          .summary = {.attempts = static_cast<int>(row.integer(14)),
                      .kept = static_cast<int>(row.integer(15)),
                      .seconds_a_call = row.number(16),
                      .elapsed = row.number(17),
                      .measured = row.integer(18) != 0}};
}

Result<std::vector<Run>> runs_of(Statement& query) {
  std::vector<Run> out;
  for (;;) {
    STITCH_TRY(bool found, query.step());
    if (!found) return out;
    out.push_back(run_of(query));
  }
}

Result<void> sum_up(const Database& database, const Run& run, const RunSummary& now) {
  STITCH_TRY(Statement update,
             database.prepare("UPDATE runs SET attempts = ?, kept = ?, seconds_a_call = ?, elapsed = ?, "
                              "measured = ? WHERE number = ?"));
  return update.bind(now.attempts, now.kept, now.seconds_a_call, now.elapsed, now.measured, run.number).run();
}

}  // namespace

Result<void> keep_blob(const Database& database, int64_t owner, const std::string& text) {
  const std::string hash = blob_hash(text);
  STITCH_TRY(Statement known, database.prepare("SELECT 1 FROM blobs WHERE hash = ?"));
  STITCH_TRY(bool found, known.bind(hash).step());
  if (!found) {
    const Packed packed = pack(text);
    STITCH_TRY(Statement insert,
               database.prepare("INSERT INTO blobs (hash, size, zlib, bytes) VALUES (?, ?, ?, ?)"));
    STITCH_CHECK(insert.bind(hash, static_cast<int64_t>(text.size()), packed.zlib, packed.bytes).run());
  }
  STITCH_TRY(Statement use, database.prepare("INSERT OR IGNORE INTO uses (run, hash) VALUES (?, ?)"));
  return use.bind(owner, hash).run();
}

Result<void> sweep_blobs(const Database& database) {
  return database.execute(
      "DELETE FROM blobs WHERE NOT EXISTS (SELECT 1 FROM uses WHERE uses.hash = blobs.hash)");
}

std::string_view name(RunState state) { return state_names[static_cast<size_t>(state)]; }

bool is_kept_by_rewind(std::string_view kind) {
  return kind == "answer" || kind == "conversation" || kind == "begin" || kind == "resume";
}

std::string blob_hash(std::string_view bytes) { return sha256(bytes); }

fs::path default_store() {
  auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (std::string file = variable("STITCHCUDA_STORE"); !file.empty()) return file;
  if (std::string data = variable("XDG_DATA_HOME"); !data.empty())
    return fs::path(data) / "stitchcuda" / "runs.db";
  if (std::string home = variable("HOME"); !home.empty())
    return fs::path(home) / ".local" / "share" / "stitchcuda" / "runs.db";
  return cache_folder() / "runs.db";
}

RunStore::RunStore(Database database) : database_(std::make_unique<Database>(std::move(database))) {}
RunStore::RunStore(RunStore&&) noexcept = default;
RunStore::~RunStore() = default;
const fs::path& RunStore::file() const { return database_->file(); }

Result<RunStore> RunStore::open(const fs::path& file, Access access) {
  STITCH_TRY(Database database,
             Database::open(file, access == Access::read ? Database::Access::read : Database::Access::write,
                            schema));
  return RunStore(std::move(database));
}

Result<Run> RunStore::begin(const RunStart& start) {
  STITCH_TRY(
      Statement insert,
      database_->prepare("INSERT OR IGNORE INTO runs (id, origin, started, state, process, task, graph, "
                         "numerics, gpu, device, brains, options, version) "
                         "VALUES (?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  const std::string origin = random_letters("0123456789abcdef", 16), started = utc("%Y-%m-%dT%H:%M:%SZ");
  for (int tries = 0; tries < 100; ++tries) {
    const std::string id = new_id();
    STITCH_CHECK(insert
                     .bind(id, origin, started, this_process(), start.task, start.graph, start.numerics,
                           start.gpu, start.device, start.brains, start.options, start.version)
                     .run());
    auto run = find(id);
    if (run && run->origin == origin) return run;  // else another process took it
  }
  return work_error("store", "no run id left for today");
}

Result<void> check_resumable(const Run& run) {
  if (run.state == RunState::shipped)
    return user_error("run_finished", format("the run {} is finished: nothing to resume", run.id),
                      format("see: stitchcuda runs show {}", run.id));
  if (run.state == RunState::running)
    return user_error("run_running", format("the run {} is still running", run.id));
  return {};
}

Result<Run> RunStore::resume(const std::string& id) {
  STITCH_TRY(Run run, find(id));
  STITCH_CHECK(check_resumable(run));
  STITCH_TRY(Statement update,
             database_->prepare("UPDATE runs SET state = 'running', process = ? WHERE number = ?"));
  STITCH_CHECK(update.bind(this_process(), run.number).run());
  run.state = RunState::running;
  return run;
}

Result<int64_t> RunStore::append(const Run& run, const StoredEvent& event, const RunSummary& summary,
                                 const std::vector<std::string>& blobs) {
  int64_t sequence = 0;
  auto done = database_->transaction([&]() -> Result<void> {
    for (const std::string& text : blobs) STITCH_CHECK(keep_blob(*database_, run.number, text));
    STITCH_TRY(Statement last,
               database_->prepare("SELECT coalesce(max(sequence), 0) + 1 FROM events WHERE run = ?"));
    STITCH_CHECK(last.bind(run.number).step());
    sequence = last.integer(0);
    STITCH_TRY(Statement insert,
               database_->prepare("INSERT INTO events (run, sequence, elapsed, written, kind, body) "
                                  "VALUES (?, ?, ?, ?, ?, ?)"));
    STITCH_CHECK(
        insert.bind(run.number, sequence, event.elapsed, utc("%Y-%m-%dT%H:%M:%SZ"), event.kind, event.body)
            .run());
    return sum_up(*database_, run, summary);
  });
  STITCH_CHECK(std::move(done));
  return sequence;
}

Result<void> RunStore::rewind(const Run& run, int64_t sequence, double elapsed) {
  STITCH_CHECK(append(run, {.elapsed = elapsed, .kind = "rewind", .body = format("{{\"to\":{}}}", sequence)},
                      run.summary));
  return {};
}

Result<void> RunStore::finish(const Run& run, RunState state, const RunSummary& summary) {
  return database_->transaction([&]() -> Result<void> {
    STITCH_TRY(Statement update, database_->prepare("UPDATE runs SET state = ? WHERE number = ?"));
    STITCH_CHECK(update.bind(name(state), run.number).run());
    return sum_up(*database_, run, summary);
  });
}

Result<void> RunStore::remove(const Run& run) {
  if (run.state == RunState::running)
    return user_error("run_running", format("the run {} is still running", run.id));
  return database_->transaction([&]() -> Result<void> {
    for (const char* sql : {"DELETE FROM runs WHERE number = ?", "DELETE FROM events WHERE run = ?",
                            "DELETE FROM uses WHERE run = ?"}) {
      STITCH_TRY(Statement statement, database_->prepare(sql));
      STITCH_CHECK(statement.bind(run.number).run());
    }
    return sweep_blobs(*database_);
  });
}

Result<std::vector<Run>> RunStore::list() const {
  STITCH_TRY(Statement query,
             database_->prepare(format("SELECT {} FROM runs ORDER BY number DESC", run_columns).c_str()));
  return runs_of(query);
}

Result<Run> RunStore::find(const std::string& id) const {
  STITCH_TRY(Statement query,
             database_->prepare(format("SELECT {} FROM runs WHERE id = ?1 OR substr(id, 1, length(?1)) = ?1 "
                                       "ORDER BY id = ?1 DESC, number DESC LIMIT 9",
                                       run_columns)
                                    .c_str()));
  query.bind(id);
  STITCH_TRY(std::vector<Run> found, runs_of(query));
  if (!id.empty() && !found.empty() && (found.size() == 1 || found[0].id == id)) return found[0];
  const std::string shown = shorten(printable(id), 40);
  if (found.empty())
    return user_error("no_run", format("there is no run '{}'", shown), "see: stitchcuda runs list");
  std::string ids;
  for (const Run& run : found) ids += (ids.empty() ? "" : ", ") + run.id;
  return user_error("ambiguous_run", format("several runs begin with '{}'", shown), "one of: " + ids);
}

Result<std::vector<StoredEvent>> RunStore::events(const Run& run, std::string_view kind, bool all) const {
  STITCH_TRY(Statement query, database_->prepare("SELECT sequence, elapsed, kind, body FROM events "
                                                 "WHERE run = ? ORDER BY sequence"));
  query.bind(run.number);
  std::vector<StoredEvent> out;
  for (;;) {
    STITCH_TRY(bool found, query.step());
    if (!found) break;
    StoredEvent event{query.integer(0), query.number(1), query.text(2), query.text(3)};
    if (event.kind == "rewind" && !all) {
      const int64_t to = std::atoll(event.body.c_str() + std::string_view("{\"to\":").size());
      std::erase_if(
          out, [&](const StoredEvent& one) { return one.sequence >= to && !is_kept_by_rewind(one.kind); });
      continue;
    }
    out.push_back(std::move(event));
  }
  if (!kind.empty()) std::erase_if(out, [&](const StoredEvent& one) { return one.kind != kind; });
  return out;
}

Result<std::string> RunStore::blob(const std::string& hash) const {
  STITCH_TRY(Statement query, database_->prepare("SELECT bytes, zlib, size FROM blobs WHERE hash = ?"));
  STITCH_TRY(bool found, query.bind(hash).step());
  if (!found) return work_error("store_damaged", format("the database lacks the text {}", shorten(hash, 16)));
  auto text = unpack(query.text(0), query.integer(1) != 0, static_cast<size_t>(query.integer(2)));
  if (!text) return at(file().string(), std::move(text).error());
  return text;
}

}  // namespace stitch::store
