#include "learn/coder/choices.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace stitch::learn {

namespace {

// Truncated sums of a technique that comes in here: as short as its first user would have them where nothing
// is known of the model (plan/choose.cpp has the measured lengths).
constexpr int64_t balanced_sum = 1024, other_sum = 256;

int coarseness(plan::Precision precision) {
  switch (precision) {
    case plan::Precision::f32: return 0;
    case plan::Precision::tf32:
    case plan::Precision::f16: return 1;  // ten bits both
    case plan::Precision::bf16: return 2;
  }
  return 0;
}

// Was the knob set so that the whole program takes less memory?
bool saves_memory(const plan::Context& context, const plan::Region& region, const std::string& knob) {
  const auto chosen = region.choices.find(knob);
  if (chosen == region.choices.end()) return false;
  plan::Region before = region;
  before.choices.erase(knob);
  const auto leaner = region.technique->leaner(context, before);
  return leaner && leaner->knob == knob && leaner->value == chosen->second;
}

}  // namespace

plan::Region with_way(const plan::Context& context, const plan::Region& region, const Way& way) {
  plan::Region out = region;
  out.offer = way.offer;
  if (way.technique == region.technique) return out;
  out.technique = way.technique;
  out.choices.clear();
  out.source.reset();
  if (auto sums = way.technique->truncated_sums(context, out))
    out.choices[sums->knob] = sums->balanced ? balanced_sum : other_sum;
  return out;
}

std::vector<Way> ways_of(const plan::Context& context, const plan::Plan& plan, const plan::Region& region,
                         const plan::Catalogue& catalogue) {
  std::vector<Way> out;
  if (region.source) return out;  // user-written: no choices
  const plan::Kind kind = plan::kind_of(context.graph, region);
  const int now = coarseness(region.technique->operand_precision(context, region));
  for (const plan::Technique* technique : catalogue.all()) {
    if (technique->kind() != kind || technique->takes_source()) continue;
    if (!technique->accepts(context, region)) continue;
    for (const plan::Offer& offer : technique->offers(context, region)) {
      const plan::Region changed = with_way(context, region, {technique, offer});
      const bool same = technique == region.technique && offer == region.offer;
      if (!same && coarseness(technique->operand_precision(context, changed)) > now) continue;
      // Times of such a way depend on the values (outliers are multiplied again), and those of a measurement
      // are drawn: it is an option only where its own judgement has it.
      if (!same && technique->entry() == plan::Entry::approximate &&
          !technique->suits(context, changed, offer))
        continue;
      if (!technique->accepts_storage(context, plan, changed)) continue;
      out.push_back({technique, offer});
    }
  }
  return out;
}

std::vector<plan::Knob> open_knobs(const plan::Context& context, const plan::Region& region) {
  std::vector<plan::Knob> out;
  const auto sums = region.technique->truncated_sums(context, region);
  for (plan::Knob& knob : region.technique->knobs(context, region))
    if (knob.values.size() > 1 && !(sums && sums->knob == knob.name) &&
        !saves_memory(context, region, knob.name))
      out.push_back(std::move(knob));
  return out;
}

std::string choice_text(const plan::Region& region) {
  std::string out = format("{} {} {}", region.technique->name(), plan::name(region.offer.arithmetic),
                           plan::name(region.offer.order));
  for (const auto& [knob, value] : region.choices) out += format(" {}={}", knob, value);
  return out;
}

std::optional<plan::Region> read_choice(const plan::Context& context, const plan::Plan& plan,
                                        const plan::Region& region, const plan::Catalogue& catalogue,
                                        const std::string& text) {
  const std::vector<std::string> words = split(text, ' ');
  constexpr size_t way_words = 3;
  if (text == choice_text(region)) return region;
  for (const Way& way : ways_of(context, plan, region, catalogue)) {
    plan::Region out = with_way(context, region, way);
    for (const plan::Knob& knob : open_knobs(context, out)) out.choices.erase(knob.name);
    for (size_t i = way_words; i < words.size(); ++i) {
      const size_t sign = words[i].find('=');
      int64_t value = 0;
      const char *begin = words[i].data() + sign + 1, *end = words[i].data() + words[i].size();
      if (sign == std::string::npos || std::from_chars(begin, end, value).ptr != end) return std::nullopt;
      const std::string name = words[i].substr(0, sign);
      // Those that aren't open stand there already.
      for (const plan::Knob& knob : open_knobs(context, out))
        if (knob.name == name && std::ranges::find(knob.values, value) != knob.values.end())
          out.choices[name] = value;
    }
    if (choice_text(out) == text) return out;
  }
  return std::nullopt;
}

}  // namespace stitch::learn
