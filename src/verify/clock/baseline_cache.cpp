#include "verify/clock/baseline_cache.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/digest/sha256.h"
#include "base/json.h"
#include "verify/clock/clock.h"

namespace stitch::verifier {

namespace {

// Everything that may change a baseline's time, as far as it is known.
fs::path file_of(const Session& session, const std::string& kind) {
  Sha256 key;
  key.add_field("baseline 1");
  auto source = read_file(session.task.source);
  key.add_field(source ? *source : session.task.source.string());
  const TaskOptions& how = session.task.opened->options;
  key.add_field(how.model_class);
  if (how.mode != Mode::as_written) key.add_field(stitch::name(how.mode));
  key.add_field(kind);
  key.add_field(name(session.options.numerics));
  Json about = session.reference.describe();
  for (const char* part : {"torch", "gpu", "cuda", "cudnn"})
    key.add_field(about.contains(part) ? about[part].dump() : "");
  return cache_folder() / "baselines" / (key.hex() + ".json");
}

}  // namespace

std::optional<Samples> cached_baseline(const Session& session, const std::string& kind) {
  auto text = read_file(file_of(session, kind));
  if (!text) return std::nullopt;
  auto json = parse_json(*text);
  if (!json || !json->is_object()) return std::nullopt;
  Samples samples{.side = kind};
  try {
    samples.wall_ns = json->at("wall_ns").get<std::vector<int64_t>>();
    samples.event_ns = json->at("event_ns").get<std::vector<int64_t>>();
    samples.measured_at = json->at("measured_at").get<std::string>();
  } catch (const Json::exception&) {
    return std::nullopt;  // another program's file, or half of ours: measure again
  }
  return samples;
}

void keep_baseline(const Session& session, const Samples& samples) {
  fs::path file = file_of(session, samples.side);
  std::error_code ec;
  fs::create_directories(file.parent_path(), ec);
  Json json = to_json(samples, true);
  json["measured_at"] = utc_now();
  (void)write_file(file, json.dump());
}

}  // namespace stitch::verifier
