#include "code/loops/emitter.h"

#include <algorithm>
#include <cctype>

#include "base/format.h"

namespace stitch::code::loops {

std::string call_of(const char* function, DType dtype) {
  return dtype == DType::f64 ? function : std::string(function) + "f";
}

std::string key_of(ValueId id, const Indices& at) {
  std::string key = std::to_string(index_of(id));
  for (const Index& index : at) key += "|" + index.text();
  return key;
}

bool needs_wide_indices(const RegionRequest& request) {
  // Room for the last block's threads, which reach past the end before they find out.
  constexpr int64_t most = (int64_t{1} << 31) - (int64_t{1} << 20);
  auto wide = [&](ValueId id) { return id != ValueId::none && request.graph.type(id).elements() >= most; };
  for (int32_t n : request.region.nodes) {
    const Node& node = request.graph.nodes[static_cast<size_t>(n)];
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
  for (const char* own : {"aligned", "row",   "lane", "pack",    "element", "v",     "e",     "inside",
                          "held",    "first", "turn", "block",   "part",    "i",     "k",     "r",
                          "c",       "kz",    "tile", "columns", "found",   "here",  "all",   "tickets",
                          "within",  "total", "mine", "run",     "before",  "carry", "chunk", "turned"})
    names_.unique(own);
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

std::string Emitter::value(ValueId id, const Indices& at) {
  std::string key = key_of(id, at);
  if (const std::string* known = scopes_.find(key)) return *known;
  if (std::optional<std::string> held = held_element(id, at)) return *held;
  Scopes::Outside outside(scopes_, scopes_.outermost(at));
  std::string text;
  if (const Place* place = place_of(id)) {
    text = load(id, *place, at);
    scopes_.remember(key, text);
    loaded(id, key, at);
    return text;
  } else {
    int32_t producer = producer_of(id);
    require(producer >= 0, "a value that the region neither reads nor makes");
    const Node& node = graph().nodes[static_cast<size_t>(producer)];
    size_t result = static_cast<size_t>(std::ranges::find(node.results, id) - node.results.begin());
    text = compute(id, node, result, at);
    bool negated = text[0] == '-' && !std::isdigit(static_cast<unsigned char>(text[1]));
    bool simple = !negated && text.find_first_of(" (") == std::string::npos;
    if (!simple) text = declare(id, text);
  }
  scopes_.remember(key, text);
  return text;
}

// A pointer's own name is taken; its element is called its value.
std::string Emitter::name_of(ValueId id) {
  std::string name = identifier(graph()[id].name);
  for (const auto* places : {&request_.reads, &request_.weights, &request_.writes})
    for (const Place& place : *places)
      if (place.pointer == name) return names_.unique(name + "_value");
  return names_.unique(name);
}

std::string Emitter::declare(ValueId id, const std::string& text) {
  std::string name = name_of(id);
  line(format("const {} {} = {};", type_of(id), name, text));
  return name;
}

std::string Emitter::variable(ValueId id, const std::string& text) {
  std::string name = name_of(id);
  line(format("{} {} = {};", type_of(id), name, text));
  return name;
}

std::string Emitter::load(ValueId id, const Place& place, const Indices& at) {
  used_.insert(&place);
  Index where = position(at, place.strides);
  std::string element = format("{}[{}]", place.pointer, where.text());
  bool in_pack = pack_.width > 1 && pack_.together && where.appears(pack_.variable);
  if (in_pack) {
    std::optional<Index> first = start_of_pack(where);
    if (element_count(place.shape) < 65536) ++shared_loads;
    if (first) {
      const Index& start = *first;
      std::string key = format("pack|{}|{}", place.pointer, start.text());
      const std::string* known = scopes_.find(key);
      if (!known) {
        Scopes::Outside outside(scopes_, scopes_.outermost({start}));
        std::string name = names_.unique(graph()[id].name + "_pack");
        line(format("const auto {} = stitch::load_pack<aligned, {}>({});", name, pack_.width,
                    start.text() == "0" ? place.pointer : format("{} + {}", place.pointer, start.text())));
        scopes_.remember(key, name);
        known = scopes_.find(key);
        packed_.insert(&place);
        ++packed_loads;
      }
      element = format("{}[{}]", *known, pack_.variable);
    } else if (element_count(place.shape) >= 4096) {
      ++scattered_loads;
    } else {
      ++repeated_loads;
    }
  }
  if (place.dtype == DType::f16 || place.dtype == DType::bf16)
    element = format("stitch::widened({})", element);
  if (computed_type(place.dtype) != type_of(id))
    element = format("static_cast<{}>({})", type_of(id), element);
  return declare(id, element);
}

std::optional<Index> Emitter::start_of_pack(const Index& where) const {
  if (pack_.width == 1 || !pack_.together || !where.appears_only_linearly(pack_.variable) ||
      where.factor_of(pack_.variable) != 1)
    return std::nullopt;
  Index start = where - Index::variable(pack_.variable, pack_.width);
  if (!start.divisible_by(pack_.width) || scopes_.outermost({start}) >= pack_.level) return std::nullopt;
  return start;
}

void Emitter::store(const Place& place, const Indices& at, const std::string& text) {
  used_.insert(&place);
  Index where = position(at, place.strides);
  DType held = graph().type(place.value).dtype;
  std::string number = text;
  if (place.dtype == DType::f16 || place.dtype == DType::bf16)
    number = format("stitch::narrowed<{}>({})", stored_type(place.dtype), text);
  else if (stored_type(place.dtype) != computed_type(held))
    number = format("static_cast<{}>({})", stored_type(place.dtype), text);
  if (std::optional<Index> start = start_of_pack(where)) {
    std::string name = names_.unique(graph()[place.value].name + "_out");
    {
      Scopes::Outside outside(scopes_, pack_.level - 1);
      line(format("stitch::Pack<{}, {}> {};", stored_type(place.dtype), pack_.width, name));
    }
    line(format("{}[{}] = {};", name, pack_.variable, number));
    pack_stores_.push_back({&place, name, start->text()});
    packed_.insert(&place);
    return;
  }
  line(format("{}{}[{}] = {};", if_stored(), place.pointer, where.text(), number));
}

Index Emitter::open_loop(std::string_view name, const std::string& begin, const std::string& end,
                         int64_t step, int64_t extent, bool unroll) {
  std::string variable = names_.unique(name);
  if (unroll) unrolled_.insert(variable);
  std::string next = step == 1 ? "++" + variable : format("{} += {}", variable, step);
  scopes_.open(format("{}for ({} {} = {}; {} < {}; {})", unroll ? "#pragma unroll\n" : "", index_type(),
                      variable, begin, variable, end, next),
               {variable}, false);
  // Of one element it is 0, as its variable is.
  return Index::variable(variable, std::max<int64_t>(extent, 1));
}

Index Emitter::open_pack(int64_t width, bool together) {
  pack_.width = width;
  pack_.together = together;
  if (width == 1) return 0;
  scopes_.open(format("#pragma unroll\nfor (int v = 0; v < {}; ++v)", width), {"v"}, false);
  pack_.level = scopes_.depth() - 1;
  unrolled_.insert("v");
  return Index::variable("v", width);
}

void Emitter::close_pack() {
  if (pack_.width > 1) scopes_.close();
  for (const PackStore& each : pack_stores_)
    line(format("{}stitch::store_pack<aligned>({}, {});", if_stored(),
                each.position == "0" ? each.place->pointer : each.place->pointer + " + " + each.position,
                each.name));
  pack_stores_.clear();
  pack_.width = 1;
}

Index Emitter::declare_index(std::string_view name, const std::string& text, int64_t extent) {
  if (extent <= 1) return 0;
  std::string variable = names_.unique(name);
  line(format("const {} {} = {};", index_type(), variable, text));
  scopes_.introduce(variable);
  return Index::variable(variable, extent);
}

Index Emitter::settled(const Index& index, int64_t extent) {
  std::string text = index.text();
  for (size_t i = text.find('-'); i != std::string::npos; i = text.find('-', i + 1)) {
    size_t next = text.find_first_not_of(' ', i + 1);
    if (next == std::string::npos || std::isdigit(static_cast<unsigned char>(text[next]))) continue;
    std::string key = "index|" + text;
    if (!scopes_.find(key)) {
      Index declared = declare_index("position", text, extent);
      scopes_.remember(key, declared.text());
    }
    return Index::variable(*scopes_.find(key), extent);
  }
  return index;
}

Indices Emitter::broadcast_to(ValueId operand, const Indices& at) const {
  const Shape& shape = graph().type(operand).shape;
  Indices out(shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) out[d] = at[at.size() - shape.size() + d];
  return out;
}

std::optional<double> Emitter::constant_of(ValueId id) const {
  int32_t producer = producer_of(id);
  if (producer < 0) return std::nullopt;
  const Node& node = graph().nodes[static_cast<size_t>(producer)];
  if (node.op == Op::full) return node.attributes.number("value");
  if (node.op == Op::expand || node.op == Op::reshape) return constant_of(node.operands[0]);
  return std::nullopt;
}

int64_t Emitter::work(ValueId id) {
  int32_t producer = id == ValueId::none || place_of(id) ? -1 : producer_of(id);
  if (producer < 0) return 1;
  if (auto known = work_.find(id); known != work_.end()) return known->second;
  const Node& node = graph().nodes[static_cast<size_t>(producer)];
  int64_t most = 1, times = 1;
  for (ValueId operand : node.operands) most = std::max(most, work(operand));
  if (auto reduction = reduction_of(graph(), producer)) {
    // A row's findings serve all of its elements, of which more than one is asked for as a rule.
    times = std::max<int64_t>(reduction->length(), 1);
    if (graph().type(id).shape == graph().type(reduction->operand).shape) times = std::min<int64_t>(times, 4);
  }
  if (node.op == Op::max_pool || node.op == Op::avg_pool)
    for (int64_t taps : node.attributes.integers("kernel")) times *= taps;
  return work_[id] = std::min<int64_t>(most * times, 1 << 20);
}

std::string Emitter::compute(ValueId id, const Node& node, size_t result, const Indices& at) {
  if (auto reduction = reduction_of(graph(), producers_[index_of(id)]))
    return reduced(node, *reduction, result, at);
  switch (info(node.op).family) {
    case stitch::Family::pointwise: return pointwise(node, at);
    case stitch::Family::view:
    case stitch::Family::movement: return moved(id, node, at);
    case stitch::Family::indexing:
      if (node.op == Op::scatter || node.op == Op::index_put) return scattered(id, node, at);
      if (node.op == Op::sort || node.op == Op::topk) break;
      return node.op == Op::searchsorted ? search(id, node, at) : indexed(id, node, at);
    case stitch::Family::pool:
      return node.op == Op::resize ? resized(id, node, at) : window(id, node, result, at);
    case stitch::Family::create: return created(id, node, at);
    case stitch::Family::normalize:
      if (node.op == Op::batch_norm) return batch_norm(node, at, {}, result);
      break;
    default: break;
  }
  return foreign(node, at);
}

std::string Emitter::foreign(const Node& node, const Indices&) {
  throw Bug(format("no expression for {}", info(node.op).name));
}

std::string thread_number(std::string_view type, std::string_view block) {
  return type == "int" ? format("static_cast<int>({} * blockDim.x + threadIdx.x)", block)
                       : format("(static_cast<{}>({}) * blockDim.x + threadIdx.x)", type, block);
}

}  // namespace stitch::code::loops
