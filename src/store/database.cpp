#include "store/database.h"

#ifdef STITCH_HAVE_SQLITE
#include <sqlite3.h>
#endif

#include <cstring>

namespace stitch::store {

#ifdef STITCH_HAVE_SQLITE

namespace {

const char* another_store = "name another file with --store, or set STITCHCUDA_STORE";

Error trouble(int code, const std::string& said, const std::string& file) {
  auto error = [&](const char* name, std::string message, std::string fix) {
    return at(file, work_error(name, std::move(message), std::move(fix)));
  };
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return error("store_locked", "another process has locked the database",
                   format("try again when it has ended, or {}", another_store));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return error("store_read_only", "the database cannot be written", another_store);
    case SQLITE_CANTOPEN: return error("store_read_only", "the database cannot be opened", another_store);
    case SQLITE_FULL:
      return error("store_full", "no space left for the database",
                   format("free some space, or {}", another_store));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return error("store_damaged", format("the database is damaged: {}", said),
                   format("move it, and a new one is created; or {}", another_store));
    case SQLITE_IOERR:
      return error("store_io", format("the database cannot be used: {}", said), another_store);
    default: return error("store", format("the database reports: {}", said), "");
  }
}

Error trouble(sqlite3* handle, const std::string& file) {
  return trouble(sqlite3_extended_errcode(handle), sqlite3_errmsg(handle), file);
}

}  // namespace

Statement::~Statement() { sqlite3_finalize(handle_); }

void Statement::start_over() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
  bound_ = 0;
}

void Statement::put(std::string_view text) {
  sqlite3_bind_text64(handle_, ++bound_, text.data() ? text.data() : "", text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
}
void Statement::put(int64_t number) { sqlite3_bind_int64(handle_, ++bound_, number); }
void Statement::put(double number) { sqlite3_bind_double(handle_, ++bound_, number); }
void Statement::put(const std::optional<double>& number) {
  if (number) return put(*number);
  sqlite3_bind_null(handle_, ++bound_);
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  Error error = trouble(sqlite3_db_handle(handle_), file_);
  sqlite3_reset(handle_);
  return error;
}

Result<void> Statement::run() {
  STITCH_CHECK(step());
  sqlite3_reset(handle_);
  return {};
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(handle_, column);
  return bytes ? std::string(static_cast<const char*>(bytes),
                             static_cast<size_t>(sqlite3_column_bytes(handle_, column)))
               : std::string();
}
int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }
double Statement::number(int column) const { return sqlite3_column_double(handle_, column); }
bool Statement::is_null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }

bool Database::is_built_in() { return true; }

Result<Database> Database::open(const fs::path& file, Access access, const Schema& schema) {
  std::error_code ec;
  if (fs::is_directory(file, ec))
    return at(file.string(), user_error("store_foreign", "the database must be a file, and this is a folder",
                                        format("{}/runs.db, for example", file.string())));
  if (access == Access::write && file.has_parent_path()) {
    fs::create_directories(file.parent_path(), ec);
    if (ec)
      return at(file.string(),
                work_error("store_read_only", format("cannot create the database's folder: {}", ec.message()),
                           another_store));
  }
  if (access == Access::read && !fs::exists(file, ec))
    return at(file.string(), user_error("store_absent", "no database of runs here yet",
                                        "stitchcuda optimize creates it; --store names another one"));
  // SQLite takes the stump of a header for a header.
  constexpr uintmax_t smallest_page = 512;
  if (const auto bytes = fs::file_size(file, ec); !ec && bytes > 0 && bytes < smallest_page)
    return trouble(SQLITE_NOTADB, "it is cut off", file.string());
  sqlite3* handle = nullptr;
  // To read is to write here, too: WAL keeps its index beside the file. A file that can't be written is read
  // as it stands.
  int code =
      sqlite3_open_v2(file.c_str(), &handle,
                      SQLITE_OPEN_READWRITE | (access == Access::write ? SQLITE_OPEN_CREATE : 0), nullptr);
  Database out(handle, file);
  if (code != SQLITE_OK) return trouble(code, sqlite3_errstr(code), file.string());
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, schema.patience_ms);
  STITCH_CHECK(out.prepare_file(access, schema));
  return out;
}

Database::~Database() { sqlite3_close_v2(handle_); }

Result<Statement> Database::prepare(const char* sql) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr) != SQLITE_OK)
    return trouble(handle_, file_.string());
  return Statement(statement, file_.string());
}

Result<void> Database::execute(const char* sql) const {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return trouble(handle_, file_.string());
  return {};
}

Result<void> Database::transaction(const std::function<Result<void>()>& work) const {
  STITCH_CHECK(execute("BEGIN IMMEDIATE"));
  Result<void> done = work();
  if (done) done = execute("COMMIT");
  if (!done) (void)execute("ROLLBACK");
  return done;
}

Result<int64_t> Database::pragma(const char* name) const {
  STITCH_TRY(Statement query, prepare(format("PRAGMA {}", name).c_str()));
  STITCH_TRY(bool found, query.step());
  return found ? query.integer(0) : 0;
}

Result<void> Database::prepare_file(Access access, const Schema& schema) const {
  STITCH_TRY(int64_t application, pragma("application_id"));
  STITCH_TRY(int64_t version, pragma("user_version"));
  STITCH_TRY(int64_t tables, pragma("schema_version"));
  const bool fresh = application == 0 && version == 0 && tables == 0;
  if (!fresh && application != schema.application)
    return at(file_.string(),
              user_error("store_foreign", "this file is another program's database", another_store));
  if (version > schema.version)
    return at(
        file_.string(),
        work_error("store_newer",
                   format("the database was written by a newer stitchcuda (format {}; this one knows {})",
                          version, schema.version),
                   format("update stitchcuda, or {}", another_store)));
  if (access == Access::read) {
    if (!fresh) return {};
    return at(file_.string(), user_error("store_absent", "the database is empty", ""));
  }
  // Killed processes lose nothing in WAL mode; a machine that loses power may lose the last events, no more.
  STITCH_CHECK(execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON"));
  if (!fresh) return {};
  return transaction([&]() -> Result<void> {
    STITCH_TRY(int64_t made_meanwhile, pragma("user_version"));
    if (made_meanwhile != 0) return {};
    STITCH_CHECK(execute(schema.tables));
    return execute(
        format("PRAGMA application_id = {}; PRAGMA user_version = {}", schema.application, schema.version)
            .c_str());
  });
}

#else  // opening a store fails, so no statement is ever executed

Statement::~Statement() = default;
void Statement::start_over() {}
void Statement::put(std::string_view) {}
void Statement::put(int64_t) {}
void Statement::put(double) {}
void Statement::put(const std::optional<double>&) {}
Result<bool> Statement::step() { throw Bug("built without SQLite"); }
Result<void> Statement::run() { throw Bug("built without SQLite"); }
std::string Statement::text(int) const { return ""; }
int64_t Statement::integer(int) const { return 0; }
double Statement::number(int) const { return 0; }
bool Statement::is_null(int) const { return true; }

bool Database::is_built_in() { return false; }
Result<Database> Database::open(const fs::path&, Access, const Schema&) {
  return work_error("no_sqlite", "stitchcuda was built without SQLite, so runs are not recorded",
                    "install SQLite's development files (libsqlite3-dev) and build again");
}
Database::~Database() = default;
Result<Statement> Database::prepare(const char*) const { throw Bug("built without SQLite"); }
Result<void> Database::execute(const char*) const { throw Bug("built without SQLite"); }
Result<void> Database::transaction(const std::function<Result<void>()>&) const {
  throw Bug("built without SQLite");
}

#endif

}  // namespace stitch::store
