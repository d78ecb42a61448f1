#include "learn/skills/leakage.h"

namespace stitch::learn {

std::vector<Leak> leaks(const std::vector<KnownGraph>& training, const std::vector<KnownGraph>& benchmark,
                        double most_similar) {
  std::vector<Leak> out;
  for (const KnownGraph& one : training)
    for (const KnownGraph& other : benchmark) {
      const bool same = !one.hash.empty() && one.hash == other.hash;
      const double near = same ? 1 : one.sketch.empty() ? 0 : similarity(one.sketch, other.sketch);
      if (near > most_similar) out.push_back({one.name, other.name, near});
    }
  return out;
}

}  // namespace stitch::learn
