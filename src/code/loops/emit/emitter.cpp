#include "code/loops/emit/emitter.h"

#include <algorithm>

#include "base/format.h"
#include "code/expression/statement.h"

namespace stitch::code::loops {

const std::set<std::string_view>& own_names() {
  static const std::set<std::string_view> words = {
      "aligned",    "all",         "before",     "block",       "c",           "carry",        "chunk",
      "columns",    "e",           "element",    "first",       "found",       "held",         "here",
      "i",          "inside",      "item",       "items",       "k",           "kz",           "lane",
      "lists",      "list_counts", "list_order", "list_placed", "list_starts", "list_targets", "mine",
      "part",       "part_begin",  "part_end",   "r",           "row",         "run",          "stream",
      "tickets",    "tile",        "total",      "transposed",  "v",           "index",        "wanted_index",
      "within",     "workspace",   "matrix",     "a_all",       "b_all",       "q_all",        "v_all",
      "pivots_all", "rows_all",    "list_part",  "thread"};
  return words;
}

Key statistic_key(const Reduction& reduction, const Indices& kept, size_t which) {
  Key key = key_of(Key::statistic, reduction.operand, reduction.node, kept);
  key.which = which;
  return key;
}

bool needs_wide_indices(const RegionRequest& request) {
  // Leaves room for the threads of the last block past the end.
  constexpr int64_t most = (int64_t{1} << 31) - (int64_t{1} << 20);
  const plan::Context& context = request.context;
  const Graph& graph = context.takes_sizes() ? context.instances->largest.graph : request.graph;
  auto wide = [&](ValueId id) { return id != ValueId::none && graph.type(id).elements() >= most; };
  for (int32_t n : request.region.nodes) {
    const Node& node = request.graph.node(n);
    if (std::ranges::any_of(node.operands, wide) || std::ranges::any_of(node.results, wide)) return true;
  }
  auto spread = [&](const Place& place) {
    int64_t last = 0;
    for (size_t d = 0; d < place.shape.size(); ++d)
      last += std::max<int64_t>(place.shape[d] - 1, 0) * place.strides[d];
    return last >= most;
  };
  return std::ranges::any_of(request.reads, spread) || std::ranges::any_of(request.weights, spread) ||
         std::ranges::any_of(request.writes, spread);
}

Emitter::Emitter(const RegionRequest& request)
    : request_(request),
      producers_(producers(request.graph)),
      inside_(request.region.nodes.begin(), request.region.nodes.end()),
      wide_(needs_wide_indices(request)) {
  for (std::string_view own : own_names()) names_.unique(own);
  for (const auto* places : {&request.reads, &request.weights, &request.writes})
    for (const Place& place : *places) names_.unique(place.pointer);
}

const Place* Emitter::place_of(ValueId id) const {
  for (const auto* places : {&request_.reads, &request_.weights})
    for (const Place& place : *places)
      if (place.value == id) return &place;
  return nullptr;
}

int32_t Emitter::producer_of(ValueId id) const {
  int32_t producer = producers_[index_of(id)];
  return inside_.contains(producer) ? producer : -1;
}

Expression Emitter::value(ValueId id, const Indices& at) {
  const Key key = key_of(id, at);
  if (const Expression* known = scopes_.find(key)) return *known;
  if (std::optional<Expression> held = held_element(id, at)) return *held;
  Scopes::Outside outside(scopes_, scopes_.outermost(at));
  if (const Place* place = place_of(id)) {
    Expression element = load(id, *place, at);
    scopes_.remember(key, element);
    loaded(id, key, at);
    return element;
  }
  int32_t producer = producer_of(id);
  require(producer >= 0, "a value that the region neither reads nor makes");
  const Node& node = graph().node(producer);
  size_t result = static_cast<size_t>(std::ranges::find(node.results, id) - node.results.begin());
  Expression element = compute(id, node, result, at);
  if (!element.is_simple()) element = declare(id, element);
  scopes_.remember(key, element);
  return element;
}

// A pointer's name is taken; its element is NAME_value, or NAME_element if the pointer is called so.
std::string Emitter::name_of(ValueId id) {
  std::string name = identifier(graph()[id].name);
  for (const auto* places : {&request_.reads, &request_.weights, &request_.writes})
    for (const Place& place : *places)
      if (place.pointer == name)
        return names_.unique(name.ends_with("_value") ? name.substr(0, name.size() - 5) + "element"
                                                      : name + "_value");
  return names_.unique(name);
}

Expression Emitter::declare(ValueId id, const Expression& value) {
  std::string name = name_of(id);
  add(define_constant(type_of(id), name, value));
  return named(name);
}

Expression Emitter::variable(ValueId id, const Expression& value) {
  std::string name = name_of(id);
  add(define_variable(type_of(id), name, value));
  return named(name);
}

Expression Emitter::widened(const Expression& element, DType stored, const Type& computed) const {
  Expression out = element;
  if (stored == DType::f16 || stored == DType::bf16) out = call("stitch::widened", {out});
  return computed_type(stored) == computed ? out : static_cast_to(computed, out);
}

Expression Emitter::load_vector(const std::string& name, const Expression& address) {
  add(define_constant(auto_type, name,
                      call(format("stitch::load_vector<aligned, {}>", vector_.width), {address})));
  return named(name);
}

Expression Emitter::load(ValueId id, const Place& place, const Indices& at) {
  used_.insert(&place);
  Index where = position(at, place.strides);
  Expression read = element(place.pointer, where);
  bool in_vector = vector_.width > 1 && vector_.together && where.appears(vector_.variable);
  if (in_vector) {
    std::optional<Index> start = start_of_vector(where);
    if (request_.decided_elements(place) < 65536) ++loads.shared;
    if (start) {
      const Key key = key_of(Key::vector, place.pointer, *start);
      if (!scopes_.find(key)) {
        Scopes::Outside outside(scopes_, scopes_.outermost({*start}));
        scopes_.remember(
            key, load_vector(names_.unique(graph()[id].name + "_vector"), address(place.pointer, *start)));
        vectorised_.insert(&place);
        ++loads.vectorised;
      }
      read = element(*scopes_.find(key), named(vector_.variable));
    } else if (request_.decided_elements(place) >= 4096) {
      ++loads.scattered;
    } else {
      ++loads.repeated;
    }
  }
  return declare(id, widened(read, place.dtype, type_of(id)));
}

std::optional<Index> Emitter::start_of_vector(const Index& where) const {
  if (vector_.width == 1 || !vector_.together || !where.appears_only_linearly(vector_.variable) ||
      where.factor_of(vector_.variable) != 1)
    return std::nullopt;
  Index start = where - Index::variable(vector_.variable, vector_.width);
  if (!start.divisible_by(vector_.width) || scopes_.outermost({start}) >= vector_.level) return std::nullopt;
  return start;
}

void Emitter::store(const Place& place, const Indices& at, const Expression& value) {
  used_.insert(&place);
  Index where = position(at, place.strides);
  const Type type = stored_type(place.dtype), computed = computed_type(graph().type(place.value).dtype);
  Expression number = value;
  if (place.dtype == DType::f16 || place.dtype == DType::bf16)
    number = call(format("stitch::narrowed<{}>", type.name), {value});
  else if (!(type == computed))
    number = static_cast_to(type, value);
  if (std::optional<Index> start = start_of_vector(where)) {
    std::string name = names_.unique(graph()[place.value].name + "_out");
    {
      Scopes::Outside outside(scopes_, vector_.level - 1);
      add(define_variable({format("stitch::Pack<{}, {}>", type.name, vector_.width)}, name));
    }
    add(assign(element(name, named(vector_.variable)), number));
    vector_stores_.push_back({&place, name, *start});
    vectorised_.insert(&place);
    return;
  }
  add(only_if(store_condition_, assign(element(place.pointer, where), number)));
}

Index Emitter::open_loop(std::string_view name, const Expression& begin, const Expression& end, int64_t step,
                         int64_t extent, bool unroll) {
  std::string variable = names_.unique(name);
  if (unroll) unrolled_.insert(variable);
  scopes_.open({For{index_type(), variable, begin, end, step, unroll ? For::whole : 0}}, {variable}, false);
  // A variable of extent 1 is 0.
  return Index::variable(variable, std::max<int64_t>(extent, 1));
}

Index Emitter::open_vector(int64_t width, bool together) {
  vector_.width = width;
  vector_.together = together;
  if (width == 1) return 0;
  scopes_.open({For{int_type, "v", 0, width, 1, For::whole}}, {"v"}, false);
  vector_.level = scopes_.depth() - 1;
  unrolled_.insert("v");
  return Index::variable("v", width);
}

void Emitter::close_vector() {
  if (vector_.width > 1) scopes_.close();
  for (const VectorStore& each : vector_stores_)
    add(only_if(store_condition_,
                evaluate(call("stitch::store_vector<aligned>",
                              {address(each.place->pointer, each.start), named(each.name)}))));
  vector_stores_.clear();
  vector_.width = 1;
}

Index Emitter::declare_index(std::string_view name, const Expression& value, int64_t extent) {
  if (extent <= 1) return 0;
  std::string variable = names_.unique(name);
  add(define_constant(index_type(), variable, value));
  scopes_.introduce(variable);
  return Index::variable(variable, extent);
}

Index Emitter::settled(const Index& index, int64_t extent) {
  if (!index.descends()) return index;
  if (extent <= 1) return 0;
  const Key key = key_of(Key::settled, "", index);
  if (!scopes_.find(key)) {
    Index declared = declare_index("position", index, extent);
    scopes_.remember(key, declared);
  }
  return Index::variable((*scopes_.find(key))->name, extent);
}

Indices Emitter::broadcast_to(ValueId operand, const Indices& at) const {
  const Shape& shape = graph().type(operand).shape;
  Indices out(shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) out[d] = at[at.size() - shape.size() + d];
  return out;
}

Expression Emitter::checked(const Expression& found, int64_t size, bool from_end) {
  if (late_checks.variable.empty() || scopes_.depth() <= late_checks.depth)
    return call(from_end ? "stitch::index_from_start" : "stitch::checked_index", {found, size});
  late_checks.used = true;
  return call(from_end ? "stitch::index_from_start_or_note" : "stitch::index_or_note",
              {found, size, named(late_checks.variable)});
}

int64_t Emitter::work(ValueId id) {
  int32_t producer = id == ValueId::none || place_of(id) ? -1 : producer_of(id);
  if (producer < 0) return 1;
  if (auto known = work_.find(id); known != work_.end()) return known->second;
  const Node& node = graph().node(producer);
  int64_t most = 1, times = 1;
  for (ValueId operand : node.operands) most = std::max(most, work(operand));
  if (auto reduction = reduction_of(graph(), producer)) {
    // A row's statistics serve all its elements.
    times = std::max<int64_t>(reduction->length(), 1);
    if (graph().type(id).shape == graph().type(reduction->operand).shape) times = std::min<int64_t>(times, 4);
  }
  if (node.op == Op::max_pool || node.op == Op::avg_pool)
    for (int64_t taps : node.attributes.integers("kernel")) times *= taps;
  return work_[id] = std::min<int64_t>(most * times, 1 << 20);
}

Expression Emitter::compute(ValueId id, const Node& node, size_t result, const Indices& at) {
  if (auto reduction = reduction_of(graph(), producers_[index_of(id)]))
    return reduced_element(*this, node, *reduction, result, at);
  switch (info(node.op).family) {
    case stitch::Family::pointwise: return pointwise_element(*this, node, at);
    case stitch::Family::view:
    case stitch::Family::movement:
      return node.op == Op::concat ? joined_element(*this, id, node, at) : moved_element(*this, id, node, at);
    case stitch::Family::indexing:
      if (node.op == Op::scatter || node.op == Op::index_put) return scattered_element(*this, id, node, at);
      if (node.op == Op::sort || node.op == Op::topk) break;
      return node.op == Op::searchsorted ? searched_element(*this, id, node, at)
                                         : indexed_element(*this, id, node, at);
    case stitch::Family::pool:
      return node.op == Op::resize ? resized_element(*this, id, node, at)
                                   : pooled_element(*this, id, node, result, at);
    case stitch::Family::create: return created_element(*this, id, node, at);
    case stitch::Family::normalize:
      if (node.op == Op::batch_norm) return batch_norm_element(*this, node, at, {}, result);
      break;
    default: break;
  }
  return foreign(node, at);
}

Expression Emitter::foreign(const Node& node, const Indices&) {
  throw Bug(format("no expression for {}", info(node.op).name));
}

Expression launch_index(const Type& type, const char* what) { return static_cast_to(type, named(what)); }

Expression thread_number(const Type& type, const Expression& block) {
  const Expression threads = named("blockDim.x"), thread = named("threadIdx.x");
  if (type == int_type) return static_cast_to(type, block * threads + thread);
  return static_cast_to(type, block) * threads + thread;
}

Expression address(const std::string& pointer, const Index& start) {
  if (start.is_constant() && start.constant() == 0) return named(pointer);
  return appended(named(pointer), start);
}

}  // namespace stitch::code::loops
