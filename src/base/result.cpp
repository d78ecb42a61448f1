#include "base/result.h"

#include <cstring>

namespace stitch {

std::string Error::text() const {
  std::string out = where.empty() ? message : where + ": " + message;
  if (!fix.empty()) out += "\nfix: " + fix;
  return out;
}

Error user_error(std::string code, std::string message, std::string fix) {
  return {std::move(message), {}, std::move(fix), std::move(code), Error::Blame::user};
}

Error work_error(std::string code, std::string message, std::string fix) {
  return {std::move(message), {}, std::move(fix), std::move(code), Error::Blame::work};
}

Error at(std::string where, Error error) {
  if (error.where.empty()) error.where = std::move(where);
  return error;
}

Error within(const std::string& where, Error error) {
  error.where = error.where.empty() ? where : where + ": " + error.where;
  return error;
}

namespace {
std::string describe(const std::string& message, const SourcePlace& place) {
  const char* slash = std::strrchr(place.file, '/');
  const char* file = slash ? slash + 1 : place.file;
  return format("{} ({}:{}, {})", message, file, place.line, place.function);
}
}  // namespace

Bug::Bug(const std::string& message, SourcePlace place) : std::logic_error(describe(message, place)) {}

}  // namespace stitch
