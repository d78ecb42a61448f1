// A build without SQLite: opening a store fails, so no statement is ever executed.
#ifndef STITCH_HAVE_SQLITE

#include "store/database.h"

namespace stitch::store {

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

}  // namespace stitch::store

#endif
