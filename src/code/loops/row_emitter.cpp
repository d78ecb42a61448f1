#include "code/loops/row_emitter.h"

#include <algorithm>

#include "base/format.h"
#include "code/loops/families.h"

namespace stitch::code::loops {

namespace {

// Dimensions in another order, and back.
Shape ordered(const Shape& shape, const std::vector<size_t>& order) {
  Shape out;
  for (size_t d : order) out.push_back(shape[d]);
  return out;
}
Indices restored(const Indices& indices, const std::vector<size_t>& order) {
  Indices out(indices.size());
  for (size_t i = 0; i < order.size(); ++i) out[order[i]] = indices[i];
  return out;
}

}  // namespace

Indices RowEmitter::open_row() {
  const char* type = index_type();
  std::string thread = format("static_cast<{}>(threadIdx.x)", type),
              block = format("static_cast<{}>(blockIdx.x)", type);
  std::string mine;
  if (plan_.whole_block()) {
    mine = block;
    line(format("const {} lane = {};", type, thread));
  } else if (plan_.column) {
    mine = format("{} * {} + {} % {}", block, plan_.columns, thread, plan_.columns);
    if (plan_.lanes > 1) line(format("const {} lane = {} / {};", type, thread, plan_.columns));
  } else {
    mine = format("({} * {} + {}) / {}", block, plan_.threads, thread, plan_.lanes);
    if (plan_.lanes > 1) line(format("const {} lane = {} % {};", type, thread, plan_.lanes));
  }
  if (plan_.rows > 1 || plan_.overhangs()) {
    if (plan_.overhangs()) {
      // Everybody takes part in the reductions; only rows that exist are written.
      std::string wanted = names_.unique("wanted_row");
      line(format("const {} {} = {};", type, wanted, mine));
      line(format("const bool inside = {} < {};", wanted, plan_.rows));
      mine = format("inside ? {} : {}", wanted, plan_.rows - 1);
    }
    if (plan_.rows > 1) line(format("const {} row = {};", type, mine));
  }
  Index row = Index::variable("row", plan_.rows);
  return restored(unflatten(row, ordered(plan_.reduction.kept_shape(), plan_.kept_order)), plan_.kept_order);
}

bool RowEmitter::same_rows(const Reduction& reduction) const {
  return reduction.reduced_shape() == plan_.reduction.reduced_shape();
}

Indices RowEmitter::open_elements(const Reduction& reduction) {
  bool own = same_rows(reduction);
  Shape shape = reduction.reduced_shape();
  int64_t width = own ? plan_.width : 1, packs = element_count(shape) / width;
  const char* type = index_type();
  std::string lane = plan_.lanes > 1 ? "lane" : "0";
  holding_ = own && plan_.held > 0;
  loops_open_ = 1;
  if (holding_) {
    scopes_.open(format("#pragma unroll\nfor (int e = 0; e < {}; ++e)", plan_.held), {"e"}, false);
    line(plan_.lanes > 1 ? format("const {} pack = e * {} + lane;", type, plan_.lanes)
                         : format("const {} pack = e;", type));
    scopes_.introduce("pack");
    if (plan_.held * plan_.lanes != packs) {
      guard(format("pack < {}", packs));
      ++loops_open_;
    }
  } else if (plan_.parts > 1) {
    int64_t part = divided_up(divided_up(packs, plan_.parts), plan_.lanes) * plan_.lanes;
    line(format("const {0} part_begin = static_cast<{0}>(blockIdx.y) * {1};", type, part));
    line(format("const {0} part_end = part_begin + {1} < {2} ? part_begin + {1} : {2};", type, part, packs));
    scopes_.open(format("for ({} pack = part_begin{}; pack < part_end; pack += {})", type,
                        plan_.lanes > 1 ? " + lane" : "", plan_.lanes),
                 {"pack"}, false);
  } else {
    scopes_.open(format("for ({} pack = {}; pack < {}; pack += {})", type, lane, packs, plan_.lanes),
                 {"pack"}, false);
  }
  Index pack = Index::variable("pack", packs), inner = open_pack(width);
  if (holding_)
    for (const auto& [key, array] : held_) scopes_.remember(key, element_of_held(array));
  if (!own) return unflatten(pack, shape);
  Shape walked = ordered(shape, plan_.reduced_order);
  Indices in_order = unpacked(pack, inner, width, walked, plan_.joined);
  return restored(in_order, plan_.reduced_order);
}

void RowEmitter::close_elements() {
  close_pack();
  for (; loops_open_ > 0; --loops_open_) close();
  holding_ = false;
}

std::string RowEmitter::element_of_held(const std::string& array) const {
  if (plan_.width == 1) return format("{}[e]", array);
  return format("{}[e * {} + v]", array, plan_.width);
}

// Keeps the value for the loops that follow.
void RowEmitter::hold(const std::string& key, ValueId id) {
  if (!holding_ || held_.contains(key)) return;
  std::string array = names_.unique(graph()[id].name + "_held"), current = *scopes_.find(key);
  {
    Scopes::Outside outside(scopes_, 0);
    line(format("{} {}[{}];", type_of(id), array, plan_.held * plan_.width));
  }
  line(format("{} = {};", element_of_held(array), current));
  held_[key] = array;
}

std::string RowEmitter::joined(const Pass& pass, const std::string& accumulator) const {
  if (plan_.lanes == 1) return accumulator;
  std::string how = plan_.whole_block() ? format("reduce_block<{}>", plan_.threads)
                    : plan_.column      ? format("reduce_columns<{}, {}>", plan_.columns, plan_.lanes)
                                        : format("reduce_lanes<{}>", plan_.lanes);
  return format("stitch::{}({}, {})", how, accumulator, pass.combine);
}

std::vector<std::string> RowEmitter::findings(const Reduction& reduction, const Indices& kept) {
  if (!collective) return LoopEmitter::findings(reduction, kept);
  std::string key = format("found|{}|{}", reduction.node, key_of(reduction.operand, kept));
  size_t count = finding_types(graph(), reduction).size();
  std::vector<std::string> known;
  for (size_t i = 0; i < count; ++i)
    if (const std::string* found = scopes_.find(format("{}|{}", key, i))) known.push_back(*found);
  if (known.size() == count) return known;

  Shape shape = reduction.kept_shape();
  bool in_range = true;
  for (size_t d = 0; d < kept.size(); ++d) in_range &= kept[d].least() >= 0 && kept[d].most() < shape[d];
  if (!in_range || scopes_.outermost(kept, true) != 0 || reduction.length() == 0) {
    failed |= reduction.length() > most_inlined;
    return LoopEmitter::findings(reduction, kept);
  }
  Scopes::Outside outside(scopes_, 0);
  // A pass inside another's pack must not think that it is in that pack.
  PackLoop pack_before = pack_;
  int open_before = loops_open_;
  bool holding_before = holding_;
  auto stores_before = std::exchange(pack_stores_, {});
  pack_ = {};
  bool held = plan_.held > 0 && same_rows(reduction);
  Scheme scheme =
      scheme_of(graph(), reduction, !held, [&](std::string_view name) { return names_.unique(name); });
  for (const Pass& pass : scheme.passes) {
    std::string accumulator = names_.unique(graph()[reduction.operand].name + "_over");
    line(format("{} {} = {};", pass.type, accumulator, pass.identity));
    Indices reduced = open_elements(reduction);
    Indices at = reduction.operand_at(reduction.space_at(kept, reduced));
    std::string x = value(reduction.operand, at);
    hold(key_of(reduction.operand, at), reduction.operand);
    line(pass.step(accumulator, x, flatten(reduced, reduction.reduced_shape()).text()));
    close_elements();
    if (plan_.lanes > 1) line(format("{} = {};", accumulator, joined(pass, accumulator)));
    for (const Pass::Finding& each : pass.finish(accumulator))
      line(format("const {} {} = {};", each.type, each.name, each.text));
  }
  for (size_t i = 0; i < count; ++i) scopes_.remember(format("{}|{}", key, i), scheme.findings[i]);
  pack_ = pack_before;
  loops_open_ = open_before;
  holding_ = holding_before;
  pack_stores_ = std::move(stores_before);
  asked.emplace_back(reduction, kept);
  return scheme.findings;
}

}  // namespace stitch::code::loops
