#include "code/loops/emit/row_emitter.h"

#include <algorithm>

#include "base/format.h"
#include "code/loops/reduction.h"

namespace stitch::code::loops {

namespace {

// Permutes dimensions, and back.
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
  const Type type = index_type();
  const Expression thread = launch_index(type, "threadIdx.x"), block = launch_index(type, "blockIdx.x");
  auto declare = [&](const char* name, const Expression& value) { add(define_constant(type, name, value)); };
  Expression mine;
  if (plan_.team()) {
    declare("block", code::collective("stitch::take_ticket", {named("tickets")}));
    declare("lane", thread);
    declare("part", named("block") % plan_.team()->blocks);
    mine = named("block") / plan_.team()->blocks;
  } else if (plan_.block()) {
    mine = block;
    declare("lane", thread);
  } else if (plan_.columns()) {
    const int64_t cluster = plan_.cluster();
    if (cluster > 1) {
      add(evaluate(code::collective("stitch::arrive_at_cluster", {})));
      declare("part", block % cluster);
    }
    mine = (cluster > 1 ? block / cluster : block) * plan_.columns()->columns +
           thread % plan_.columns()->columns;
    if (plan_.lanes() > 1) declare("lane", thread / plan_.columns()->columns);
  } else {
    mine = thread_number(type, named("blockIdx.x")) / plan_.lanes();
    if (plan_.lanes() > 1) declare("lane", thread % plan_.lanes());
  }
  const int64_t rows = plan_.rows / plan_.across();
  if (plan_.overhangs()) {
    // All threads take part in the reductions; only existing rows are written.
    const Expression wanted = named(names_.unique("wanted_row"));
    add(define_constant(type, wanted->name, mine));
    add(define_constant(bool_type, "inside", wanted < rows));
    mine = select(named("inside"), wanted, rows - 1);
  }
  if (rows > 1) declare("row", mine);
  return kept_at(0);
}

Indices RowEmitter::kept_at(const Index& lane) const {
  Shape shape = ordered(plan_.reduction.kept_shape(), plan_.kept_order);
  Index row = Index::variable("row", plan_.rows / plan_.across());
  return restored(
      plan_.across() > 1 ? vector_element(row, lane, plan_.across(), shape, 1) : unflatten(row, shape),
      plan_.kept_order);
}

void RowEmitter::keep_transposed(const Index& place, const Expression& value) {
  {
    Scopes::Outside outside(scopes_, 0);
    // One more column than rows, against bank conflicts.
    add(define_shared({"float", 4}, "transposed", {plan_.length, transposed_rows + 1}));
  }
  const Expression row = named("threadIdx.x") / plan_.lanes();
  add(only_if(store_condition_, assign(element(element("transposed", place), row), value)));
}

void RowEmitter::store_transposed(const Place& write) {
  const Expression thread = launch_index(int_type, "threadIdx.x"), r = named("r"), c = named("c");
  add({Barrier{}});
  add(define_constant(int_type, "r", thread % transposed_rows));
  Index row = declare_index("transposed_row", launch_index(index_type(), "blockIdx.x") * transposed_rows + r,
                            plan_.rows);
  scopes_.open({For{int_type, "c", thread / transposed_rows, plan_.length, plan_.lanes(), 4}}, {"c"}, false);
  const bool partly = plan_.rows % transposed_rows != 0;
  if (partly) guard(row < plan_.rows);
  Shape shape = ordered(plan_.reduction.kept_shape(), plan_.kept_order);
  Indices kept = restored(unflatten(row, shape), plan_.kept_order),
          reduced = unflatten(Index::variable("c", plan_.length), plan_.reduction.reduced_shape());
  store(write, plan_.reduction.operand_at(plan_.reduction.space_at(kept, reduced)),
        element(element("transposed", c), r));
  if (partly) close();
  close();
}

bool RowEmitter::same_rows(const Reduction& reduction) const {
  return reduction.reduced_shape() == plan_.reduction.reduced_shape();
}

Indices RowEmitter::open_elements(const Reduction& reduction) {
  bool own = same_rows(reduction);
  Shape shape = reduction.reduced_shape();
  int64_t width = own ? plan_.width : 1, vectors = element_count(shape) / width;
  const Type type = index_type();
  const Expression lane = named("lane"), e = named("e"), part = named("part"), begin = named("part_begin"),
                   end = named("part_end");
  auto open = [&](For loop) {
    std::string variable = loop.variable;
    scopes_.open({std::move(loop)}, {variable}, false);
  };
  holding_ = own && plan_.held > 0;
  failed |= (plan_.team() || plan_.cluster() > 1) && !own;
  if (holding_ && plan_.team()) {
    const int64_t together = std::min<int64_t>(plan_.held, width > 1 ? 8 : 16);
    open({int_type, "e", 0, plan_.held, 1, static_cast<int>(together)});
    declare_vector(part * (plan_.held * plan_.threads()) + e * plan_.threads() + lane,
                   plan_.held * plan_.threads() * plan_.team()->blocks, vectors);
  } else if (holding_ && plan_.cluster() > 1) {
    open({int_type, "e", 0, plan_.held, 1, For::whole});
    const int64_t together = int64_t{plan_.lanes()} * plan_.cluster();
    declare_vector(e * together + part * plan_.lanes() + lane, plan_.held * together, vectors);
  } else if (holding_) {
    open({int_type, "e", 0, plan_.held, 1, For::whole});
    declare_vector(plan_.lanes() > 1 ? e * plan_.lanes() + lane : e, plan_.held * plan_.lanes(), vectors);
  } else if (plan_.parts() > 1) {
    const int64_t each = divided_up(divided_up(vectors, plan_.parts()), plan_.lanes()) * plan_.lanes();
    add(define_constant(type, "part_begin", launch_index(type, "blockIdx.y") * each));
    add(define_constant(type, "part_end", select(begin + each < vectors, begin + each, vectors)));
    open({type, "index", plan_.lanes() > 1 ? begin + lane : begin, end, plan_.lanes(), 4});
  } else {
    open({type, "index", plan_.lanes() > 1 ? lane : 0, vectors, plan_.lanes(),
          plan_.column && (plan_.length_varies || vectors > 64) ? 8 : 0});
  }
  Index vector = Index::variable("index", vectors), inner = open_vector(width);
  elements_depth_ = scopes_.depth();
  if (holding_)
    for (const auto& [key, each] : held_) scopes_.remember(key, element_of_held(each.array));
  if (!own) return unflatten(vector, shape);
  Shape walked = ordered(shape, plan_.reduced_order);
  Indices in_order = vector_element(vector, inner, width, walked, plan_.joined);
  return restored(in_order, plan_.reduced_order);
}

void RowEmitter::open_pieces(int64_t elements) {
  const Type type = index_type();
  const int64_t all = plan_.length;
  const int64_t piece = elements * plan_.lanes();
  const int64_t each = divided_up(divided_up(all, plan_.parts()), piece) * piece;
  const Expression begin = named("part_begin"), wanted = begin + each;
  add(define_constant(type, "part_begin", plan_.parts() > 1 ? launch_index(type, "blockIdx.y") * each : 0));
  add(define_constant(type, "part_end", select(wanted < all, wanted, all)));
  scopes_.open(
      {For{type, "piece", plan_.lanes() > 1 ? begin + named("lane") : begin, named("part_end"), piece}},
      {"piece"}, false);
}

Indices RowEmitter::open_piece(const Reduction& reduction, int64_t elements) {
  const Type type = index_type();
  const Expression wanted = named("wanted_index"), within = named("within"), end = named("part_end");
  scopes_.open({For{int_type, "e", 0, elements, 1, For::whole}}, {"e"}, false);
  add(define_constant(type, "wanted_index", named("piece") + named("e") * plan_.lanes()));
  add(define_constant(bool_type, "within", wanted < end));
  add(define_constant(type, "index", select(within, wanted, end - 1)));
  scopes_.introduce("index");
  store_condition_ = within;
  elements_depth_ = scopes_.depth();
  Shape walked = ordered(reduction.reduced_shape(), plan_.reduced_order);
  return restored(unflatten(Index::variable("index", plan_.length), walked), plan_.reduced_order);
}

// Past the end of a row a thread reads its last vector again and `within` is false: a guard around the loop
// body would delay the next loads.
void RowEmitter::declare_vector(const Expression& number, int64_t reach, int64_t vectors) {
  const Type type = index_type();
  if (reach == vectors) {
    add(define_constant(type, "index", number));
  } else {
    const Expression wanted = named("wanted_index");
    add(define_constant(type, wanted->name, number));
    add(define_constant(bool_type, "within", wanted < vectors));
    add(define_constant(type, "index", select(named("within"), wanted, vectors - 1)));
    store_condition_ = named("within");
  }
  scopes_.introduce("index");
}

void RowEmitter::close_elements() {
  close_vector();
  close();
  holding_ = false;
  store_condition_ = {};
}

Expression RowEmitter::element_of_held(const std::string& array) const {
  const Expression e = named("e"), place = plan_.width == 1 ? e : e * plan_.width + named("v");
  // Adjacent threads hold adjacent words.
  return element(array, plan_.team() ? place * plan_.threads() + named("lane") : place);
}

// Keeps the value for later loops.
void RowEmitter::hold(const Key& key, ValueId id, const char* suffix) {
  if (!holding_ || held_.contains(key) || (keep && !keep->contains(key))) return;
  const std::string array = names_.unique(graph()[id].name + suffix);
  const Expression current = *scopes_.find(key);
  const Type type = type_of(id);
  {
    Scopes::Outside outside(scopes_, 0);
    if (plan_.team())
      add({Declare{Declare::dynamic_shared, type, array, shared_bytes(), {}}});
    else
      add(define_variable(type, array, {}, {plan_.held * plan_.width}));
  }
  add(assign(element_of_held(array), current));
  held_[key] = {array, type};
}

int64_t RowEmitter::shared_bytes() const {
  int64_t sum = 0;
  for (const auto& [key, each] : held_) sum += each.type.bytes * plan_.held * plan_.width * plan_.threads();
  return divided_up(sum, 16) * 16;
}

// A loaded value may be held as well as one computed from it: whichever later loops use.
void RowEmitter::loaded(ValueId id, const Key& key, const Indices& at) {
  const bool of_element = std::ranges::any_of(at, [](const Index& index) { return index.appears("index"); });
  constexpr size_t kernel_depth = 1;
  if (scopes_.depth() != (of_element ? elements_depth_ : kernel_depth)) return;
  if (of_element) hold(key, id);
  // Not if it depends on another load or an inner loop.
  const std::set<std::string> own = {"index", "row", "v"};
  const bool found_by_all = std::ranges::all_of(
      at, [&](const Index& index) { return std::ranges::includes(own, index.variables()); });
  if ((holding_ || !of_element) && found_by_all) row_loads.push_back({id, at, of_element, !asked.empty()});
}

Expression RowEmitter::joined(const Pass& pass, const Expression& accumulator) {
  if (plan_.lanes() == 1) return accumulator;
  if (plan_.team()) {
    failed |= pass.type.bytes % 4 != 0;
    const std::string parts = names_.unique(accumulator->name + "_parts");
    team_parts.push_back({pass.type, parts});
    return code::collective(format("stitch::reduce_team<{}, {}>", plan_.threads(), plan_.team()->blocks),
                            {accumulator, pass.functor(), pass.identity, named("part"),
                             named(parts) + named("row") * plan_.team()->blocks});
  }
  if (plan_.cluster() > 1)
    return code::collective(format("stitch::reduce_cluster<{}, {}, {}, {}>", plan_.columns()->columns,
                                   plan_.lanes(), plan_.cluster(), reductions_++),
                            {accumulator, pass.functor()});
  const std::string how = plan_.block() ? format("reduce_block<{}>", plan_.threads())
                          : plan_.columns()
                              ? format("reduce_columns<{}, {}>", plan_.columns()->columns, plan_.lanes())
                              : format("reduce_lanes<{}>", plan_.lanes());
  return code::collective("stitch::" + how, {accumulator, pass.functor()});
}

Expressions RowEmitter::statistics(const Reduction& reduction, const Indices& kept) {
  if (!collective) return LoopEmitter::statistics(reduction, kept);
  size_t count = statistic_types(graph(), reduction).size();
  Expressions known;
  for (size_t i = 0; i < count; ++i)
    if (const Expression* found = scopes_.find(statistic_key(reduction, kept, i))) known.push_back(*found);
  if (known.size() == count) return known;

  Shape shape = reduction.kept_shape();
  bool in_range = true;
  for (size_t d = 0; d < kept.size(); ++d) in_range &= kept[d].least() >= 0 && kept[d].most() < shape[d];
  if (!in_range || scopes_.outermost(kept, true) != 0 || reduction.length() == 0) {
    failed |= reduction.length() > most_inlined;
    return LoopEmitter::statistics(reduction, kept);
  }
  Scopes::Outside outside(scopes_, 0);
  // A pass inside another's vector must not treat itself as part of that vector.
  VectorLoop vector_before = vector_;
  Expression condition_before = std::exchange(store_condition_, {});
  bool holding_before = holding_;
  size_t depth_before = elements_depth_;
  auto stores_before = std::exchange(vector_stores_, {});
  vector_ = {};
  // A team would synchronise after every pass, so it uses a single one.
  bool held = plan_.held > 0 && !plan_.team() && same_rows(reduction);
  Scheme scheme =
      scheme_of(graph(), reduction, !held, [&](std::string_view name) { return names_.unique(name); });
  for (const Pass& pass : scheme.passes) {
    const std::string operand = graph()[reduction.operand].name;
    const Expression accumulator = named(names_.unique(operand + "_" + pass.name));
    add(define_variable(pass.type, accumulator->name, pass.identity));
    Indices reduced = open_elements(reduction);
    Indices at = reduction.operand_at(reduction.space_at(kept, reduced));
    Expression x = value(reduction.operand, at);
    hold(key_of(reduction.operand, at), reduction.operand);
    const bool guarded = !store_condition_.empty() && pass.neutral.empty();
    if (!store_condition_.empty() && !guarded) {
      const auto [masked, is_new] = masked_names_.try_emplace(reduction.operand);
      if (is_new) masked->second = names_.unique(operand + "_masked");
      add(define_constant(type_of(reduction.operand), masked->second,
                          select(store_condition_, x, pass.neutral)));
      x = named(masked->second);
    }
    if (guarded) guard(store_condition_);
    Expression term = pass.term_of(x);
    if (holding_ && graph().node(reduction.node).op == Op::softmax && pass.term) {
      const Key key = key_of(Key::term, reduction.operand, reduction.node, at);
      scopes_.remember(key, term);
      hold(key, reduction.operand, "_exp");
      if (held_.contains(key)) term = element_of_held(held_.at(key).array);
    }
    add(pass.step(accumulator, term, flatten(reduced, reduction.reduced_shape())));
    if (guarded) close();
    close_elements();
    if (plan_.lanes() > 1) add(assign(accumulator, joined(pass, accumulator)));
    for (const Pass::Statistic& each : pass.finish(accumulator))
      add(define_constant(each.type, each.name, each.value));
  }
  for (size_t i = 0; i < count; ++i)
    scopes_.remember(statistic_key(reduction, kept, i), scheme.statistics[i]);
  vector_ = vector_before;
  store_condition_ = condition_before;
  holding_ = holding_before;
  elements_depth_ = depth_before;
  vector_stores_ = std::move(stores_before);
  asked.emplace_back(reduction, kept);
  return scheme.statistics;
}

}  // namespace stitch::code::loops
