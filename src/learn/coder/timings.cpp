#include "learn/coder/timings.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace stitch::learn {

namespace {

Json json_of(const TimingRow& row) {
  Json out = {
      {"gpu", row.gpu}, {"task", row.task}, {"region", row.region}, {"key", row.key}, {"choice", row.choice}};
  if (row.timed.kind == Timed::Kind::timed)
    out["seconds"] = row.timed.seconds;
  else
    out["failed"] = true;
  if (row.timed.by_events) out["clock"] = "events";
  if (!row.set.empty()) out["set"] = row.set;
  return out;
}

Result<TimingRow> timing_in(std::string_view line) {
  STITCH_TRY(const Json json, parse_json(line));
  if (!json.is_object()) return user_error("timings", "not a timing");
  TimingRow out{.gpu = word(json, "gpu"),
                .task = word(json, "task"),
                .region = word(json, "region"),
                .key = word(json, "key"),
                .choice = word(json, "choice"),
                .timed = {},
                .set = word(json, "set")};
  if (out.key.empty() || out.choice.empty()) return user_error("timings", "key and choice are missing");
  if (json.contains("seconds")) {
    if (!json["seconds"].is_number() || !(json["seconds"].get<double>() > 0))
      return user_error("timings", "seconds must be a positive number");
    out.timed = {Timed::Kind::timed, json["seconds"].get<double>(), word(json, "clock") == "events"};
  } else {
    out.timed.kind = Timed::Kind::failed;
  }
  return out;
}

}  // namespace

Result<Timings> Timings::read(const fs::path& file) {
  Timings out;
  if (!fs::exists(file)) return out;
  STITCH_TRY(const std::string text, read_file(file));
  const std::vector<std::string> lines = split(text, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    if (trim(lines[i]).empty()) continue;
    auto row = timing_in(lines[i]);
    if (row) {
      out.add(*row);
    } else if (i + 1 < lines.size()) {
      return at(format("{}:{}", file.string(), i + 1), std::move(row).error());
    }
  }
  return out;
}

void Timings::add(const TimingRow& row) {
  tasks_.insert(row.task);
  size_ += by_key_[row.key].insert_or_assign(row.choice, row.timed).second;
}

const std::map<std::string, Timed>* Timings::of(const std::string& key) const {
  auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &found->second;
}

Result<void> append(const fs::path& file, const std::vector<TimingRow>& rows) {
  std::string text;
  for (const TimingRow& row : rows) text += line_text(json_of(row)) + "\n";
  std::ofstream out(file, std::ios::app | std::ios::binary);
  out << text;
  out.close();
  if (!out) return at(file.string(), work_error("file", "cannot write"));
  return {};
}

Timed MeasuredTimes::of(const RegionProblem& problem, const plan::Region& chosen) {
  const auto* all = timings_.of(problem.key);
  if (!all) return {};
  auto found = all->find(choice_text(chosen));
  return found == all->end() ? Timed{} : found->second;
}

const std::vector<std::string>* MeasuredTimes::known(const RegionProblem& problem) {
  auto [place, fresh] = known_.try_emplace(problem.key);
  if (fresh)
    if (const auto* all = timings_.of(problem.key))
      for (const auto& [choice, timed] : *all)
        if (timed.kind == Timed::Kind::timed) place->second.push_back(choice);  // a map: sorted
  return &place->second;
}

}  // namespace stitch::learn
