#include "import/aten_program.h"

#include <nlohmann/json.hpp>

namespace stitch {

namespace {

Error broken(std::string message) {
  return user_error("aten_json", "not a usable aten.json: " + std::move(message), "import the model again");
}

Result<std::string> text_field(const Json& object, const char* key) {
  auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_string())
    return broken(format("no text '{}'", key));
  return found->get<std::string>();
}

Result<const Json*> list_field(const Json& object, const char* key) {
  auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_array())
    return broken(format("no list '{}'", key));
  return &*found;
}

Result<std::vector<int64_t>> integers_field(const Json& object, const char* key) {
  STITCH_TRY(const Json* list, list_field(object, key));
  std::vector<int64_t> out;
  for (const Json& number : *list) {
    if (!number.is_number_integer()) return broken(format("'{}' holds more than integers", key));
    out.push_back(number.get<int64_t>());
  }
  return out;
}

Result<AtenTensor> read_tensor(const Json& json) {
  AtenTensor tensor;
  STITCH_TRY(tensor.name, text_field(json, "name"));
  STITCH_TRY(std::string dtype, text_field(json, "dtype"));
  tensor.complex = dtype == "complex64" || dtype == "complex128";
  auto known = tensor.complex ? (dtype == "complex64" ? DType::f32 : DType::f64) : parse_dtype(dtype);
  if (!known)
    return user_error("dtype",
                      format("the tensor '{}' is {}, a dtype that is not supported", tensor.name, dtype),
                      "use f64, f32, f16, bf16, i64, i32, i8, u8 or bool");
  tensor.type.dtype = *known;
  STITCH_TRY(tensor.type.shape, integers_field(json, "shape"));
  STITCH_TRY(tensor.type.strides, integers_field(json, "stride"));
  if (!shape_fits(tensor.type.shape) || tensor.type.strides.size() != tensor.type.shape.size())
    return broken(format("'{}' has an unusable shape", tensor.name));
  return tensor;
}

Result<AtenLeaf> read_leaf(const Json& json) {
  AtenLeaf leaf;
  STITCH_TRY(leaf.tensor, read_tensor(json));
  STITCH_TRY(std::string role, text_field(json, "role"));
  if (role == "input")
    leaf.role = Role::input;
  else if (role == "parameter")
    leaf.role = Role::parameter;
  else if (role == "buffer")
    leaf.role = Role::buffer;
  else if (role == "constant")
    leaf.role = Role::constant;
  else
    return broken(format("'{}' is no role", role));
  if (leaf.role != Role::input) {
    STITCH_TRY(leaf.data, text_field(json, "data"));
  }
  if (json.contains("memory") && json["memory"].is_number_integer())
    leaf.memory = json["memory"].get<int64_t>();
  return leaf;
}

Result<AtenNode> read_node(const Json& json) {
  AtenNode node;
  STITCH_TRY(node.op, text_field(json, "op"));
  STITCH_TRY(node.where, text_field(json, "where"));
  STITCH_TRY(node.module, text_field(json, "module"));
  if (!json.contains("args") || !json["args"].is_object()) return broken("a node has no args");
  node.args = std::make_shared<const Json>(json["args"]);
  node.autocast = json.contains("autocast");
  if (json.contains("written")) {
    STITCH_TRY(const Json* written, list_field(json, "written"));
    for (const Json& name : *written) {
      if (!name.is_string()) return broken("'written' holds more than names");
      node.written.push_back(name.get<std::string>());
    }
  }
  STITCH_TRY(const Json* outputs, list_field(json, "outputs"));
  for (const Json& output : *outputs) {
    if (output.is_null()) {
      node.outputs.emplace_back();
      continue;
    }
    auto tensor = read_tensor(output);
    if (!tensor) return at(node.where, std::move(tensor).error());
    node.outputs.push_back(*std::move(tensor));
  }
  return node;
}

}  // namespace

Result<AtenProgram> read_aten(std::string_view text) {
  STITCH_TRY(Json json, parse_json(text));
  STITCH_TRY(std::string form, text_field(json, "format"));
  if (form != "stitchcuda-aten/1")
    return broken(format("the format is \"{}\", not \"stitchcuda-aten/1\"", form));
  AtenProgram program;
  STITCH_TRY(program.name, text_field(json, "name"));
  STITCH_TRY(const Json* values, list_field(json, "values"));
  for (const Json& value : *values) {
    STITCH_TRY(AtenLeaf leaf, read_leaf(value));
    program.leaves.push_back(std::move(leaf));
  }
  STITCH_TRY(const Json* nodes, list_field(json, "nodes"));
  for (const Json& entry : *nodes) {
    STITCH_TRY(AtenNode node, read_node(entry));
    program.nodes.push_back(std::move(node));
  }
  STITCH_TRY(const Json* outputs, list_field(json, "outputs"));
  for (const Json& output : *outputs) {
    STITCH_TRY(std::string name, text_field(output, "value"));
    program.outputs.push_back(std::move(name));
  }
  Json task = Json::object();
  for (const auto& [key, value] : json.items())
    if (key != "format" && key != "values" && key != "nodes" && key != "outputs") task[key] = value;
  program.task = std::make_shared<const Json>(std::move(task));
  return program;
}

}  // namespace stitch
