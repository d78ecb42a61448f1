#include "learn/coder/choices.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace stitch::learn {

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
  for (const plan::Way& way : plan::ways_of(context, plan, region, catalogue)) {
    plan::Region out = plan::with_way(context, region, way);
    for (const plan::Knob& knob : plan::open_knobs(context, out)) out.choices.erase(knob.name);
    for (size_t i = way_words; i < words.size(); ++i) {
      const size_t sign = words[i].find('=');
      int64_t value = 0;
      const char *begin = words[i].data() + sign + 1, *end = words[i].data() + words[i].size();
      if (sign == std::string::npos || std::from_chars(begin, end, value).ptr != end) return std::nullopt;
      const std::string name = words[i].substr(0, sign);
      // Those that aren't open stand there already.
      for (const plan::Knob& knob : plan::open_knobs(context, out))
        if (knob.name == name && std::ranges::find(knob.values, value) != knob.values.end())
          out.choices[name] = value;
    }
    if (choice_text(out) == text) return out;
  }
  return std::nullopt;
}

}  // namespace stitch::learn
