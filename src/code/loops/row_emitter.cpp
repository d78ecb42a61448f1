#include "code/loops/row_emitter.h"

#include <algorithm>

#include "base/format.h"
#include "code/loops/is_expression.h"

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
  if (plan_.team > 1) {
    line(format("const {} block = stitch::take_ticket(tickets);", type));
    line(format("const {} lane = {};", type, thread));
    line(format("const {} part = block % {};", type, plan_.team));
    mine = format("block / {}", plan_.team);
  } else if (plan_.whole_block()) {
    mine = block;
    line(format("const {} lane = {};", type, thread));
  } else if (plan_.column) {
    mine = format("{} * {} + {} % {}", block, plan_.columns, thread, plan_.columns);
    if (plan_.lanes > 1) line(format("const {} lane = {} / {};", type, thread, plan_.columns));
  } else {
    mine = format("{} / {}", thread_number(type, "blockIdx.x"), plan_.lanes);
    if (plan_.lanes > 1) line(format("const {} lane = {} % {};", type, thread, plan_.lanes));
  }
  const int64_t rows = plan_.rows / plan_.across;
  if (rows > 1 || plan_.overhangs()) {
    if (plan_.overhangs()) {
      // Everybody takes part in the reductions; only rows that exist are written.
      std::string wanted = names_.unique("wanted_row");
      line(format("const {} {} = {};", type, wanted, mine));
      line(format("const bool inside = {} < {};", wanted, rows));
      mine = format("inside ? {} : {}", wanted, rows - 1);
    }
    if (rows > 1) line(format("const {} row = {};", type, mine));
  }
  return kept_at(0);
}

Indices RowEmitter::kept_at(const Index& lane) const {
  Shape shape = ordered(plan_.reduction.kept_shape(), plan_.kept_order);
  Index row = Index::variable("row", plan_.rows / plan_.across);
  return restored(plan_.across > 1 ? unpacked(row, lane, plan_.across, shape, 1) : unflatten(row, shape),
                  plan_.kept_order);
}

void RowEmitter::keep_turned(const Index& element, const std::string& text) {
  {
    Scopes::Outside outside(scopes_, 0);
    // One more than there are rows: neither side meets a bank too often.
    line(format("__shared__ float turned[{}][{}];", plan_.length, turned_rows + 1));
  }
  line(format("{}turned[{}][threadIdx.x / {}] = {};", if_stored(), element.text(), plan_.lanes, text));
}

void RowEmitter::store_turned(const Place& write) {
  const char* type = index_type();
  line("__syncthreads();");
  line(format("const int r = static_cast<int>(threadIdx.x) % {};", turned_rows));
  Index row = declare_index("turned_row", format("static_cast<{}>(blockIdx.x) * {} + r", type, turned_rows),
                            plan_.rows);
  scopes_.open(format("#pragma unroll 4\nfor (int c = static_cast<int>(threadIdx.x) / {}; c < {}; c += {})",
                      turned_rows, plan_.length, plan_.lanes),
               {"c"}, false);
  const bool partly = plan_.rows % turned_rows != 0;
  if (partly) guard(format("{} < {}", row.text(), plan_.rows));
  Shape shape = ordered(plan_.reduction.kept_shape(), plan_.kept_order);
  Indices kept = restored(unflatten(row, shape), plan_.kept_order),
          reduced = unflatten(Index::variable("c", plan_.length), plan_.reduction.reduced_shape());
  store(write, plan_.reduction.operand_at(plan_.reduction.space_at(kept, reduced)), "turned[c][r]");
  if (partly) close();
  close();
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
  failed |= plan_.team > 1 && !own;
  if (holding_ && plan_.team > 1) {
    int64_t together = std::min<int64_t>(plan_.held, width > 1 ? 8 : 16);
    scopes_.open(format("#pragma unroll {}\nfor (int e = 0; e < {}; ++e)", together, plan_.held), {"e"},
                 false);
    declare_pack(format("part * {} + e * {} + lane", plan_.held * plan_.threads, plan_.threads),
                 plan_.held * plan_.threads * plan_.team, packs);
  } else if (holding_) {
    scopes_.open(format("#pragma unroll\nfor (int e = 0; e < {}; ++e)", plan_.held), {"e"}, false);
    declare_pack(plan_.lanes > 1 ? format("e * {} + lane", plan_.lanes) : "e", plan_.held * plan_.lanes,
                 packs);
  } else if (plan_.parts > 1) {
    int64_t part = divided_up(divided_up(packs, plan_.parts), plan_.lanes) * plan_.lanes;
    line(format("const {0} part_begin = static_cast<{0}>(blockIdx.y) * {1};", type, part));
    line(format("const {0} part_end = part_begin + {1} < {2} ? part_begin + {1} : {2};", type, part, packs));
    scopes_.open(format("#pragma unroll 4\nfor ({} pack = part_begin{}; pack < part_end; pack += {})", type,
                        plan_.lanes > 1 ? " + lane" : "", plan_.lanes),
                 {"pack"}, false);
  } else {
    scopes_.open(
        format("{}for ({} pack = {}; pack < {}; pack += {})",
               plan_.column && packs > 64 ? "#pragma unroll 8\n" : "", type, lane, packs, plan_.lanes),
        {"pack"}, false);
  }
  Index pack = Index::variable("pack", packs), inner = open_pack(width);
  elements_depth_ = scopes_.depth();
  if (holding_)
    for (const auto& [key, each] : held_) scopes_.remember(key, element_of_held(each.array));
  if (!own) return unflatten(pack, shape);
  Shape walked = ordered(shape, plan_.reduced_order);
  Indices in_order = unpacked(pack, inner, width, walked, plan_.joined);
  return restored(in_order, plan_.reduced_order);
}

// Past the end of a row, a thread looks at its last pack once more, and `within` says so: a guard around all
// that is done with a pack would keep the next ones' loads waiting.
void RowEmitter::declare_pack(const std::string& number, int64_t reach, int64_t packs) {
  const char* type = index_type();
  if (reach == packs) {
    line(format("const {} pack = {};", type, number));
  } else {
    line(format("const {} wanted_pack = {};", type, number));
    line(format("const bool within = wanted_pack < {};", packs));
    line(format("const {} pack = within ? wanted_pack : {};", type, packs - 1));
    store_condition_ = "within";
  }
  scopes_.introduce("pack");
}

void RowEmitter::close_elements() {
  close_pack();
  close();
  holding_ = false;
  store_condition_.clear();
}

std::string RowEmitter::element_of_held(const std::string& array) const {
  // Neighbouring threads hold neighbouring words.
  if (plan_.team > 1)
    return plan_.width == 1 ? format("{}[e * {} + lane]", array, plan_.threads)
                            : format("{}[(e * {} + v) * {} + lane]", array, plan_.width, plan_.threads);
  if (plan_.width == 1) return format("{}[e]", array);
  return format("{}[e * {} + v]", array, plan_.width);
}

// Keeps the value for the loops that follow.
void RowEmitter::hold(const std::string& key, ValueId id) {
  if (!holding_ || held_.contains(key) || (keep && !keep->contains(key))) return;
  std::string array = names_.unique(graph()[id].name + "_held"), current = *scopes_.find(key),
              type = type_of(id);
  int64_t bytes = type == "double" || type == "int64_t" ? 8 : type == "bool" ? 1 : 4;
  {
    Scopes::Outside outside(scopes_, 0);
    if (plan_.team > 1)
      line(format("{0}* const {1} = stitch::shared_row<{0}>({2});", type, array, shared_bytes()));
    else
      line(format("{} {}[{}];", type, array, plan_.held * plan_.width));
  }
  line(format("{} = {};", element_of_held(array), current));
  held_[key] = {array, bytes};
}

int64_t RowEmitter::shared_bytes() const {
  int64_t sum = 0;
  for (const auto& [key, each] : held_) sum += each.bytes * plan_.held * plan_.width * plan_.threads;
  return divided_up(sum, 16) * 16;
}

// What memory gave is as good to hold as what was made of it: whichever the loops that follow ask for.
void RowEmitter::loaded(ValueId id, const std::string& key, const Indices& at) {
  if (scopes_.depth() == elements_depth_ &&
      std::ranges::any_of(at, [](const Index& index) { return index.appears("pack"); }))
    hold(key, id);
}

std::string RowEmitter::joined(const Pass& pass, const std::string& accumulator) {
  if (plan_.lanes == 1) return accumulator;
  if (plan_.team > 1) {
    failed |= pass.bytes % 4 != 0;
    std::string parts = names_.unique(accumulator + "_parts");
    std::string text = format("stitch::reduce_team<{}, {}>({}, {}, {}, part, {} + row * {})", plan_.threads,
                              plan_.team, accumulator, pass.combine, pass.identity, parts, plan_.team);
    team_parts.push_back({pass.type, parts, pass.bytes});
    return text;
  }
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
  std::string condition_before = std::exchange(store_condition_, {});
  bool holding_before = holding_;
  size_t depth_before = elements_depth_;
  auto stores_before = std::exchange(pack_stores_, {});
  pack_ = {};
  // A team would wait for each other after every pass: it takes all in one.
  bool held = plan_.held > 0 && plan_.team == 1 && same_rows(reduction);
  Scheme scheme =
      scheme_of(graph(), reduction, !held, [&](std::string_view name) { return names_.unique(name); });
  for (const Pass& pass : scheme.passes) {
    std::string accumulator = names_.unique(graph()[reduction.operand].name + "_over");
    line(format("{} {} = {};", pass.type, accumulator, pass.identity));
    Indices reduced = open_elements(reduction);
    Indices at = reduction.operand_at(reduction.space_at(kept, reduced));
    std::string x = value(reduction.operand, at);
    hold(key_of(reduction.operand, at), reduction.operand);
    const bool guarded = !store_condition_.empty() && pass.neutral.empty();
    if (!store_condition_.empty() && !guarded) {
      std::string counted = names_.unique(graph()[reduction.operand].name + "_counted");
      line(format("const {} {} = {} ? {} : {};", type_of(reduction.operand), counted, store_condition_, x,
                  pass.neutral));
      x = counted;
    }
    if (guarded) guard(store_condition_);
    line(pass.step(accumulator, x, flatten(reduced, reduction.reduced_shape()).text()));
    if (guarded) close();
    close_elements();
    if (plan_.lanes > 1) line(format("{} = {};", accumulator, joined(pass, accumulator)));
    for (const Pass::Finding& each : pass.finish(accumulator))
      line(format("const {} {} = {};", each.type, each.name, each.text));
  }
  for (size_t i = 0; i < count; ++i) scopes_.remember(format("{}|{}", key, i), scheme.findings[i]);
  pack_ = pack_before;
  store_condition_ = condition_before;
  holding_ = holding_before;
  elements_depth_ = depth_before;
  pack_stores_ = std::move(stores_before);
  asked.emplace_back(reduction, kept);
  return scheme.findings;
}

}  // namespace stitch::code::loops
