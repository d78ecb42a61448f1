#include "agents/llm/region_facts.h"

#include <algorithm>

#include "agents/llm/choices_text.h"
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
    if (took == entry.region_seconds.end() && !entry.step.ends_with(region.name)) continue;
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

}  // namespace stitch::agents
