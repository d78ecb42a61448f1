// Views and movements as maps of indices; gather and index as maps that are known at run time.
#include <algorithm>
#include <functional>
#include <span>

#include "base/format.h"
#include "code/loops/emitter.h"

namespace stitch::code::loops {

namespace {

size_t dimension(const Node& node, size_t rank) {
  int64_t dim = node.attributes.integer("dim");
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(std::max<size_t>(rank, 1)) : dim);
}

size_t from_start(int64_t dim, size_t rank) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

// What must be asked to know that low <= index < high; empty: it always is. False: it never is.
struct Range {
  std::string condition;
  bool never = false;
};
Range within(const Index& index, int64_t low, int64_t high) {
  Range range;
  if (index.most() < low || index.least() >= high) range.never = true;
  std::string text = index.text();
  if (index.least() < low) range.condition = format("{} >= {}", text, low);
  if (index.most() >= high)
    range.condition += format("{}{} < {}", range.condition.empty() ? "" : " && ", text, high);
  return range;
}

}  // namespace

// Do all lanes of a pack lie in the same part of what is joined?
bool Emitter::one_part_a_pack(const Node& node, size_t dim, const Indices& at) const {
  if (!in_lanes()) return false;
  if (!at[dim].appears(pack_.variable))
    return std::ranges::any_of(at, [&](const Index& index) { return index.appears(pack_.variable); });
  if (at[dim].factor_of(pack_.variable) != 1 || !at[dim].appears_only_linearly(pack_.variable)) return false;
  if (!(at[dim] - Index::variable(pack_.variable, pack_.width)).divisible_by(pack_.width)) return false;
  return std::ranges::all_of(
      node.operands, [&](ValueId operand) { return graph().type(operand).shape[dim] % pack_.width == 0; });
}

// Parts of one type that lie in memory: where to load from is chosen, and the load waits for no branch.
// `start`: where the first of them begins in what is joined. `write`: or just say whether that can be.
std::optional<std::string> Emitter::chosen_pack(ValueId id, std::span<const ValueId> operands, size_t dim,
                                                int64_t start, const Indices& at, const Index& first,
                                                bool write) {
  if (!pack_.together) return std::nullopt;
  pack_.level = scopes_.depth();  // the lanes are opened here
  const Place* example = place_of(operands[0]);
  std::string from;
  for (const ValueId& operand : operands) {
    const Place* place = place_of(operand);
    Indices inside = at;
    inside[dim] = at[dim] - start;
    start += graph().type(operand).shape[dim];
    std::optional<Index> begin = start_of_pack(position(inside, place->strides));
    if (!begin) return std::nullopt;
    std::string address = format("{} + {}", place->pointer, begin->text());
    from += &operand == &operands.back() ? address : format("{} < {} ? {} : ", first.text(), start, address);
  }
  if (!write) return from;
  for (ValueId operand : operands) {
    used_.insert(place_of(operand));
    packed_.insert(place_of(operand));
  }
  ++packed_loads;
  const std::string name = identifier(graph()[id].name);
  std::string source = names_.unique(name + "_from"), pack = names_.unique(name + "_pack");
  line(format("const {}* const {} = {};", stored_type(example->dtype), source, from));
  line(format("const auto {} = stitch::load_pack<aligned, {}>({});", pack, pack_.width, source));
  std::string element = format("{}[{}]", pack, pack_.variable);
  if (example->dtype == DType::f16 || example->dtype == DType::bf16)
    element = format("stitch::widened({})", element);
  if (computed_type(example->dtype) != type_of(id))
    element = format("static_cast<{}>({})", type_of(id), element);
  return element;
}

// The same of single elements. A row that lies in one part has chosen it, and how far apart its elements are,
// before the loop over them.
std::optional<std::string> Emitter::chosen_part(ValueId id, const Node& node, size_t dim, const Indices& at) {
  const Place* example = place_of(node.operands[0]);
  bool in_pack = pack_.width > 1 &&
                 std::ranges::any_of(at, [&](const Index& index) { return index.appears(pack_.variable); });
  if (!example || in_pack) return std::nullopt;
  struct Part {
    const Place* place;
    std::string condition;
    Index where;
  };
  std::vector<Part> parts;
  int64_t begin = 0;
  bool walked = !at[dim].appears("pack");
  for (ValueId operand : node.operands) {
    const Place* place = place_of(operand);
    int64_t size = graph().type(operand).shape[dim];
    if (!place || place->dtype != example->dtype || size == 0) return std::nullopt;
    if (within(at[dim], begin, begin + size).never) return std::nullopt;
    Indices inside = at;
    inside[dim] = at[dim] - begin;
    begin += size;
    parts.push_back({place, within(at[dim], 0, begin).condition, position(inside, place->strides)});
    walked &= parts.back().where.appears_only_linearly("pack");
  }
  if (parts.size() < 2) return std::nullopt;
  auto choice = [&](const std::function<std::string(const Part&)>& of) {
    std::string text;
    for (const Part& part : parts)
      text += part.condition.empty() ? of(part) : format("{} ? {} : ", part.condition, of(part));
    return text;
  };
  auto step = [&](const Part& part) { return walked ? part.where.factor_of("pack") : 0; };
  auto base = [&](const Part& part) { return part.where - Index::variable("pack", INT32_MAX) * step(part); };
  Indices bases = {at[dim]};
  for (const Part& part : parts) {
    used_.insert(part.place);
    bases.push_back(base(part));
  }
  std::string key = "part|" + key_of(id, at);
  if (!scopes_.find(key)) {
    Scopes::Outside outside(scopes_, scopes_.outermost(bases));
    std::string name = names_.unique(identifier(graph()[id].name) + "_part"), element = name;
    line(format("const {}* const {} = {};", stored_type(example->dtype), name, choice([&](const Part& part) {
                  return format("{} + {}", part.place->pointer, base(part).text());
                })));
    if (std::ranges::all_of(parts, [&](const Part& part) { return step(part) == step(parts[0]); })) {
      element = step(parts[0]) == 0 ? name + "[0]" : format("{}[pack * {}]", name, step(parts[0]));
    } else {
      std::string stride = names_.unique(identifier(graph()[id].name) + "_stride");
      line(format("const {} {} = {};", index_type(), stride,
                  choice([&](const Part& part) { return std::to_string(step(part)); })));
      element = format("{}[pack * {}]", name, stride);
    }
    scopes_.remember(key, element);
  }
  std::string element = *scopes_.find(key);
  if (example->dtype == DType::f16 || example->dtype == DType::bf16)
    element = format("stitch::widened({})", element);
  if (computed_type(example->dtype) != type_of(id))
    element = format("static_cast<{}>({})", type_of(id), element);
  return declare(id, element);
}

std::string Emitter::joined_packs(ValueId id, const Node& node, size_t dim, const Indices& at) {
  const int64_t width = pack_.width;
  Index first = at[dim].appears(pack_.variable) ? at[dim] - Index::variable(pack_.variable, width) : at[dim];
  BeforeLanes before(*this);
  // Runs of parts that lie in memory and are of one type.
  constexpr size_t most_parts = 8;
  auto alike = [&](ValueId a, ValueId b) {
    const Place *one = place_of(a), *other = place_of(b);
    return one && other && one->dtype == other->dtype && graph().type(b).shape[dim] > 0;
  };
  std::vector<std::vector<ValueId>> runs;
  for (ValueId operand : node.operands) {
    if (graph().type(operand).shape[dim] == 0) continue;
    if (runs.empty() || runs.back().size() == most_parts || !alike(runs.back()[0], operand))
      runs.emplace_back();
    runs.back().push_back(operand);
  }
  if (runs.size() == 1 && runs[0].size() > 1)
    if (std::optional<std::string> chosen = chosen_pack(id, runs[0], dim, 0, at, first, true)) return *chosen;
  std::string name = names_.unique(name_of(id)), element = format("{}[{}]", name, pack_.variable);
  line(format("{} {}[{}];", type_of(id), name, width));
  auto fill = [&](std::span<const ValueId> operands, int64_t start) {
    int64_t end = start;
    for (ValueId operand : operands) end += graph().type(operand).shape[dim];
    Range range = within(first, start, end);
    if (range.never) return true;
    Indices from = at;
    from[dim] = at[dim] - start;
    if (operands.size() > 1 && !chosen_pack(id, operands, dim, start, at, first, false)) return false;
    if (!range.condition.empty()) guard(range.condition);
    std::optional<std::string> chosen;
    if (operands.size() > 1) chosen = chosen_pack(id, operands, dim, start, at, first, true);
    open_pack(width, pack_.together);
    line(format("{} = {};", element, chosen ? *chosen : value(operands[0], from)));
    close_pack();
    pack_.width = width;
    if (!range.condition.empty()) close();
    return true;
  };
  int64_t start = 0;
  for (const std::vector<ValueId>& run : runs) {
    const bool together = fill(run, start);
    for (const ValueId& operand : run) {
      if (!together) fill({&operand, 1}, start);
      start += graph().type(operand).shape[dim];
    }
  }
  return element;
}

std::string Emitter::moved(ValueId id, const Node& node, const Indices& at) {
  const Attributes& attributes = node.attributes;
  ValueId x = node.operands[0];
  const Shape& shape = graph().type(x).shape;
  DType dtype = graph().type(id).dtype;
  auto chosen = [&](const std::string& condition, const std::string& otherwise, const auto& take) {
    if (condition.empty()) return take();
    std::string name = variable(id, otherwise);
    guard(condition);
    std::string taken = take();
    line(format("{} = {};", name, taken));
    close();
    return name;
  };
  switch (node.op) {
    case Op::reshape: {
      const Shape& to = graph().type(id).shape;
      Index flat = flatten(at, to);
      Indices direct = unflatten(flat, shape);
      // Where nothing is split, negative factors do no harm.
      bool split = std::ranges::any_of(
          direct, [](const Index& index) { return index.text().find_first_of("/%") != std::string::npos; });
      if (split) direct = unflatten(settled(flat, element_count(to)), shape);
      return value(x, direct);
    }
    case Op::permute: {
      const auto& dims = attributes.integers("dims");
      Indices from(shape.size());
      for (size_t i = 0; i < dims.size(); ++i) from[static_cast<size_t>(dims[i])] = at[i];
      return value(x, from);
    }
    case Op::expand: return value(x, broadcast_to(x, at));
    case Op::slice: {
      Indices from = at;
      size_t dim = dimension(node, shape.size());
      from[dim] = from[dim] * attributes.integer("step") + attributes.integer("start");
      return value(x, from);
    }
    case Op::strided_view: {
      Index flat = position(at, attributes.integers("strides")) + attributes.integer("offset");
      return value(x, unflatten(settled(flat, element_count(shape)), shape));
    }
    case Op::flip: {
      Indices from = at;
      for (int64_t d : attributes.integers("dims")) {
        if (shape.empty()) break;
        size_t dim = from_start(d, shape.size());
        from[dim] = Index(shape[dim] - 1) - from[dim];
      }
      return value(x, from);
    }
    case Op::roll: {
      Indices from = at;
      const auto &dims = attributes.integers("dims"), &shifts = attributes.integers("shifts");
      for (size_t k = 0; k < dims.size() && !shape.empty(); ++k) {
        size_t dim = from_start(dims[k], shape.size());
        int64_t size = shape[dim], shift = ((shifts[k] % size) + size) % size;
        if (shift) from[dim] = (settled(from[dim], size) + (size - shift)).modulo(size);
      }
      return value(x, from);
    }
    case Op::concat: {
      size_t dim = dimension(node, at.size());
      if (one_part_a_pack(node, dim, at)) return joined_packs(id, node, dim, at);
      if (std::optional<std::string> chosen = chosen_part(id, node, dim, at)) return *chosen;
      int64_t start = 0;
      std::string name;
      for (ValueId operand : node.operands) {
        int64_t size = graph().type(operand).shape[dim];
        Range range = within(at[dim], start, start + size);
        Indices from = at;
        from[dim] = at[dim] - start;
        start += size;
        if (size == 0 || range.never) continue;
        if (range.condition.empty()) return value(operand, from);
        if (name.empty()) name = variable(id, literal(0, dtype));
        guard(range.condition);
        std::string part = value(operand, from);
        line(format("{} = {};", name, part));
        close();
      }
      return name;
    }
    case Op::pad: {
      const auto& pads = attributes.integers("pads");
      const std::string& mode = attributes.text("mode");
      Indices from = at;
      std::string condition;
      for (size_t d = 0; d < shape.size(); ++d) {
        int64_t before = pads[2 * d], after = pads[2 * d + 1], size = shape[d];
        if (before == 0 && after == 0) continue;
        from[d] = at[d] - before;
        if (mode == "constant") {
          Range range = within(from[d], 0, size);
          if (range.never) return cast(literal(attributes.number("value"), dtype), dtype, dtype);
          if (!range.condition.empty()) condition += (condition.empty() ? "" : " && ") + range.condition;
        } else if (mode == "circular") {
          from[d] = (settled(at[d], size + before + after) + (size - before)).modulo(size);
        } else {
          std::string i = from[d].text();
          std::string source =
              mode == "replicate"
                  ? format("{0} < 0 ? 0 : {0} < {1} ? {0} : {2}", i, size, size - 1)
                  : format("{0} < 0 ? -({0}) : {0} < {1} ? {0} : {2} - ({0})", i, size, 2 * (size - 1));
          if (from[d].least() < 0 || from[d].most() >= size) from[d] = declare_index("source", source, size);
        }
      }
      std::string fill = literal(attributes.number("value"), dtype);
      if (is_integer(dtype)) fill = format("stitch::wrapped<{}>({})", stored_type(dtype), fill);
      return chosen(condition, fill, [&] { return value(x, from); });
    }
    case Op::tril:
    case Op::triu: {
      int64_t columns = shape.back(), rows = shape[shape.size() - 2];
      int64_t diagonal = std::clamp(attributes.integer("diagonal"), -rows - 1, columns + 1);
      Index above = at.back() - at[at.size() - 2];
      std::string condition = format("{} {} {}", above.text(), node.op == Op::tril ? "<=" : ">=", diagonal);
      return chosen(condition, literal(0, dtype), [&] { return value(x, at); });
    }
    case Op::update_slice: {
      ValueId update = node.operands[1];
      size_t dim = dimension(node, shape.size());
      int64_t start = attributes.integer("start"), step = attributes.integer("step");
      int64_t count = graph().type(update).shape[dim];
      if (count == 0) return value(x, at);
      Range range = within(at[dim], start, start + (count - 1) * step + 1);
      if (range.never) return value(x, at);
      Index shifted = at[dim] - start;
      if (step > 1) {
        range.condition +=
            format("{}({}) % {} == 0", range.condition.empty() ? "" : " && ", shifted.text(), step);
      }
      Indices from = at;
      if (range.condition.empty()) {
        from[dim] = shifted;
        return value(update, from);
      }
      std::string name = variable(id, literal(0, dtype));
      std::string inside = names_.unique("replaced");
      line(format("const bool {} = {};", inside, range.condition));
      guard(inside);
      from[dim] =
          step > 1 ? declare_index("source", format("({}) / {}", shifted.text(), step), count) : shifted;
      std::string fresh = value(update, from);
      line(format("{} = {};", name, fresh));
      close();
      guard("!" + inside);
      std::string old = value(x, at);
      line(format("{} = {};", name, old));
      close();
      return name;
    }
    default: throw Bug(format("no movement: {}", info(node.op).name));
  }
}

std::string Emitter::indexed(ValueId id, const Node& node, const Indices& at) {
  ValueId x = node.operands[0];
  const Shape& shape = graph().type(x).shape;
  if (node.op == Op::gather) {
    Indices from = at;
    std::string found = value(node.operands[1], at);
    if (shape.empty()) return value(x, {});
    size_t dim = dimension(node, shape.size());
    from[dim] = declare_index(graph()[id].name + "_from", found, shape[dim]);
    return value(x, from);
  }
  require(node.op == Op::index, "gather and index are the ops that read at computed places");
  const auto& dims = node.attributes.integers("dims");
  size_t common = 0;
  for (size_t i = 0; i < dims.size(); ++i)
    common = std::max(common, graph().type(node.operands[i + 1]).shape.size());
  bool neighbours = dims.back() - dims.front() + 1 == std::ssize(dims);
  size_t first = neighbours ? static_cast<size_t>(dims.front()) : 0;
  Indices common_at(at.begin() + static_cast<int64_t>(first),
                    at.begin() + static_cast<int64_t>(first + common));
  Indices from(shape.size());
  size_t next = neighbours ? 0 : common;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (neighbours && d == first) next += common;
    auto named = std::ranges::find(dims, static_cast<int64_t>(d));
    if (named == dims.end()) {
      from[d] = at[next++];
      continue;
    }
    ValueId index = node.operands[static_cast<size_t>(named - dims.begin()) + 1];
    Indices index_at = broadcast_to(index, common_at);
    // Declared where the index is known, so that what it says may be used outside of inner loops.
    Scopes::Outside outside(scopes_, scopes_.outermost(index_at));
    std::string found = value(index, index_at);
    std::string key = format("index|{}|{}|{}", index_of(index), shape[d], key_of(index, index_at));
    if (!scopes_.find(key)) {
      Index declared = declare_index(graph()[index].name + "_at",
                                     format("{0} < 0 ? {0} + {1} : {0}", found, shape[d]), shape[d]);
      scopes_.remember(key, declared.text());
    }
    from[d] = Index::variable(*scopes_.find(key), shape[d]);
  }
  return value(x, from);
}

// Halves what is left until the first element that is not before the value stands alone.
std::string Emitter::search(ValueId id, const Node& node, const Indices& at) {
  ValueId sorted = node.operands[0], values = node.operands[1];
  const Shape& shape = graph().type(sorted).shape;
  if (shape.back() == 0) return "0";
  std::string wanted = value(values, at);
  std::string first = names_.unique(graph()[id].name), rest = names_.unique("rest");
  line(format("{0} {1} = 0, {2} = {3};", index_type(), first, rest, shape.back()));
  scopes_.open(format("while ({} > 0)", rest), {first, rest}, false);
  Indices from(shape.size());
  if (shape.size() > 1) std::copy_n(at.begin(), shape.size() - 1, from.begin());
  from.back() = declare_index("middle", format("{} + {} / 2", first, rest), shape.back());
  std::string middle = from.back().text();
  std::string each = value(sorted, from);
  line(format("const bool before = !({} {} {});", each, node.attributes.flag("right") ? ">" : ">=", wanted));
  line(format("{0} = before ? {0} - {0} / 2 - 1 : {0} / 2;", rest));
  line(format("if (before) {} = {} + 1;", first, middle));
  close();
  return first;
}

}  // namespace stitch::code::loops
