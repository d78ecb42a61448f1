#include "agents/loop/tuning_cache.h"

#include <nlohmann/json.hpp>

#include "base/digest/sha256.h"
#include "base/json.h"
#include "verify/clock/clock.h"

namespace stitch::agents {

TuningCache::TuningCache(std::string machine, fs::path folder)
    : machine_(std::move(machine)), folder_(folder.empty() ? cache_folder() / "tuning" : std::move(folder)) {}

fs::path TuningCache::file_of(const std::string& signature) const {
  Sha256 key;
  key.add_field("tuning 1");
  key.add_field(machine_);
  key.add_field(signature);
  return folder_ / (key.hex() + ".json");
}

std::optional<int64_t> TuningCache::find(const std::string& signature) const {
  auto text = read_file(file_of(signature));
  if (!text) return std::nullopt;
  auto json = parse_json(*text);
  if (!json || !json->is_object() || word(*json, "signature") != signature) return std::nullopt;
  auto value = json->find("value");
  if (value == json->end() || !value->is_number_integer()) return std::nullopt;
  return value->get<int64_t>();
}

void TuningCache::remember(const std::string& signature, int64_t value, double gain) const {
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  Json json = {{"machine", machine_},
               {"signature", signature},
               {"value", value},
               {"gain", gain},
               {"date", verifier::utc_now()}};
  (void)write_file(file_of(signature), json.dump(1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace stitch::agents
