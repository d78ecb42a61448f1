#include "plan/technique.h"

#include <algorithm>

namespace stitch::plan {

Kind kind_of(const Graph& graph, const Region& region) {
  for (int32_t n : region.nodes) switch (graph.node(n).op) {
      case Op::linear:
      case Op::matmul:
      case Op::einsum: return Kind::product;
      case Op::conv:
      case Op::conv_transpose: return Kind::convolution;
      case Op::attention: return Kind::attention;
      case Op::rnn: return Kind::recurrence;
      default: break;
    }
  return Kind::loop;
}

const Technique* Catalogue::find(std::string_view name) const {
  auto found = std::ranges::find(all_, name, [](const Technique* each) { return each->name(); });
  return found == all_.end() ? nullptr : *found;
}

Result<const Technique*> Catalogue::plain(const Context& context, const Region& region) const {
  const Kind kind = kind_of(context.graph, region);
  Error last = work_error("technique", format("{}: no nodes", region.name));
  for (const Technique* technique : all_) {
    if (technique->kind() != kind || technique->entry() != Entry::plain) continue;
    auto accepted = technique->accepts(context, region);
    if (accepted) return technique;
    last = accepted.error();
  }
  return last;
}

bool offers(const Technique& technique, const Context& context, const Region& region, const Offer& offer) {
  const std::vector<Offer> all = technique.offers(context, region);
  return std::ranges::find(all, offer) != all.end();
}

}  // namespace stitch::plan
