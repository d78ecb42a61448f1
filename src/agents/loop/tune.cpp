#include "agents/loop/tune.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/digest/sha256.h"
#include "base/text.h"
#include "graph/op.h"
#include "plan/cost/estimate.h"
#include "verify/clock/clock.h"

namespace stitch::agents {

namespace {

// A contest's rounds: the more of them, the surer; hopeless challengers don't see the second.
constexpr size_t rounds = 5;
constexpr double hopeless = 1.1;
constexpr double least_gain = 0.003;  // below, what is left of the host's jitter decides

// Of a region, without names: what makes two of them alike.
std::string signature_of(const Graph& graph, const plan::Plan& plan, const plan::Region& region) {
  std::string out = format("{} {}", region.technique->name(), name(plan.numerics));
  out += format(" {} {}", plan::name(region.offer.arithmetic), plan::name(region.offer.order));
  for (const auto& [knob, value] : region.choices) out += format(" {}={}", knob, value);
  auto lies = [&](ValueId id) -> std::string {
    if (id == ValueId::none) return "none";
    const plan::Storage& storage = plan.storage[index_of(id)];
    const TensorType& type = graph.type(id);
    return format("{}{}{}{}", text(type),
                  storage.dtype != type.dtype ? format(" as {}", name(storage.dtype)) : "",
                  storage.order.empty() ? "" : format(" in [{}]", join(storage.order, ",")),
                  graph[id].has_data() ? " weight" : "");
  };
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    std::vector<std::string> operands, results;
    for (ValueId id : node.operands) operands.push_back(lies(id));
    for (ValueId id : node.results) results.push_back(lies(id));
    out += format("\n{}({})", info(node.op).name, join(operands, ", "));
    for (const auto& [key, value] : node.attributes) out += format(" {}={}", key, text(value));
    out += " : " + join(results, ", ");
  }
  return out;
}

// What the setting is called in every region like this one.
std::string within(const ManifestSetting& setting) {
  return setting.name.starts_with(setting.region) ? setting.name.substr(setting.region.size()) : setting.name;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

class Search {
 public:
  Search(const std::vector<Tunable>& tunables, verifier::SettingsClock& clock, const TuningCache& cache,
         const TuneOptions& options)
      : tunables_(tunables), clock_(clock), cache_(cache), options_(options) {}

  Tuned run() {
    for (const Tunable& tunable : tunables_) {
      auto found = cache_.find(tunable.signature);
      bool usable = found && std::ranges::find(tunable.values, *found) != tunable.values.end();
      known_.push_back(usable ? found : std::nullopt);
      tuned_.known += usable;
    }
    const bool settled = take_what_is_known();
    for (size_t i = 0; i < tunables_.size() && !ended(); ++i)
      if (!(settled && known_[i])) decide(tunables_[i], known_[i]);
    return std::move(tuned_);
  }

 private:
  bool ended() {
    if (!tuned_.ended.empty()) return true;
    if (options_.should_stop && options_.should_stop())
      tuned_.ended = "stopped on request";
    else if (options_.seconds_left && options_.seconds_left() <= 0)
      tuned_.ended = "the time is up";
    return !tuned_.ended.empty();
  }

  // All of it at once; a program that was tuned before is done with that.
  bool take_what_is_known() {
    runner::Settings all;
    for (size_t i = 0; i < tunables_.size(); ++i)
      if (known_[i] && *known_[i] != tunables_[i].value)
        for (const std::string& name : tunables_[i].names) all[name] = *known_[i];
    if (all.empty()) return true;
    if (ended()) return false;
    say("what is known from earlier runs");
    return contest(all, "what is known", 0) == Outcome::won;
  }

  enum class Outcome : uint8_t { won, lost, dropped };

  void decide(const Tunable& tunable, std::optional<int64_t> known) {
    // Nothing is known to be better than what the program has, or what is known is tried alone.
    if (known && *known == tunable.value) return;
    if (known && try_value(tunable, *known) != Outcome::dropped) return;
    int64_t best = tunable.value;
    const double before = tuned_.gain;
    for (int64_t value : tunable.values) {
      if (value == tunable.value || (known && value == *known)) continue;
      if (ended()) return;
      if (try_value(tunable, value) == Outcome::won) best = value;
    }
    if (tuned_.ended.empty()) cache_.remember(tunable.signature, best, tuned_.gain / before);
  }

  Outcome try_value(const Tunable& tunable, int64_t value) {
    if (ended()) return Outcome::lost;
    say(format("{} = {}", tunable.names[0], value));
    runner::Settings settings = tuned_.settings;
    for (const std::string& name : tunable.names) settings[name] = value;
    return contest(settings, tunable.names[0], value);
  }

  // Against the best so far. Each round's ratio is taken for itself: what both sides drift by cancels.
  Outcome contest(const runner::Settings& settings, const std::string& name, int64_t value) {
    ++tuned_.tried;
    if (auto ready = clock_.challenge(settings); !ready) return drop(name, value, ready.error());
    std::vector<double> ratios;
    while (ratios.size() < rounds) {
      auto round = clock_.round();
      if (!round) return drop(name, value, round.error());
      if (round->best <= 0 || round->challenger <= 0) return Outcome::lost;
      ratios.push_back(round->challenger / round->best);
      if (ratios.back() > hopeless || std::ranges::min(ratios) > 1) return Outcome::lost;
    }
    auto [least, most] = std::ranges::minmax(ratios);
    const double spread = (most - least) / 2, middle = median(ratios);
    if (1 - middle <= std::max(spread, least_gain)) return Outcome::lost;
    clock_.crown();
    ++tuned_.kept;
    tuned_.gain /= middle;
    tuned_.settings = settings;
    return Outcome::won;
  }

  Outcome drop(const std::string& name, int64_t value, const Error& error) {
    // Trouble of our own: the values so far are good all the same.
    if (error.blame == Error::Blame::work) tuned_.ended = error.message;
    tuned_.dropped.push_back({name, value, error.message});
    return Outcome::dropped;
  }

  void say(const std::string& text) const {
    if (options_.on_progress) options_.on_progress("tuning: " + text);
  }

  const std::vector<Tunable>& tunables_;
  verifier::SettingsClock& clock_;
  const TuningCache& cache_;
  const TuneOptions& options_;
  std::vector<std::optional<int64_t>> known_;  // a tunable each
  Tuned tuned_;
};

}  // namespace

std::vector<Tunable> tunables_of(const plan::Context& context, const plan::Plan& plan,
                                 const Manifest& manifest) {
  const Graph& graph = context.graph;
  std::vector<bool> constant = plan::constant_regions(graph, plan);
  std::map<std::string, Tunable> alike;
  for (size_t r = 0; r < manifest.regions.size() && r < plan.regions.size(); ++r) {
    if (constant[r]) continue;  // it runs once
    const double seconds = plan::estimate(context, plan, plan.regions[r]).seconds();
    for (const ManifestSetting& setting : manifest.settings) {
      if (setting.region != manifest.regions[r].name || setting.values.size() < 2) continue;
      std::string signature = format("{} of {}", within(setting), signature_of(graph, plan, plan.regions[r]));
      Tunable& one = alike[signature];
      one.signature = signature;
      one.names.push_back(setting.name);
      one.values = setting.values;
      one.value = setting.value;
      one.seconds += seconds;
    }
  }
  // Of the whole program: whatever makes its regions alike makes such decisions alike.
  for (const ManifestSetting& setting : manifest.settings) {
    if (!setting.region.empty() || setting.values.size() < 2) continue;
    std::string signature = setting.name + " of";
    for (size_t r = 0; r < plan.regions.size(); ++r)
      if (!constant[r]) signature += "\n" + signature_of(graph, plan, plan.regions[r]);
    alike[signature] = {
        {setting.name}, signature, setting.values, setting.value, plan::estimate(context, plan)};
  }
  // What is a two-hundredth of a call can't be seen in one.
  const double least = plan::estimate(context, plan) / 200;
  std::vector<Tunable> out;
  for (auto& [signature, tunable] : alike)
    if (tunable.seconds >= least) out.push_back(std::move(tunable));
  std::ranges::stable_sort(out, std::ranges::greater{}, &Tunable::seconds);
  return out;
}

Tuned tune(const std::vector<Tunable>& tunables, verifier::SettingsClock& clock, const TuningCache& cache,
           const TuneOptions& options) {
  return Search(tunables, clock, cache, options).run();
}

Json to_json(const Tuned& tuned) {
  Json json = {{"settings", tuned.settings}, {"gain", tuned.gain},   {"tried", tuned.tried},
               {"kept", tuned.kept},         {"known", tuned.known}, {"dropped", Json::array()}};
  for (const DroppedValue& one : tuned.dropped)
    json["dropped"].push_back({{"name", one.name}, {"value", one.value}, {"reason", one.reason}});
  if (!tuned.ended.empty()) json["ended"] = tuned.ended;
  return json;
}

Result<Tuned> read_tuned(const Json& json) {
  try {
    Tuned out{.settings = json.at("settings").get<runner::Settings>(),
              .gain = json.at("gain").get<double>(),
              .tried = json.at("tried").get<int>(),
              .kept = json.at("kept").get<int>(),
              .known = json.at("known").get<int>(),
              .dropped = {},
              .ended = word(json, "ended")};
    for (const Json& one : json.at("dropped"))
      out.dropped.push_back({word(one, "name"), one.at("value").get<int64_t>(), word(one, "reason")});
    return out;
  } catch (const std::exception& error) {
    return work_error("tuning", format("not a tuning record: {}", error.what()));
  }
}

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
