#include "import/aten/table.h"

#include "base/text.h"

namespace stitch {

void AtenTable::one(std::string_view op, ComputeOne compute) {
  many(op, [compute = std::move(compute)](Call& call) { return Values{compute(call)}; });
}
void AtenTable::many(std::string_view op, Compute compute) {
  require(computes_.emplace(op, std::move(compute)).second, "an ATen op is in the table once");
}
void AtenTable::view(std::string_view op, const char* base, std::function<View(Call&)> view) {
  views(op, base, [view = std::move(view)](Call& call) { return std::vector<View>{view(call)}; });
}
void AtenTable::views(std::string_view op, const char* base, std::function<std::vector<View>(Call&)> views) {
  require(aliases_.emplace(op, Alias{base, std::move(views)}).second, "an ATen op is in the table once");
}
void AtenTable::custom(std::string_view op, Custom custom) {
  require(customs_.emplace(op, std::move(custom)).second, "an ATen op is in the table once");
}
void AtenTable::nothing(std::string_view op) { ignored_.emplace(op); }

namespace {
template <class Map>
auto* lookup(const Map& map, std::string_view key) {
  auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}
}  // namespace

const Compute* AtenTable::compute(std::string_view op) const { return lookup(computes_, op); }
const Alias* AtenTable::alias(std::string_view op) const { return lookup(aliases_, op); }
const Custom* AtenTable::custom(std::string_view op) const { return lookup(customs_, op); }
bool AtenTable::ignores(std::string_view op) const { return ignored_.contains(op); }

std::vector<std::string> AtenTable::names() const {
  std::vector<std::string> out;
  for (const auto& [name, unused] : computes_) out.push_back(name);
  for (const auto& [name, unused] : aliases_) out.push_back(name);
  for (const auto& [name, unused] : customs_) out.push_back(name);
  return out;
}

const AtenTable& aten_table() {
  static const AtenTable table = [] {
    AtenTable out;
    add_pointwise(out);
    add_arithmetic(out);
    add_reductions(out);
    add_matmuls(out);
    add_convolutions(out);
    add_norms(out);
    add_pools(out);
    add_attention(out);
    add_recurrences(out);
    add_views(out);
    add_movements(out);
    add_indexing(out);
    add_losses(out);
    add_creation(out);
    add_composites(out);
    add_special_functions(out);
    add_fourier(out);
    add_sampling(out);
    add_groups(out);
    add_factors(out);
    add_assorted(out);
    add_ctc(out);
    return out;
  }();
  return table;
}

std::optional<std::string> functional_name(const std::string& op) {
  // Python's x &= y is aten.__iand__.
  if (op.starts_with("aten.__i")) return "aten.__" + op.substr(8);
  size_t dot = op.rfind('.');
  if (dot == std::string::npos || dot == 0 || op[dot - 1] != '_' || op.starts_with("aten.__"))
    return std::nullopt;
  return op.substr(0, dot - 1) + op.substr(dot);
}

namespace {

void lower_in_place(Lowering& lowering, Call& call, const Compute& compute) {
  std::string self = call.tensor_name("self");
  const TensorType& type = lowering.aten_type(self);
  ValueId value = call.expand(call.cast(compute(call)[0], type.dtype), type.shape);
  lowering.write(self, value);
  if (call.node().outputs.empty() || call.node().outputs[0].name.empty()) return;
  // PyTorch calls it relu_ or relu__3; what it is here is no longer in place.
  std::string name = call.node().outputs[0].name;
  if (size_t mark = name.find("__"); mark != std::string::npos)
    name.erase(mark, 1);
  else if (name.ends_with('_'))
    name.pop_back();
  lowering.call_by_name(value, name);
  lowering.bind_view(call.node().outputs[0], self, {});
}

// permute_copy and its kin: what the view shows, in memory of its own.
void lower_copied(Lowering& lowering, Call& call, const Alias& alias) {
  std::vector<View> views = alias.views(call);
  for (size_t i = 0; i < std::min(views.size(), call.node().outputs.size()); ++i) {
    const AtenTensor& output = call.node().outputs[i];
    lowering.bind_view(output, call.tensor_name(alias.base), views[i]);
    lowering.bind(output, lowering.read(output.name));
  }
}

// out=: the results are written to these arguments, and are them from here on.
void lower_written(Lowering& lowering, Call& call, const Compute& compute) {
  Values values = compute(call);
  const AtenNode& node = call.node();
  for (size_t i = 0; i < std::min(values.size(), node.written.size()); ++i) {
    const char* name = node.written[i].c_str();
    if (!call.is_tensor(name)) continue;
    std::string target = call.tensor_name(name);
    const TensorType& type = lowering.aten_type(target);
    if (type.shape != call.shape(values[i]))
      refuse(format("{}: {}= has the shape {} where {} is written", node.op, name, text(type.shape),
                    text(call.shape(values[i]))),
             "make it of the result's shape, or leave it out");
    lowering.write(target, call.cast(values[i], type.dtype));
    if (i < node.outputs.size() && !node.outputs[i].name.empty())
      lowering.bind_view(node.outputs[i], target, {});
  }
}

}  // namespace

void lower_aten(Lowering& lowering, const AtenNode& node) {
  const AtenTable& table = aten_table();
  if (table.ignores(node.op)) return;
  Call call(lowering, node);
  if (concerns_complex(lowering, node)) return lower_complex(lowering, call);
  if (!node.written.empty()) {
    const Compute* written = table.compute(node.op);
    if (!written) refuse_unknown(node);
    return lower_written(lowering, call, *written);
  }
  if (const Custom* custom = table.custom(node.op)) return (*custom)(lowering, call);
  // x.squeeze_(): the tracer calls the view x from here on, so that it is one like any other.
  auto functional = functional_name(node.op);
  const Alias* alias = table.alias(node.op);
  if (!alias && functional) alias = table.alias(*functional);
  if (alias) {
    std::string base = call.tensor_name(alias->base);
    std::vector<View> views = alias->views(call);
    if (views.size() != node.outputs.size())
      throw Bug(format("{} has {} views and {} outputs", node.op, views.size(), node.outputs.size()));
    for (size_t i = 0; i < views.size(); ++i) lowering.bind_view(node.outputs[i], base, views[i]);
    return;
  }
  if (const Compute* compute = table.compute(node.op)) {
    Values values = (*compute)(call);
    for (size_t i = 0; i < std::min(values.size(), node.outputs.size()); ++i)
      lowering.bind(node.outputs[i], values[i]);
    return;
  }
  if (size_t mark = node.op.find("_copy."); mark != std::string::npos)
    if (const Alias* view = table.alias(node.op.substr(0, mark) + node.op.substr(mark + 5)))
      return lower_copied(lowering, call, *view);
  if (functional)
    if (const Compute* compute = table.compute(*functional)) return lower_in_place(lowering, call, *compute);
  refuse_unknown(node);
}

}  // namespace stitch
