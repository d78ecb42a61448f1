#include "verify/many/results.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/digest/sha256.h"
#include "base/machine/descriptor.h"
#include "verify/not_judged.h"

namespace stitch::verifier {

namespace {

// A task that imports a module of its folder is another task when the module changes.
bool imports_unchanged(const Json& record, const fs::path& folder) {
  const Json modules = record.value("modules", Json::object());
  for (const auto& [module, hash] : modules.items()) {
    auto now = sha256_of_file(folder / module);
    if (!now || hash != *now) return false;
  }
  return true;
}

}  // namespace

Result<ResultsFile> ResultsFile::open(const fs::path& file) {
  ResultsFile out(file);
  std::error_code ec;
  if (!fs::exists(file, ec)) return out;
  STITCH_TRY(std::string text, read_file(file));
  const size_t whole = text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1;
  if (whole < text.size()) fs::resize_file(file, whole, ec);
  if (ec) return at(file.string(), work_error("file", format("cannot be written: {}", ec.message())));
  for (size_t begin = 0; begin < whole;) {
    const size_t end = text.find('\n', begin);
    auto json = parse_json(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    if (!json || !json->is_object()) continue;  // edited by hand
    Name name{word(*json, "author"), word(*json, "task"), word(*json, "sample")};
    out.records_[name] = std::make_shared<const Json>(*std::move(json));
  }
  return out;
}

const Json* ResultsFile::find(const ListedCandidate& candidate, const std::string& key) const {
  auto found = records_.find({candidate.author, candidate.task, candidate.sample});
  if (found == records_.end()) return nullptr;
  const Json& record = *found->second;
  if (word(record, "key") != key || word(record, "judgement") == not_judged) return nullptr;
  return imports_unchanged(record, candidate.task_file.parent_path()) ? &record : nullptr;
}

Result<void> ResultsFile::append(const Json& record) {
  const std::string line = line_text(record) + '\n';
  const Descriptor out(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  // One write: a line is there or not, unless the disk is full.
  if (out.get() < 0 || ::write(out.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return at(file_.string(), work_error("file", format("cannot be written: {}", std::strerror(errno)),
                                         "free some space; verdicts so far are kept"));
  return {};
}

}  // namespace stitch::verifier
