// SQLite behind an interface of our own: a file that is opened whole or refused with one clear message,
// statements, transactions. A build without SQLite refuses every file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace stitch::store {

// A statement that was prepared once and is run often. Values are bound by position, from the left.
class Statement {
 public:
  Statement(Statement&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), file_(std::move(other.file_)) {}
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  template <class... Values>
  Statement& bind(const Values&... values) {
    start_over();
    (put(values), ...);
    return *this;
  }
  // The next row; false: there is none.
  Result<bool> step();
  Result<void> run();  // of a statement without rows

  // Of the row that step() found, from 0.
  std::string text(int column) const;
  int64_t integer(int column) const;
  double number(int column) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  Statement(sqlite3_stmt* handle, std::string file) : handle_(handle), file_(std::move(file)) {}
  void start_over();
  void put(std::string_view text);
  void put(const std::string& text) { put(std::string_view(text)); }
  void put(const char* text) { put(std::string_view(text)); }
  void put(int64_t number);
  void put(int number) { put(static_cast<int64_t>(number)); }
  void put(bool flag) { put(static_cast<int64_t>(flag)); }
  void put(double number);
  void put(const std::optional<double>& number);

  sqlite3_stmt* handle_;
  std::string file_;
  int bound_ = 0;
};

struct Schema {
  int application = 0;  // tells our files from other programs'
  int version = 1;
  const char* tables = "";  // of a new file
  int patience_ms = 5000;   // with another process that writes
};

class Database {
 public:
  enum class Access : uint8_t { read, write };
  // Makes the file and its folders where they are not there; to read, it has to be. Codes of errors:
  // store_newer, store_foreign, store_locked, store_read_only, store_full, store_damaged, store_absent,
  // no_sqlite.
  static Result<Database> open(const fs::path& file, Access access, const Schema& schema);
  static bool is_built_in();
  Database(Database&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), file_(std::move(other.file_)) {}
  Database& operator=(Database&&) = delete;
  ~Database();

  const fs::path& file() const { return file_; }
  Result<Statement> prepare(const char* sql) const;
  Result<void> execute(const char* sql) const;  // one statement or several, without values or rows
  // All of it or nothing. Whatever is written belongs in one: each by itself would wait for the disk.
  Result<void> transaction(const std::function<Result<void>()>& work) const;

 private:
  Database(sqlite3* handle, fs::path file) : handle_(handle), file_(std::move(file)) {}
  Result<void> prepare_file(Access access, const Schema& schema) const;
  Result<int64_t> pragma(const char* name) const;

  sqlite3* handle_;
  fs::path file_;
};

}  // namespace stitch::store
