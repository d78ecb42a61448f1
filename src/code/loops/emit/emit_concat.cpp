// concat: selects the part that contains an element. For parts in memory the address is selected, so that no
// load waits for a branch.
#include <algorithm>
#include <functional>
#include <span>

#include "base/format.h"
#include "code/loops/emit/emitter.h"

namespace stitch::code::loops {

namespace {

class Joined {
 public:
  Joined(Emitter& emitter, ValueId id, const Node& node, const Indices& at)
      : emitter_(emitter), graph_(emitter.graph()), id_(id), node_(node), at_(at) {
    int64_t dim = node.attributes.integer("dim");
    dim_ = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(std::max<size_t>(at.size(), 1)) : dim);
  }

  Expression element() {
    if (one_part_a_vector()) return by_vectors();
    if (std::optional<Expression> chosen = chosen_part()) return *chosen;
    return by_guards();
  }

 private:
  int64_t size_of_part(ValueId part) const { return graph_.type(part).shape[dim_]; }
  // The element's indices in a part that begins at `start` along the concatenated dimension.
  Indices inside(int64_t start, ValueId part) const {
    Indices from = at_;
    // Of one element: a difference that is 0 would hide in an index that sizes are part of.
    const bool single = size_of_part(part) == 1 && emitter_.request().context.takes_sizes();
    from[dim_] = single ? Index(0) : at_[dim_] - start;
    return from;
  }
  std::string unique(const char* what) {
    return emitter_.names().unique(identifier(graph_[id_].name) + what);
  }

  // Whether all lanes of a vector are in the same part.
  bool one_part_a_vector() const {
    if (!emitter_.in_lanes(at_)) return false;
    const VectorLoop& vector = emitter_.vector();
    if (!at_[dim_].appears(vector.variable))
      return std::ranges::any_of(at_, [&](const Index& index) { return index.appears(vector.variable); });
    if (at_[dim_].factor_of(vector.variable) != 1 || !at_[dim_].appears_only_linearly(vector.variable))
      return false;
    if (!(at_[dim_] - Index::variable(vector.variable, vector.width)).divisible_by(vector.width))
      return false;
    return std::ranges::all_of(node_.operands,
                               [&](ValueId part) { return size_of_part(part) % vector.width == 0; });
  }

  // The address, among consecutive parts of one type in memory, of the vector at `first`. `start`: where the
  // first of them begins. Empty if vectors don't fit whole.
  std::optional<Expression> chosen_address(std::span<const ValueId> parts, int64_t start,
                                           const Index& first) {
    if (!emitter_.vector().together) return std::nullopt;
    emitter_.vector().level = emitter_.scopes().depth();  // the lanes are opened here
    Expressions conditions, addresses;
    for (ValueId part : parts) {
      const Place* place = emitter_.place_of(part);
      std::optional<Index> begin = emitter_.start_of_vector(position(inside(start, part), place->strides));
      if (!begin) return std::nullopt;
      start += size_of_part(part);
      conditions.push_back(Expression(first) < start);
      addresses.push_back(appended(named(place->pointer), *begin));
    }
    Expression from = addresses.back();
    for (size_t i = parts.size() - 1; i-- > 0;) from = select(conditions[i], addresses[i], from);
    return from;
  }
  Expression load_chosen(std::span<const ValueId> parts, const Expression& from) {
    const Place& example = *emitter_.place_of(parts[0]);
    for (ValueId part : parts) {
      emitter_.used().insert(emitter_.place_of(part));
      emitter_.vectorised().insert(emitter_.place_of(part));
    }
    ++emitter_.loads.vectorised;
    std::string source = unique("_from"), vector = unique("_vector");
    emitter_.add(define_constant(pointer_to(stored_type(example.dtype), true), source, from));
    Expression read =
        code::element(emitter_.load_vector(vector, named(source)), named(emitter_.vector().variable));
    return emitter_.widened(read, example.dtype, emitter_.type_of(id_));
  }

  // Consecutive parts in memory of one type.
  std::vector<std::vector<ValueId>> runs() const {
    constexpr size_t most_parts = 8;
    auto alike = [&](ValueId a, ValueId b) {
      const Place *one = emitter_.place_of(a), *other = emitter_.place_of(b);
      return one && other && one->dtype == other->dtype && size_of_part(b) > 0;
    };
    std::vector<std::vector<ValueId>> out;
    for (ValueId part : node_.operands) {
      if (size_of_part(part) == 0) continue;
      if (out.empty() || out.back().size() == most_parts || !alike(out.back()[0], part)) out.emplace_back();
      out.back().push_back(part);
    }
    return out;
  }

  Expression by_vectors() {
    const VectorLoop lanes = emitter_.vector();
    Index first = at_[dim_].appears(lanes.variable) ? at_[dim_] - Index::variable(lanes.variable, lanes.width)
                                                    : at_[dim_];
    Emitter::BeforeLanes before(emitter_);
    const std::vector<std::vector<ValueId>> all = runs();
    if (all.size() == 1 && all[0].size() > 1)
      if (auto from = chosen_address(all[0], 0, first)) return load_chosen(all[0], *from);
    std::string name = emitter_.names().unique(emitter_.name_of(id_));
    emitter_.add(define_variable(emitter_.type_of(id_), name, {}, {lanes.width}));
    const Expression lane = code::element(name, named(lanes.variable));
    int64_t start = 0;
    for (const std::vector<ValueId>& run : all) {
      const bool together = fill(run, start, first, lane, lanes.width);
      for (const ValueId& part : run) {
        if (!together) fill({&part, 1}, start, first, lane, lanes.width);
        start += size_of_part(part);
      }
    }
    return lane;
  }
  // Fills the lanes of a vector from a run of parts, if they lie there. False: not all at once.
  bool fill(std::span<const ValueId> parts, int64_t start, const Index& first, const Expression& lane,
            int64_t width) {
    int64_t end = start;
    for (ValueId part : parts) end += size_of_part(part);
    Range range = within(first, start, end);
    if (range.never) return true;
    if (parts.size() > 1 && !chosen_address(parts, start, first)) return false;
    if (!range.condition.empty()) emitter_.guard(range.condition);
    Expression chosen;
    if (parts.size() > 1) chosen = load_chosen(parts, *chosen_address(parts, start, first));
    emitter_.open_vector(width, emitter_.vector().together);
    Expression value = chosen.empty() ? emitter_.value(parts[0], inside(start, parts[0])) : chosen;
    emitter_.add(assign(lane, value));
    emitter_.close_vector();
    emitter_.vector().width = width;
    if (!range.condition.empty()) emitter_.close();
    return true;
  }

  // The same for single elements. A row inside one part selects it, and its stride, before the loop over its
  // elements.
  struct Part {
    const Place* place;
    Expression condition;
    Index where;
  };
  std::optional<std::vector<Part>> parts_in_memory() {
    const Place* example = emitter_.place_of(node_.operands[0]);
    const VectorLoop& vector = emitter_.vector();
    bool in_vector = vector.width > 1 && std::ranges::any_of(at_, [&](const Index& index) {
                       return index.appears(vector.variable);
                     });
    if (!example || in_vector) return std::nullopt;
    std::vector<Part> parts;
    int64_t begin = 0;
    for (ValueId operand : node_.operands) {
      const Place* place = emitter_.place_of(operand);
      int64_t size = size_of_part(operand);
      if (!place || place->dtype != example->dtype || size == 0) return std::nullopt;
      if (within(at_[dim_], begin, begin + size).never) return std::nullopt;
      Index where = position(inside(begin, operand), place->strides);
      begin += size;
      parts.push_back({place, within(at_[dim_], 0, begin).condition, where});
    }
    if (parts.size() < 2) return std::nullopt;
    return parts;
  }
  static Expression choice(const std::vector<Part>& parts, const std::function<Expression(const Part&)>& of) {
    Expression out;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      out = part->condition.empty() || out.empty() ? of(*part) : select(part->condition, of(*part), out);
    return out;
  }
  std::optional<Expression> chosen_part() {
    auto parts = parts_in_memory();
    if (!parts) return std::nullopt;
    const DType dtype = (*parts)[0].place->dtype;
    const bool walked = !at_[dim_].appears("index") && std::ranges::all_of(*parts, [](const Part& part) {
      return part.where.appears_only_linearly("index");
    });
    auto step = [&](const Part& part) { return walked ? part.where.factor_of("index") : 0; };
    auto base = [&](const Part& part) {
      return part.where - Index::variable("index", INT32_MAX) * step(part);
    };
    Indices bases = {at_[dim_]};
    for (const Part& part : *parts) {
      emitter_.used().insert(part.place);
      bases.push_back(base(part));
    }
    Scopes& scopes = emitter_.scopes();
    const Key key = key_of(Key::part, id_, 0, at_);
    if (!scopes.find(key)) {
      Scopes::Outside outside(scopes, scopes.outermost(bases));
      std::string name = unique("_part");
      emitter_.add(
          define_constant(pointer_to(stored_type(dtype), true), name, choice(*parts, [&](const Part& part) {
                            return appended(named(part.place->pointer), base(part));
                          })));
      const int64_t first = step((*parts)[0]);
      Expression place = Index::variable("index", INT32_MAX) * first;
      if (!std::ranges::all_of(*parts, [&](const Part& part) { return step(part) == first; })) {
        std::string strides = unique("_stride");
        emitter_.add(define_constant(emitter_.index_type(), strides, choice(*parts, [&](const Part& part) {
                                       return Expression(step(part));
                                     })));
        place = named("index") * named(strides);
      }
      scopes.remember(key, code::element(name, place));
    }
    return emitter_.declare(id_, emitter_.widened(*scopes.find(key), dtype, emitter_.type_of(id_)));
  }

  Expression by_guards() {
    int64_t start = 0;
    Expression out;
    for (ValueId part : node_.operands) {
      const int64_t size = size_of_part(part);
      Range range = within(at_[dim_], start, start + size);
      Indices from = inside(start, part);
      start += size;
      if (size == 0 || range.never) continue;
      if (range.condition.empty()) return emitter_.value(part, from);
      if (out.empty()) out = emitter_.variable(id_, number(0, graph_.type(id_).dtype));
      emitter_.guard(range.condition);
      Expression value = emitter_.value(part, from);
      emitter_.add(assign(out, value));
      emitter_.close();
    }
    return out;
  }

  Emitter& emitter_;
  const Graph& graph_;
  ValueId id_;
  const Node& node_;
  const Indices& at_;
  size_t dim_ = 0;
};

}  // namespace

Expression joined_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at) {
  return Joined(emitter, id, node, at).element();
}

}  // namespace stitch::code::loops
