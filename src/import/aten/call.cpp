#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "import/aten/table.h"

namespace stitch {

namespace {
[[noreturn]] void ill(const AtenNode& node, const char* name, const char* wanted) {
  refuse(format("{}: the argument '{}' is not {}", node.op, name, wanted));
}

bool names_tensor(const Json& argument) {
  return argument.is_object() && argument.contains("value") && argument["value"].is_string();
}
}  // namespace

// Norms keep their statistics' dtype, and conversions say theirs.
static bool meets_result(const std::string& op) {
  return op.find("_norm.") == std::string::npos && !op.starts_with("aten.to.") &&
         op != "aten._to_copy.default" && op != "aten.type_as.default" && !op.starts_with("aten.copy");
}

Call::Call(Lowering& lowering, const AtenNode& node) : lowering_(lowering), node_(node) {
  if (node.autocast && !node.outputs.empty() && is_floating(node.outputs[0].type.dtype) &&
      meets_result(node.op))
    computed_ = node.outputs[0].type.dtype;
}

Call Call::with(const std::string& name, Values values) const {
  Call out = *this;
  out.given_[name] = std::move(values);
  return out;
}

ValueId Call::read(const std::string& tensor) const {
  ValueId value = lowering_.read(tensor);
  return computed_ && is_floating(type(value).dtype) ? cast(value, *computed_) : value;
}

const Json& Call::argument(const char* name) const {
  static const Json null;
  auto found = node_.args->find(name);
  return found == node_.args->end() ? null : *found;
}

bool Call::has(const char* name) const { return !argument(name).is_null(); }
bool Call::is_tensor(const char* name) const { return names_tensor(argument(name)); }
bool Call::is_text(const char* name) const { return argument(name).is_string(); }
bool Call::is_integer(const char* name) const { return argument(name).is_number_integer(); }
bool Call::is_flag(const char* name) const { return argument(name).is_boolean(); }

std::string Call::tensor_name(const char* name) const {
  if (!is_tensor(name)) ill(node_, name, "a tensor");
  return argument(name)["value"].get<std::string>();
}

ValueId Call::tensor(const char* name) const {
  if (auto found = given_.find(name); found != given_.end()) return found->second[0];
  return read(tensor_name(name));
}

bool Call::is_list(const char* name) const { return argument(name).is_array(); }

bool Call::is_complex(const char* name) const {
  const Json& value = argument(name);
  auto complex = [&](const Json& item) {
    return names_tensor(item) && lowering_.is_complex(item["value"].get<std::string>());
  };
  return value.is_array() ? std::any_of(value.begin(), value.end(), complex) : complex(value);
}

std::vector<std::string> Call::names() const {
  std::vector<std::string> out;
  for (const auto& [name, unused] : node_.args->items()) out.push_back(name);
  return out;
}

Values Call::tensors_or_none(const char* name) const {
  if (auto found = given_.find(name); found != given_.end()) return found->second;
  const Json& list = argument(name);
  if (!list.is_array()) ill(node_, name, "a list of tensors");
  Values out;
  for (const Json& item : list) {
    if (!item.is_null() && !names_tensor(item)) ill(node_, name, "a list of tensors");
    out.push_back(item.is_null() ? ValueId::none : read(item["value"].get<std::string>()));
  }
  return out;
}

Values Call::tensors(const char* name) const {
  Values out = tensors_or_none(name);
  for (ValueId id : out)
    if (id == ValueId::none) ill(node_, name, "a list of tensors");
  return out;
}

int64_t Call::integer(const char* name) const {
  const Json& value = argument(name);
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_number_integer()) ill(node_, name, "an integer");
  return value.get<int64_t>();
}

namespace {
std::optional<double> as_number(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>();
  if (value.is_object() && value.contains("float") && value["float"].is_string())
    return parse_number(value["float"].get<std::string>());
  return std::nullopt;
}
}  // namespace

double Call::number(const char* name) const {
  auto value = as_number(argument(name));
  if (!value) ill(node_, name, "a number");
  return *value;
}

bool Call::flag(const char* name) const {
  const Json& value = argument(name);
  if (value.is_number_integer()) return value.get<int64_t>() != 0;
  if (!value.is_boolean()) ill(node_, name, "true or false");
  return value.get<bool>();
}

std::string Call::text(const char* name) const {
  const Json& value = argument(name);
  if (!value.is_string()) ill(node_, name, "a word");
  return value.get<std::string>();
}

std::vector<int64_t> Call::integers(const char* name) const {
  const Json& value = argument(name);
  if (value.is_null()) return {};
  if (value.is_number_integer()) return {value.get<int64_t>()};
  if (!value.is_array()) ill(node_, name, "a list of integers");
  std::vector<int64_t> out;
  for (const Json& item : value) {
    if (!item.is_number_integer()) ill(node_, name, "a list of integers");
    out.push_back(item.get<int64_t>());
  }
  return out;
}

std::vector<double> Call::numbers(const char* name) const {
  const Json& value = argument(name);
  if (value.is_null()) return {};
  if (auto single = as_number(value)) return {*single};
  if (!value.is_array()) ill(node_, name, "a list of numbers");
  std::vector<double> out;
  for (const Json& item : value) {
    auto number = as_number(item);
    if (!number) ill(node_, name, "a list of numbers");
    out.push_back(*number);
  }
  return out;
}

std::optional<DType> Call::dtype(const char* name) const {
  const Json& value = argument(name);
  if (value.is_null()) return std::nullopt;
  if (!value.is_object() || !value.contains("dtype")) ill(node_, name, "a dtype");
  std::string word = value["dtype"].get<std::string>();
  auto known = parse_dtype(word);
  if (!known) refuse(format("{} asks for the dtype {}, which is not supported", node_.op, word));
  return known;
}

const TensorType& Call::output(size_t i) const {
  if (i >= node_.outputs.size() || node_.outputs[i].name.empty())
    refuse(format("{} has no result {}", node_.op, i));
  return node_.outputs[i].type;
}

ValueId Call::cast(ValueId x, DType dtype) const {
  return type(x).dtype == dtype ? x : emit(Op::cast, {x}, {{"dtype", dtype}});
}

ValueId Call::full(const Shape& shape, DType dtype, double value) const {
  if (dtype == DType::boolean) value = value != 0;
  return emit(Op::full, {}, {{"shape", shape}, {"dtype", dtype}, {"value", value}});
}

ValueId Call::reshape(ValueId x, const Shape& wanted) const {
  return shape(x) == wanted ? x : emit(Op::reshape, {x}, {{"shape", wanted}});
}

ValueId Call::permute(ValueId x, const std::vector<int64_t>& dims) const {
  return emit(Op::permute, {x}, {{"dims", dims}});
}

ValueId Call::swap_last(ValueId x) const {
  std::vector<int64_t> dims(static_cast<size_t>(rank(x)));
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  std::swap(dims.end()[-1], dims.end()[-2]);
  return permute(x, dims);
}

ValueId Call::expand(ValueId x, const Shape& wanted) const {
  return shape(x) == wanted ? x : emit(Op::expand, {x}, {{"shape", wanted}});
}

ValueId Call::slice(ValueId x, int64_t dim, int64_t start, int64_t end, int64_t step) const {
  return emit(Op::slice, {x}, {{"dim", dim}, {"start", start}, {"end", end}, {"step", step}});
}

ValueId Call::random(const Shape& shape, DType dtype, std::string distribution, double a, double b) const {
  return emit(Op::random, {lowering_.seed()},
              {{"shape", shape},
               {"dtype", dtype},
               {"distribution", std::move(distribution)},
               {"a", a},
               {"b", b},
               {"stream", lowering_.next_stream()}});
}

ValueId Call::reduce(Op op, ValueId x, const std::vector<int64_t>& dims, bool keepdim) const {
  return emit(op, {x}, {{"dims", dims}, {"keepdim", keepdim}});
}

ValueId Call::operand(const char* name, DType dtype) const {
  if (is_tensor(name) || given_.contains(name)) return cast(tensor(name), dtype);
  return ::stitch::is_integer(dtype) && is_integer(name) ? whole_scalar(dtype, integer(name))
                                                         : scalar(dtype, number(name));
}

ValueId Call::whole_scalar(DType dtype, int64_t value) const {
  constexpr int64_t most = int64_t{1} << 53;
  if (!::stitch::is_integer(dtype) || (-most <= value && value <= most))
    return scalar(dtype, static_cast<double>(value));
  // An attribute is a double, which holds 53 bits: the number is put together from its halves.
  ValueId high = scalar(DType::i64, static_cast<double>(value >> 32)),
          low = scalar(DType::i64, static_cast<double>(value & 0xffffffff));
  ValueId raised = emit(Op::shift_left, {high, scalar(DType::i64, 32)});
  return cast(emit(Op::add, {raised, low}), dtype);
}

Values Call::parts_of(ValueId held) const {
  Shape one_part = shape(held);
  one_part.pop_back();
  int64_t last = rank(held) - 1;
  return {reshape(slice(held, last, 0, 1), one_part), reshape(slice(held, last, 1, 2), one_part)};
}

Values Call::parts(const char* name) const {
  if (const Json& value = argument(name); value.is_object() && value.contains("complex")) {
    DType dtype = node_.outputs.empty() ? DType::f32 : node_.outputs[0].type.dtype;
    auto part = [&](size_t i) { return scalar(dtype, as_number(value["complex"][i]).value_or(0)); };
    return {part(0), part(1)};
  }
  if (is_complex(name)) return parts_of(tensor(name));
  DType dtype = node_.outputs.empty() || !is_floating(node_.outputs[0].type.dtype)
                    ? DType::f32
                    : node_.outputs[0].type.dtype;
  return {operand(name, dtype), ValueId::none};
}

ValueId Call::joined(ValueId real, ValueId imaginary) const {
  Shape one_part = shape(real);
  one_part.push_back(1);
  return emit(Op::concat, {reshape(real, one_part), reshape(imaginary, one_part)},
              {{"dim", std::ssize(one_part) - 1}});
}

int64_t Call::dimension(int64_t dim, int64_t rank) const {
  int64_t span = std::max<int64_t>(rank, 1);
  if (dim < -span || dim >= span)
    refuse(format("{}: dimension {} of a tensor of rank {}", node_.op, dim, rank));
  return dim < 0 ? dim + span : dim;
}

}  // namespace stitch
