#include "agents/llm/choices_text.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "plan/cost/estimate.h"

namespace stitch::agents {

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

std::string choices_of(const plan::Context& context, const plan::Plan& plan, const plan::Region& region,
                       const plan::Catalogue& catalogue) {
  std::string out = format("Techniques that accept {}:\n{}", region.name,
                           techniques_text(context, plan, region, catalogue));
  for (const plan::Region* other : neighbours(plan, region))
    if (std::string by = joined_by(context, region, *other, catalogue); !by.empty())
      out += format("{} and its neighbour {} can be one region, by: {}\n", region.name, other->name, by);
  if (region.nodes.size() > 1) out += format("{} can be split into its nodes.\n", region.name);
  return out;
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
