#include "agents/llm/region_brief.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "graph/text.h"
#include "plan/cost/estimate.h"
#include "verify/measured.h"

namespace stitch::agents {

namespace {

constexpr double at_floor = 1.15;  // times its floor: nothing to gain inside the region

std::string text(const RegionTime& time) {
  return format("{} ({})", seconds_text(time.seconds), time.measured ? "measured" : "estimated");
}

RegionTime time_of_call(const Situation& now, const plan::Plan& plan) {
  if (now.best) return {now.best->seconds, now.ledger.measured};
  return {plan::estimate(now.context, plan), false};
}

// Which of the two sets the floor.
bool is_memory_bound(const plan::Context& context, const plan::Work& work, double floor) {
  return work.bytes / context.gpu.bandwidth >= floor;
}

std::string stored(const plan::Context& context, const plan::Plan& plan, ValueId value) {
  const auto index = static_cast<size_t>(value);
  const plan::Storage storage = index < plan.storage.size() ? plan.storage[index] : plan::Storage{};
  std::vector<std::string> order;
  for (int64_t dimension : storage.order) order.push_back(std::to_string(dimension));
  return format("{} {}, stored as {}{}", printable(context.graph[value].name),
                stitch::text(context.graph.type(value)), name(storage.dtype),
                order.empty() ? ", row-major" : format(", dimensions in the order ({})", join(order, ", ")));
}

std::string neighbours_text(const Situation& now, const plan::Plan& plan, const plan::Region& region) {
  std::string out;
  auto has = [](const std::vector<ValueId>& values, ValueId wanted) {
    return std::ranges::find(values, wanted) != values.end();
  };
  for (ValueId value : region.reads) {
    out += format("- reads {}", stored(now.context, plan, value));
    for (const plan::Region& other : plan.regions)
      if (has(other.writes, value)) out += format(", from {} ({})", other.name, other.technique->name());
    out += '\n';
  }
  for (ValueId value : region.writes) {
    out += format("- writes {}", stored(now.context, plan, value));
    for (const plan::Region& other : plan.regions)
      if (has(other.reads, value))
        out += format(", for {} ({}, {})", other.name, other.technique->name(),
                      other.technique->takes_any_order() ? "takes any order" : "takes this order");
    out += '\n';
  }
  return out;
}

// Steps of this run that were measured with this region in them, and those named after it.
std::string tried_text(const Situation& now, const plan::Region& region) {
  std::string out;
  for (const LedgerEntry& entry : now.ledger.entries) {
    const auto took = entry.region_seconds.find(region.name);
    const bool is_its_own = entry.step.ends_with(" " + region.name) ||
                            entry.step.find(format(" {}, ", region.name)) != std::string::npos;
    if (took == entry.region_seconds.end() && !is_its_own) continue;
    out += format("- {}: {}", printable(entry.step), name(entry.outcome));
    if (entry.after > 0) out += format(", {} a call", seconds_text(entry.after));
    if (took != entry.region_seconds.end()) out += format(", the region {}", seconds_text(took->second));
    if (std::string why = reason(entry); !why.empty()) out += format(" ({})", shorten(printable(why), 160));
    out += '\n';
  }
  return out.empty() ? "- nothing else\n" : out;
}

}  // namespace

// Where the profile has the region as it is in this plan.
RegionTime time_of(const Situation& now, const plan::Plan& plan, const plan::Region& region) {
  if (now.best && now.ledger.measured) {
    const auto& regions = now.best->plan.regions;
    auto same = std::ranges::find(regions, region.name, &plan::Region::name);
    const auto measured = verifier::profile_of(now.best->verdict).region_seconds;
    auto found = measured.find(region.name);
    if (same != regions.end() && same->nodes == region.nodes && found != measured.end())
      return {found->second, true};
  }
  return {plan::estimate(now.context, plan, region).seconds(), false};
}

Limit limit_of(const plan::Context& context, const plan::Plan& plan, const plan::Region& region,
               double seconds) {
  const double floor = plan::floor_of(context, plan, region);
  if (seconds <= floor * at_floor) return Limit::at_floor;
  if (floor < context.gpu.kernel_overhead) return Limit::launches;
  if (plan::estimate(context, plan, region).rearranging > 0.2 * seconds) return Limit::conversions;
  return is_memory_bound(context, plan::work_of(context.graph, plan, region), floor) ? Limit::memory
                                                                                     : Limit::arithmetic;
}

std::string limit_text(const plan::Context& context, const plan::Plan& plan, const plan::Region& region,
                       double seconds) {
  const plan::Work work = plan::work_of(context.graph, plan, region);
  switch (limit_of(context, plan, region, seconds)) {
    case Limit::at_floor:
      return "It is at its floor: only doing it together with a neighbour, or storing fewer bytes, can gain.";
    case Limit::launches:
      return format(
          "Its launches limit it: one kernel costs about {}, its work {}. Fewer kernels, or its work "
          "in a neighbour's, gain most.",
          seconds_text(context.gpu.kernel_overhead), seconds_text(plan::floor_of(context, plan, region)));
    case Limit::conversions:
      return format(
          "Layout conversions around it are about {} of its time: another order of dimensions would "
          "save them.",
          seconds_text(plan::estimate(context, plan, region).rearranging));
    case Limit::memory:
      return format("Memory sets its floor: {}, moved at {:.0f} % of the copy bandwidth.",
                    bytes_text(work.bytes), 100 * work.bytes / seconds / context.gpu.bandwidth);
    case Limit::arithmetic:
      return format("Arithmetic sets its floor: {:.3g} GFLOP, done at {:.3g} TFLOP/s.", work.flops * 1e-9,
                    work.flops / seconds * 1e-12);
  }
  return "";
}

std::string facts_of(const Situation& now, const plan::Plan& plan, const plan::Region& region) {
  const RegionTime own = time_of(now, plan, region), call = time_of_call(now, plan);
  const double floor = plan::floor_of(now.context, plan, region);
  const plan::Work work = plan::work_of(now.context.graph, plan, region);
  std::string out = format("{} by {}: {}, {:.1f} % of a call of {}.\n", region.name, region.technique->name(),
                           text(own), 100 * own.seconds / call.seconds, text(call));
  out += format("Floor: {}, set by {} ({} moved, {:.3g} GFLOP); the region is at {:.0f} % of it.\n",
                seconds_text(floor), is_memory_bound(now.context, work, floor) ? "memory" : "arithmetic",
                bytes_text(work.bytes), work.flops * 1e-9, 100 * std::min(1.0, floor / own.seconds));
  out += limit_text(now.context, plan, region, own.seconds) + "\n";
  if (now.best)
    if (const auto diagnosis = verifier::profile_of(now.best->verdict).diagnosis)
      out += format("The whole program is bound by: {}.\n", profile::name(diagnosis->bottleneck));
  out += "Its neighbours:\n" + neighbours_text(now, plan, region);
  return out + "Tried in this run:\n" + tried_text(now, region);
}

std::string facts_of(const Situation& now, const plan::Plan& plan) {
  struct Line {
    double above;
    std::string text;
  };
  std::vector<Line> lines;
  for (const plan::Region& region : plan.regions) {
    const RegionTime own = time_of(now, plan, region);
    const double floor = plan::floor_of(now.context, plan, region);
    lines.push_back({own.seconds - floor,
                     format("- {} by {}, {} nodes: {}, floor {}. {}\n", region.name, region.technique->name(),
                            region.nodes.size(), text(own), seconds_text(floor),
                            limit_text(now.context, plan, region, own.seconds))});
  }
  std::ranges::stable_sort(lines, std::ranges::greater(), &Line::above);
  std::string out = format("A call: {}.\n", text(time_of_call(now, plan)));
  for (const Line& line : lines) out += line.text;
  return out;
}

namespace {

// A technique with a source of its own is none that an edit may name.
bool may_become(const plan::Technique& technique, const plan::Context& context, const plan::Region& region) {
  return !technique.takes_source() && technique.accepts(context, region);
}

plan::Region made_by(const plan::Technique& technique, const plan::Context& context, plan::Region region) {
  if (region.technique == &technique) return region;
  region.technique = &technique;
  region.choices.clear();
  region.source.reset();
  const auto offers = technique.offers(context, region);
  if (!offers.empty() && std::ranges::find(offers, region.offer) == offers.end())
    region.offer = offers.front();
  return region;
}

std::string knob_text(const plan::Knob& knob, const plan::Region& region) {
  std::vector<std::string> values;
  for (int64_t value : knob.values) values.push_back(std::to_string(value));
  auto chosen = region.choices.find(knob.name);
  return format("    {} ({}): one of {}{}\n", knob.name, knob.meaning, join(values, ", "),
                chosen == region.choices.end() ? "" : format("; now {}", chosen->second));
}

std::string technique_text(const plan::Technique& technique, const plan::Context& context,
                           const plan::Plan& plan, const plan::Region& region, bool every_knob) {
  const bool now = region.technique == &technique;
  const plan::Region made = made_by(technique, context, region);
  std::vector<std::string> offers;
  for (const plan::Offer& offer : technique.offers(context, made))
    offers.push_back(format("{} {}", plan::name(offer.arithmetic), plan::name(offer.order)));
  std::string out = format("- {}{}, estimated {}: {}; offers: {}\n", technique.name(), now ? " (now)" : "",
                           seconds_text(plan::estimate(context, plan, made).seconds()), technique.idea(),
                           join(offers, ", "));
  if (now)
    out += format("    now: {} {}\n", plan::name(region.offer.arithmetic), plan::name(region.offer.order));
  if (now || every_knob)
    for (const plan::Knob& knob : technique.knobs(context, made)) out += knob_text(knob, made);
  return out;
}

std::string techniques_text(const plan::Context& context, const plan::Plan& plan, const plan::Region& region,
                            const plan::Catalogue& catalogue, bool every_knob = true) {
  std::string out;
  if (region.source)
    out += format("- {} (now): a source by {}\n", region.technique->name(), region.source->author);
  for (const plan::Technique* each : catalogue.all())
    if (may_become(*each, context, region)) out += technique_text(*each, context, plan, region, every_knob);
  return out;
}

// By which techniques two regions can be one; empty: by none.
std::string joined_by(const plan::Context& context, const plan::Region& one, const plan::Region& other,
                      const plan::Catalogue& catalogue) {
  plan::Region merged = one;
  merged.nodes.insert(merged.nodes.end(), other.nodes.begin(), other.nodes.end());
  std::ranges::sort(merged.nodes);
  plan::complete(context.graph, merged);
  std::vector<std::string> names;
  for (const plan::Technique* each : catalogue.all())
    if (may_become(*each, context, merged)) names.emplace_back(each->name());
  return join(names, ", ");
}

}  // namespace

std::vector<const plan::Region*> neighbours(const plan::Plan& plan, const plan::Region& region) {
  auto shares = [](const std::vector<ValueId>& writes, const std::vector<ValueId>& reads) {
    return std::ranges::any_of(writes,
                               [&](ValueId value) { return std::ranges::find(reads, value) != reads.end(); });
  };
  std::vector<const plan::Region*> out;
  for (const plan::Region& other : plan.regions)
    if (other.name != region.name &&
        (shares(other.writes, region.reads) || shares(region.writes, other.reads)))
      out.push_back(&other);
  return out;
}

namespace {

// One that can be made: weak models copy what they see.
std::string example_of_a_change(const plan::Context& context, const plan::Region& region,
                                const plan::Catalogue& catalogue) {
  Json change = {{"region", region.name}};
  for (const plan::Technique* each : catalogue.all())
    if (change.size() == 1 && each != region.technique && each->kind() != plan::Kind::any &&
        may_become(*each, context, region))
      change["technique"] = each->name();
  if (change.size() == 1)
    for (const plan::Knob& knob : region.technique->knobs(context, region))
      if (change.size() == 1 && knob.values.size() > 1)
        change["choices"][knob.name] =
            knob.values[region.choice(knob.name, knob.values[0]) == knob.values[0]];
  if (change.size() == 1) return "";
  return format("An example of a change:\n```json\n{}\n```\n", Json{{"changes", {change}}}.dump());
}

}  // namespace

std::string choices_of(const plan::Context& context, const plan::Plan& plan, const plan::Region& region,
                       const plan::Catalogue& catalogue) {
  std::string out = format("Techniques that accept {}:\n{}", region.name,
                           techniques_text(context, plan, region, catalogue));
  for (const plan::Region* other : neighbours(plan, region))
    if (std::string by = joined_by(context, region, *other, catalogue); !by.empty())
      out += format("{} and its neighbour {} can be one region, by: {}\n", region.name, other->name, by);
  if (region.nodes.size() > 1) out += format("{} can be split into its nodes.\n", region.name);
  return out + example_of_a_change(context, region, catalogue);
}

namespace {

std::string choices_with(const plan::Context& context, const plan::Plan& plan,
                         const plan::Catalogue& catalogue, bool every_knob) {
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds;  // text, regions
  for (const plan::Region& region : plan.regions) {
    const std::string text = techniques_text(context, plan, region, catalogue, every_knob);
    auto same = std::ranges::find(kinds, text, &std::pair<std::string, std::vector<std::string>>::first);
    if (same == kinds.end())
      kinds.push_back({text, {region.name}});
    else
      same->second.push_back(region.name);
  }
  std::string out;
  for (const auto& [text, regions] : kinds) out += format("Accept {}:\n{}", join(regions, ", "), text);
  std::map<std::string, std::vector<std::string>> joined;  // pairs, by techniques
  for (const plan::Region& region : plan.regions)
    for (const plan::Region* other : neighbours(plan, region))
      if (other > &region)
        if (std::string by = joined_by(context, region, *other, catalogue); !by.empty())
          joined[by].push_back(format("{} + {}", region.name, other->name));
  for (const auto& [by, pairs] : joined)
    out += format("Can be one region by {}: {}\n", by, join(pairs, ", "));
  return out;
}

}  // namespace

std::string choices_of(const plan::Context& context, const plan::Plan& plan, const plan::Catalogue& catalogue,
                       size_t limit) {
  std::string out = choices_with(context, plan, catalogue, true);
  return out.size() <= limit ? out : choices_with(context, plan, catalogue, false);
}

}  // namespace stitch::agents
