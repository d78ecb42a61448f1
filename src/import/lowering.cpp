#include "import/lowering.h"

#include <algorithm>

#include "base/text.h"
#include "import/aten/table.h"

namespace stitch {

void refuse(std::string message, std::string fix) {
  throw Refusal{user_error("unsupported", std::move(message), std::move(fix))};
}

std::vector<ValueId> Lowering::emit_all(Op op, std::vector<ValueId> operands, const Attributes& attributes) {
  std::string label = node_ && !node_->outputs.empty() && !node_->outputs[0].name.empty()
                          ? format("{}.{}", node_->outputs[0].name, info(op).name)
                          : std::string(info(op).name);
  auto results = graph_.add_node(op, std::move(operands), attributes, label, node_ ? node_->where : "",
                                 node_ ? node_->module : "");
  if (!results) throw Refusal{std::move(results).error()};
  return *std::move(results);
}

Lowering::Place& Lowering::place(const std::string& name) {
  auto found = places_.find(name);
  if (found == places_.end()) refuse(format("aten.json mentions '{}' before it exists", name));
  return found->second;
}

const TensorType& Lowering::aten_type(const std::string& name) const {
  auto found = places_.find(name);
  if (found == places_.end()) refuse(format("aten.json mentions '{}' before it exists", name));
  return found->second.type;
}

bool Lowering::is_whole(const std::string& name) const {
  const TensorType& type = aten_type(name);
  return places_.at(name).view.empty() && type.strides == contiguous_strides(type.shape);
}

bool Lowering::is_complex(const std::string& name) const {
  auto found = places_.find(name);
  return found != places_.end() && found->second.complex;
}

const Node* Lowering::producer(ValueId value) const {
  for (size_t i = graph_.nodes.size(); i-- > 0;)
    for (ValueId result : graph_.nodes[i].results)
      if (result == value) return &graph_.nodes[i];
  return nullptr;
}

namespace {

// The shape of the value that stands for a tensor.
Shape held_shape(const AtenTensor& tensor) {
  Shape shape = tensor.type.shape;
  if (tensor.complex) shape.push_back(2);
  return shape;
}

// A step of a complex tensor's view as one of its value's, parts last.
ViewStep with_parts(const ViewStep& step) {
  ViewStep out = step;
  auto extended = [&](const char* name, int64_t last) {
    auto list = step.attributes.integers(name);
    list.push_back(last);
    return list;
  };
  if (step.op == Op::reshape || step.op == Op::expand || step.op == Op::strided_view)
    out.attributes.set("shape", extended("shape", 2));
  if (step.op == Op::permute)
    out.attributes.set("dims", extended("dims", std::ssize(step.attributes.integers("dims"))));
  if (step.op == Op::strided_view) {
    std::vector<int64_t> strides = step.attributes.integers("strides");
    for (int64_t& stride : strides) stride *= 2;
    strides.push_back(1);
    out.attributes.set("strides", strides);
    out.attributes.set("offset", 2 * step.attributes.integer("offset"));
  }
  return out;
}

}  // namespace

ValueId Lowering::apply(ValueId value, const ViewStep& step) {
  return emit(step.op, {value}, step.attributes);
}

// What `base` becomes when the part of it that `step` shows is replaced.
ValueId Lowering::undo(ValueId base, const ViewStep& step, ValueId replacement) {
  const Shape shape = type(base).shape;
  switch (step.op) {
    case Op::reshape: return emit(Op::reshape, {replacement}, {{"shape", shape}});
    case Op::permute: {
      const auto& dims = step.attributes.integers("dims");
      std::vector<int64_t> inverse(dims.size());
      for (size_t i = 0; i < dims.size(); ++i)
        inverse[static_cast<size_t>(dims[i])] = static_cast<int64_t>(i);
      return emit(Op::permute, {replacement}, {{"dims", inverse}});
    }
    case Op::slice: {
      const Attributes& slice = step.attributes;
      return emit(Op::update_slice, {base, replacement},
                  {{"dim", slice.integer("dim")},
                   {"start", slice.integer("start")},
                   {"step", slice.integer("step")}});
    }
    case Op::strided_view: {
      // Seen through the same view, the numbers 0, 1, 2, … are the positions that are written.
      int64_t count = element_count(shape);
      ValueId positions = apply(emit(Op::iota, {}, {{"size", count}, {"dtype", DType::i64}}), step);
      ValueId flat = emit(Op::reshape, {base}, {{"shape", Shape{count}}});
      ValueId written =
          emit(Op::index_put, {flat, replacement, positions}, {{"dims", std::vector<int64_t>{0}}});
      return emit(Op::reshape, {written}, {{"shape", shape}});
    }
    default: refuse("writes in place to an expanded tensor, whose elements share memory", "clone() it first");
  }
}

ValueId Lowering::read(const std::string& name) {
  Place& here = place(name);
  const Storage& storage = storages_[here.storage];
  if (here.cached_version == storage.version) return here.cached;
  ValueId value = storage.value;
  for (const ViewStep& step : here.view) value = apply(value, step);
  here.cached = value;
  here.cached_version = storage.version;
  return value;
}

void Lowering::write(const std::string& name, ValueId value) {
  Place& here = place(name);
  Storage& storage = storages_[here.storage];
  std::vector<ValueId> bases = {storage.value};
  for (const ViewStep& step : here.view) {
    if (bases.size() == here.view.size()) break;
    bases.push_back(apply(bases.back(), step));
  }
  ValueId fresh = value;
  for (size_t i = here.view.size(); i-- > 0;) fresh = undo(bases[i], here.view[i], fresh);
  storage.value = fresh;
  ++storage.version;
  here.cached = value;
  here.cached_version = storage.version;
}

void Lowering::call_by_name(ValueId value, std::string_view name) {
  if (index_of(value) >= first_new_value_ && graph_.find(name) == ValueId::none) graph_.rename(value, name);
}

void Lowering::bind(const AtenTensor& output, ValueId value) {
  if (output.name.empty()) return;
  const TensorType& got = type(value);
  if (got.dtype != output.type.dtype || got.shape != held_shape(output))
    refuse(format("{} is not supported with these dtypes or shapes: it would be {}, but PyTorch makes {}{}",
                  node_ ? node_->op : "?", text(got), name(output.type.dtype), text(output.type.shape)),
           "convert its arguments to one floating dtype, and report this line");
  call_by_name(value, output.name);
  storages_.push_back({value, 0});
  places_[output.name] = {storages_.size() - 1, {}, output.type, output.complex, value, 0};
}

void Lowering::bind_view(const AtenTensor& output, const std::string& base, const View& view) {
  Place copy = place(base);
  for (const ViewStep& step : view) {
    // read() needs complete attributes no more than emit does, but undo() looks inside them.
    auto attributes = complete(info(step.op), step.attributes);
    if (!attributes) throw Refusal{std::move(attributes).error()};
    ViewStep complete{step.op, *std::move(attributes)};
    copy.view.push_back(copy.complex && output.complex ? with_parts(complete) : std::move(complete));
  }
  copy.type = output.type;
  copy.complex = output.complex;
  if (!view.empty()) {
    copy.cached_version = -1;
    // One step from the base's value instead of the whole chain from the storage's.
    ValueId value = read(base);
    for (auto step = copy.view.end() - std::ssize(view); step != copy.view.end(); ++step)
      value = apply(value, *step);
    call_by_name(value, output.name);
    const TensorType& got = type(value);
    if (got.dtype != output.type.dtype || got.shape != held_shape(output))
      throw Bug(format("{} at {}: lowered to {}, but PyTorch says {}{}", node_->op, node_->where, text(got),
                       name(output.type.dtype), text(output.type.shape)));
    copy.cached = value;
    copy.cached_version = storages_[copy.storage].version;
  }
  places_[output.name] = std::move(copy);
}

ValueId Lowering::seed() {
  if (seed_ == ValueId::none) seed_ = graph_.add_leaf(Role::seed, "seed", {DType::i64, {}, {}});
  return seed_;
}

void Lowering::add_leaves(const AtenProgram& program) {
  for (const AtenLeaf& leaf : program.leaves) {
    // A program's inputs are row-major, however the sample input lies: callers with another layout copy, as
    // model_new.py does. What is a view of what still follows the sample's strides.
    TensorType own = leaf.tensor.type;
    own.strides.clear();
    if (leaf.tensor.complex && leaf.role == Role::input)
      refuse(format("the input '{}' is complex, and programs take real tensors", leaf.tensor.name),
             "take torch.view_as_real(x) as the input, and begin forward with torch.view_as_complex");
    own.shape = held_shape(leaf.tensor);
    ValueId id = graph_.add_leaf(leaf.role, leaf.tensor.name, own, leaf.data);
    storages_.push_back({id, 0});
    places_[leaf.tensor.name] = {storages_.size() - 1, {}, leaf.tensor.type, leaf.tensor.complex, id, 0};
    leaves_.push_back({id, storages_.size() - 1, leaf.memory});
  }
}

void Lowering::lower_node(const AtenNode& node) {
  node_ = &node;
  first_new_value_ = graph_.values.size();
  try {
    lower_aten(*this, node);
  } catch (Refusal& refusal) {
    throw Refusal{at(node.where, std::move(refusal.error))};
  }
  node_ = nullptr;
}

void Lowering::finish(const AtenProgram& program) {
  for (const std::string& name : program.outputs) {
    if (is_complex(name))
      refuse(format("the output '{}' is complex, and programs return real tensors", name),
             "return torch.view_as_real of it");
    graph_.outputs.push_back(read(name));
  }
  for (const Leaf& leaf : leaves_) {
    if (storages_[leaf.storage].value == leaf.value) continue;
    if (graph_[leaf.value].role == Role::constant)
      refuse("forward writes to a tensor that is no buffer: one in a list or a dictionary, say",
             "register it by register_buffer: then it is carried from call to call");
    for (const Leaf& other : leaves_)
      if (other.memory >= 0 && other.memory == leaf.memory && other.value != leaf.value)
        refuse(format("forward writes to '{}', which shares memory with '{}'", graph_[leaf.value].name,
                      graph_[other.value].name),
               graph_[leaf.value].role == Role::input
                   ? "give every input memory of its own: clone() one of them in get_inputs()"
                   : "keep one of the two: moving the model to a GPU separates them, too");
    graph_.updates.push_back({leaf.value, storages_[leaf.storage].value});
  }
}

Result<Graph> Lowering::run(const AtenProgram& program) {
  graph_.name = program.name;
  try {
    add_leaves(program);
    for (const AtenNode& node : program.nodes) lower_node(node);
    finish(program);
  } catch (Refusal& refusal) {
    return std::move(refusal.error);
  }
  return std::move(graph_);
}

Result<Graph> lower(const AtenProgram& program) {
  STITCH_TRY(Graph graph, Lowering().run(program));
  if (auto valid = verify(graph); !valid)
    throw Bug("the importer made an invalid graph: " + valid.error().text());
  return compact(graph);
}

}  // namespace stitch
