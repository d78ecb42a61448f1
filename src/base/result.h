// The two kinds of failure, as two types.
//   Error: something expected to go wrong (a user's mistake, a disk that is full). Travels in Result<T>.
//   Bug:   something that can't happen. Thrown, and caught in main (or a test), or by contained()
//          (base/contained.h) where one piece of work must not take the others along.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "base/format.h"

namespace stitch {

struct Error {
  enum class Blame {
    user,  // exit code 2: the input is wrong, and the message says how to mend it
    work,  // exit code 1: the input was fine, the work could not be done
  };

  std::string message;  // what is wrong
  std::string where;    // file:line or the value's name; may be empty
  std::string fix;      // what to do about it; may be empty
  std::string code = "invalid";
  Blame blame = Blame::user;

  // "where: message" and, on a line of its own, "fix: …".
  std::string text() const;
  int exit_code() const { return blame == Blame::user ? 2 : 1; }
};

Error user_error(std::string code, std::string message, std::string fix = {});
Error work_error(std::string code, std::string message, std::string fix = {});
// The same error, said to be at `where` unless a place closer to it is known already.
Error at(std::string where, Error error);
// The same error, its place being one in `where`: "plan.json: regions.fc1".
Error within(const std::string& where, Error error);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

// STITCH_TRY(auto x, make()): x is make()'s value, or its error is returned from here.
#define STITCH_CONCAT_(a, b) a##b
#define STITCH_CONCAT(a, b) STITCH_CONCAT_(a, b)
#define STITCH_TRY_(declaration, expression, result) \
  auto result = (expression);                        \
  if (!result) return std::move(result).error();     \
  declaration = *std::move(result)
#define STITCH_TRY(declaration, expression) \
  STITCH_TRY_(declaration, expression, STITCH_CONCAT(stitch_result_, __LINE__))
// For Result<void>.
#define STITCH_CHECK(expression)                                                                 \
  do {                                                                                           \
    if (auto stitch_check = (expression); !stitch_check) return std::move(stitch_check).error(); \
  } while (false)

// Where a check stands. (std::source_location, which clang 14 does not have.)
struct SourcePlace {
  const char *file, *function;
  unsigned line;
  static constexpr SourcePlace here(const char* file = __builtin_FILE(),
                                    const char* function = __builtin_FUNCTION(),
                                    unsigned line = __builtin_LINE()) {
    return {file, function, line};
  }
};

class Bug : public std::logic_error {
 public:
  explicit Bug(const std::string& message, SourcePlace place = SourcePlace::here());
};

inline void require(bool condition, const char* message, SourcePlace place = SourcePlace::here()) {
  if (!condition) [[unlikely]]
    throw Bug(message, place);
}

}  // namespace stitch
