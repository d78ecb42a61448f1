#include "verify/many/candidates.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <tuple>

#include "base/digest/sha256.h"
#include "base/error_codes.h"
#include "base/json.h"
#include "base/text.h"
#include "build/build_sources.h"
#include "program/package.h"
#include "verify/many/task_index.h"

namespace stitch::verifier {

namespace {

bool is_program_folder(const fs::path& path) {
  std::error_code ec;
  return fs::exists(path / "program.cu", ec);
}

bool is_candidate(const fs::directory_entry& entry) {
  std::error_code ec;
  if (entry.is_directory(ec)) return is_program_folder(entry.path());
  const fs::path extension = entry.path().extension();
  return entry.is_regular_file(ec) && (extension == ".py" || extension == ".cu");
}

bool is_private(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(".") || name.starts_with("__");
}

// AUTHOR, what lies between, SAMPLE.
ListedCandidate named_by_path(const fs::path& relative) {
  std::vector<std::string> parts;
  for (const fs::path& part : relative) parts.push_back(part.string());
  const std::string last = relative.stem().string();
  ListedCandidate out{.author = parts[0], .task = last, .sample = "0"};
  std::smatch numbers;
  static const std::regex kernelbench("level_?([0-9]+)_problem_?([0-9]+)_sample_?([0-9]+)(_kernel)?");
  if (std::regex_match(last, numbers, kernelbench)) {
    out.task = format("level{}/{}", numbers[1].str(), numbers[2].str());
    out.sample = numbers[3].str();
  } else if (parts.size() > 2) {
    out.task = join(std::span(parts).subspan(1, parts.size() - 2), "/");
    out.sample = last;
  }
  return out;
}

Result<std::vector<ListedCandidate>> in_folder(const fs::path& folder) {
  std::vector<ListedCandidate> out;
  std::error_code ec;
  auto it = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, ec);
  for (; !ec && it != fs::end(it); it.increment(ec)) {
    const bool here = is_candidate(*it);
    if (is_private(it->path()) || here) {
      std::error_code ignored;
      if (it->is_directory(ignored)) it.disable_recursion_pending();
      if (is_private(it->path())) continue;
    }
    // Beside the authors' folders is whatever helped to make them.
    if (!here || it.depth() == 0) continue;
    const fs::path relative = it->path().lexically_relative(folder);
    ListedCandidate candidate = named_by_path(relative);
    candidate.path = it->path();
    candidate.shown = relative.generic_string();
    out.push_back(std::move(candidate));
  }
  if (ec) return at(folder.string(), work_error("file", format("cannot be read: {}", ec.message())));
  if (out.empty())
    return at(folder.string(), user_error("no_candidates", "there is no candidate below this folder",
                                          "candidates are AUTHOR/TASK/SAMPLE.py, .cu or a program folder"));
  return out;
}

Result<std::vector<ListedCandidate>> in_manifest(const fs::path& manifest) {
  STITCH_TRY(std::string text, read_file(manifest));
  const fs::path folder = fs::absolute(manifest).parent_path();
  std::vector<ListedCandidate> out;
  int line = 0;
  for (const std::string& each : split(text, '\n')) {
    ++line;
    if (trim(each).empty()) continue;
    const std::string where = format("{}:{}", manifest.string(), line);
    auto json = parse_json(each);
    if (!json) return at(where, json.error());
    ListedCandidate candidate{.author = json->is_object() ? word(*json, "author") : ""};
    if (!candidate.author.empty()) {
      candidate.task = word(*json, "task");
      candidate.shown = word(*json, "path");
      const Json sample = json->value("sample", Json());
      candidate.sample = sample.is_string() ? sample.get<std::string>()
                         : sample.is_null() ? ""
                                            : sample.dump();
    }
    if (candidate.author.empty() || candidate.task.empty() || candidate.shown.empty())
      return at(where, user_error("manifest", "a line is an object with author, task and path",
                                  R"({"author": "a", "task": "1_Square", "path": "a/1.cu", "sample": "0"})"));
    candidate.path = folder / candidate.shown;
    std::error_code ec;
    if (!fs::exists(candidate.path, ec))
      return at(where, user_error("no_file", format("there is no {}", candidate.path.string())));
    if (candidate.sample.empty())
      candidate.sample = std::to_string(std::ranges::count_if(out, [&](const ListedCandidate& other) {
        return other.author == candidate.author && other.task == candidate.task;
      }));
    if (candidate.task.ends_with(".py")) candidate.task_file = folder / candidate.task;
    out.push_back(std::move(candidate));
  }
  if (out.empty()) return at(manifest.string(), user_error("no_candidates", "the manifest is empty"));
  return out;
}

}  // namespace

Result<std::vector<ListedCandidate>> find_candidates(const fs::path& place, const fs::path& tasks) {
  std::error_code ec;
  if (!fs::exists(place, ec))
    return at(place.string(), user_error("no_file", "there is no such folder or manifest"));
  STITCH_TRY(std::vector<ListedCandidate> out,
             fs::is_directory(place, ec) ? in_folder(place) : in_manifest(place));
  std::optional<TaskIndex> index;
  for (ListedCandidate& candidate : out) {
    if (candidate.task_file.empty()) {
      if (tasks.empty())
        return user_error("no_tasks", format("where is the task '{}'?", candidate.task),
                          "name the folder of tasks: --tasks DIR");
      if (!index) {
        STITCH_TRY(index, TaskIndex::of(tasks));
      }
      auto found = index->find(candidate.task);
      if (!found) return at(candidate.shown, found.error());
      candidate.task_file = *std::move(found);
    }
    if (!fs::exists(candidate.task_file, ec))
      return at(candidate.shown,
                user_error(error_code::no_task, format("there is no task {}", candidate.task_file.string())));
    candidate.task_file = fs::absolute(candidate.task_file).lexically_normal();
    candidate.task = candidate.task_file.stem().string();
  }
  // Two tasks of one file name are told apart by their folders.
  for (ListedCandidate& candidate : out)
    if (std::ranges::any_of(out, [&](const ListedCandidate& other) {
          return other.task_file.stem() == candidate.task_file.stem() &&
                 other.task_file != candidate.task_file;
        }))
      candidate.task = format("{}/{}", candidate.task_file.parent_path().filename().string(),
                              candidate.task_file.stem().string());
  std::ranges::sort(out);
  for (size_t i = 1; i < out.size(); ++i)
    if (std::tie(out[i].author, out[i].task, out[i].sample) ==
        std::tie(out[i - 1].author, out[i - 1].task, out[i - 1].sample))
      return user_error("twice",
                        format("{} and {} are both sample {} of {} for {}", out[i - 1].shown, out[i].shown,
                               out[i].sample, out[i].author, out[i].task),
                        "give samples names of their own");
  std::ranges::stable_sort(out, {}, &ListedCandidate::task_file);
  return out;
}

Result<std::string> hash_of_candidate(const fs::path& path) {
  Sha256 sum;
  std::error_code ec;
  if (!fs::is_directory(path, ec)) {
    if (path.extension() == ".cu")
      if (auto package = load_package(fs::absolute(path))) {
        build::SourceReader reader(package->sources, package->include_dirs);
        if (auto text = reader.hash(package->sources[0])) return *std::move(text);
      }
    return sha256_of_file(path);
  }
  std::vector<fs::path> files;
  for (auto it = fs::recursive_directory_iterator(path, ec); !ec && it != fs::end(it); it.increment(ec)) {
    const bool skipped = is_private(it->path()) || (it.depth() == 0 && it->path().filename() == "build");
    std::error_code ignored;
    if (skipped && it->is_directory(ignored)) it.disable_recursion_pending();
    if (!skipped && it->is_regular_file(ignored)) files.push_back(it->path());
  }
  if (ec) return at(path.string(), work_error("file", format("cannot be read: {}", ec.message())));
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    STITCH_TRY(std::string hash, sha256_of_file(file));
    sum.add_field(file.lexically_relative(path).generic_string());
    sum.add_field(hash);
  }
  return sum.hex();
}

}  // namespace stitch::verifier
