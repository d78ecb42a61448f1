#include "code/written_resources.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_schema.h"
#include "base/terminal/terminal.h"
#include "base/text.h"
#include "code/names.h"

namespace stitch::code {

namespace {

constexpr int64_t most_bytes = int64_t{1} << 40;
constexpr const char* strides[] = {"left_row_stride",   "right_row_stride",   "result_row_stride",
                                   "left_batch_stride", "right_batch_stride", "result_batch_stride"};

constexpr int64_t most_int = std::numeric_limits<int32_t>::max();
// Of a convolution, and the least that each may be.
constexpr std::pair<const char*, int64_t> extents[] = {
    {"size", 1}, {"kernel", 1}, {"stride", 1}, {"padding", 0}, {"dilation", 1}};

// Of the comment's text, without "resources".
struct Range {
  size_t begin, end;
};

Result<std::optional<Range>> range_in(std::string_view source) {
  std::optional<Range> out;
  for (size_t at = source.find("/*"); at != source.npos; at = source.find("/*", at)) {
    const size_t end = source.find("*/", at + 2);
    const std::string_view inside = source.substr(at + 2, end == source.npos ? end : end - at - 2);
    constexpr std::string_view mark = "resources";
    const size_t word = inside.find_first_not_of(" \t\r\n*");
    const bool is_one =
        word != inside.npos && inside.substr(word).starts_with(mark) &&
        inside.find_first_not_of(" \t\r\n:", word + mark.size()) == inside.find('{', word + mark.size());
    if (is_one && end == source.npos) return work_error("technique", "the comment 'resources' has no end");
    if (is_one && out) return work_error("technique", "the source has two comments 'resources'");
    if (is_one) out = {at + 2 + word + mark.size(), end};
    if (end == source.npos) break;
    at = end + 2;
  }
  return out;
}

Json integer(int64_t least, int64_t most = most_bytes) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", most}};
}
Json list_of(Json items, size_t least = 0) {
  return {{"type", "array"}, {"items", std::move(items)}, {"minItems", least}, {"maxItems", 16}};
}
Json one_of(std::vector<std::string> words) { return {{"type", "string"}, {"enum", std::move(words)}}; }
Json object(Json properties, std::vector<std::string> required) {
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

const Json& schema() {
  static const Json all = [] {
    const Json name = {{"type", "string"}, {"minLength", 1}, {"maxLength", 60}};
    const Json flag = {{"type", "boolean"}};
    const Json value = integer(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
    const std::vector<std::string> multiplied = {"f32", "f16", "bf16"};
    Json convolution = {{"name", name}, {"groups", integer(1, most_int)}, {"relu", flag}, {"bias", name}};
    for (const char* size : {"batch", "channels_in", "channels_out"})
      convolution[size] = integer(1, most_int);
    for (const auto& [list, least] : extents)
      convolution[list] = {
          {"type", "array"}, {"items", integer(least, most_int)}, {"minItems", 2}, {"maxItems", 3}};
    convolution["type"] = one_of(multiplied);
    convolution["layout"] = one_of({"nchw", "nhwc"});
    Json product = {{"name", name},
                    {"rows", integer(1)},
                    {"columns", integer(1)},
                    {"depth", integer(1)},
                    {"batch", integer(1)},
                    {"left_transposed", flag},
                    {"right_transposed", flag},
                    {"accumulate", flag},
                    {"type", one_of(multiplied)},
                    {"result", one_of(multiplied)},
                    {"epilogue", one_of({"none", "bias", "relu", "relu_bias", "gelu", "gelu_bias"})},
                    {"bias", name},
                    {"scale", {{"type", "number"}}}};
    for (const char* stride : strides) product[stride] = integer(0);
    return object(
        {{"workspace", integer(0)},
         {"packed",
          list_of(object({{"name", name},
                          {"type", one_of({"f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8", "bool"})},
                          {"elements", integer(1)},
                          {"from", list_of(name, 1)},
                          {"by", name}},
                         {"name", "type", "elements", "from", "by"}))},
         {"products", list_of(object(std::move(product), {"name", "rows", "columns", "depth"}))},
         {"convolutions", list_of(object(std::move(convolution), {"name", "batch", "channels_in",
                                                                  "channels_out", "size", "kernel"}))},
         {"settings", list_of(object({{"name", name}, {"values", list_of(value, 2)}, {"value", value}},
                                     {"name", "values", "value"}))}},
        {});
  }();
  return all;
}

DType type_in(const Json& object, const char* key, DType otherwise) {
  const std::string said = word(object, key);
  return said.empty() ? otherwise : parse_dtype(said).value_or(otherwise);
}

class Reader {
 public:
  explicit Reader(const std::vector<Place>* weights) : weights_(weights) {
    if (weights)
      for (const Place& each : *weights) names_.push_back(each.pointer);
  }

  Result<WrittenResources> read(const Json& all, std::string_view source) {
    out_.workspace_bytes = all.value("workspace", int64_t{0});
    for (const Json& each : items(all, "packed")) STITCH_CHECK(read_packing(each, source));
    for (const Json& each : items(all, "products")) STITCH_CHECK(read_product(each));
    for (const Json& each : items(all, "convolutions")) STITCH_CHECK(read_convolution(each));
    for (const Json& each : items(all, "settings")) STITCH_CHECK(read_setting(each));
    return std::move(out_);
  }

 private:
  static Error refuse(const std::string& what, const std::string& why) {
    return work_error("technique", format("resources: {}: {}", shorten(printable(what), 60), why));
  }
  static Json items(const Json& all, const char* key) {
    auto found = all.find(key);
    return found == all.end() ? Json::array() : *found;
  }

  Result<std::string> new_name(const Json& each) {
    const std::string name = word(each, "name");
    if (name != identifier(name)) return refuse(name, "not a C++ identifier, or one that is taken");
    if (std::ranges::find(names_, name) != names_.end()) return refuse(name, "another parameter's name");
    names_.push_back(name);
    return name;
  }

  // Nothing: no such weight.
  std::optional<size_t> weight(const std::string& name) const {
    constexpr std::string_view numbered = "weight ";
    size_t at = 0;
    if (name.starts_with(numbered)) {
      const auto number = parse_integer(std::string_view(name).substr(numbered.size()));
      if (!number || *number < 0) return std::nullopt;
      at = static_cast<size_t>(*number);
    } else if (weights_) {
      at = static_cast<size_t>(std::ranges::find(*weights_, name, &Place::pointer) - weights_->begin());
    }
    return weights_ && at >= weights_->size() ? std::nullopt : std::optional(at);
  }
  std::string weights_in_words() const {
    if (!weights_) return "weights have names, or are called \"weight 0\" and so on";
    std::vector<std::string> names;
    for (const Place& each : *weights_) names.push_back(each.pointer);
    return names.empty() ? "the region has none" : "there are " + join(names, ", ");
  }

  Result<void> read_packing(const Json& each, std::string_view source) {
    WrittenResources::Packing made;
    STITCH_TRY(made.name, new_name(each));
    made.function = word(each, "by");
    made.type = type_in(each, "type", DType::f32);
    made.elements = each["elements"].get<int64_t>();
    if (made.elements > most_bytes / size_of(made.type)) return refuse(made.name, "too large");
    if (made.function != identifier(made.function) || source.find(made.function + "(") == source.npos)
      return refuse(made.name,
                    format("the source has no function '{}'", printable(shorten(made.function, 60))));
    for (const auto& other : out_.packed)
      if (other.function == made.function) return refuse(made.name, "its function packs another memory");
    for (const Json& name : each["from"]) {
      const std::string said = name.get<std::string>();
      const auto found = weight(said);
      if (!found)
        return refuse(made.name,
                      format("'{}' is no weight; {}", printable(shorten(said, 60)), weights_in_words()));
      made.from.push_back(*found);
    }
    out_.packed.push_back(std::move(made));
    return {};
  }

  Result<void> read_product(const Json& each) {
    WrittenResources::Product made;
    STITCH_TRY(made.name, new_name(each));
    made.rows = each["rows"].get<int64_t>();
    made.columns = each["columns"].get<int64_t>();
    made.depth = each["depth"].get<int64_t>();
    made.batch = each.value("batch", int64_t{1});
    for (auto [high, wide] : {std::pair(made.rows, made.depth), std::pair(made.depth, made.columns),
                              std::pair(made.rows, made.columns)}) {
      int64_t elements = 0;
      if (__builtin_mul_overflow(high, wide, &elements) ||
          __builtin_mul_overflow(elements, made.batch, &elements) || elements > most_bytes)
        return refuse(made.name, format("a matrix of {} x {} x {} is too large", made.batch, high, wide));
    }
    for (const char* stride : strides)
      if (each.contains(stride)) made.strides[stride] = each[stride].get<int64_t>();
    made.left_transposed = each.value("left_transposed", false);
    made.right_transposed = each.value("right_transposed", false);
    made.accumulate = each.value("accumulate", false);
    made.scale = each.value("scale", 1.0);
    made.type = type_in(each, "type", DType::f32);
    made.result = type_in(each, "result", made.type);
    made.epilogue = word(each, "epilogue");
    if (made.epilogue == "none") made.epilogue.clear();
    const std::string bias = word(each, "bias");
    if (made.epilogue.ends_with("bias") == bias.empty())
      return refuse(made.name, bias.empty() ? format("the epilogue {} needs \"bias\"", made.epilogue)
                                            : "\"bias\" needs an epilogue that adds it");
    if (!bias.empty()) STITCH_CHECK(read_bias(bias, made, made.result, made.columns));
    out_.products.push_back(std::move(made));
    return {};
  }

  Result<void> read_convolution(const Json& each) {
    WrittenResources::Convolution made;
    STITCH_TRY(made.name, new_name(each));
    made.batch = each["batch"].get<int64_t>();
    made.channels_in = each["channels_in"].get<int64_t>();
    made.channels_out = each["channels_out"].get<int64_t>();
    made.groups = each.value("groups", int64_t{1});
    made.size_in = each["size"].get<std::vector<int64_t>>();
    const size_t dims = made.size_in.size();
    made.kernel = each["kernel"].get<std::vector<int64_t>>();
    made.stride = each.value("stride", std::vector<int64_t>(dims, 1));
    made.padding = each.value("padding", std::vector<int64_t>(dims, 0));
    made.dilation = each.value("dilation", std::vector<int64_t>(dims, 1));
    for (const auto* list : {&made.kernel, &made.stride, &made.padding, &made.dilation})
      if (list->size() != dims)
        return refuse(made.name,
                      format("size, kernel, stride, padding and dilation have {} numbers each", dims));
    if (made.channels_in % made.groups != 0 || made.channels_out % made.groups != 0)
      return refuse(made.name, "channels are no multiple of groups");
    int64_t in = made.batch * made.channels_in, out = made.batch * made.channels_out;
    for (size_t d = 0; d < dims; ++d) {
      const int64_t reach = made.dilation[d] * (made.kernel[d] - 1) + 1;
      const int64_t room = made.size_in[d] + 2 * made.padding[d] - reach;
      if (room < 0) return refuse(made.name, "the kernel is larger than the padded image");
      made.size_out.push_back(room / made.stride[d] + 1);
      if (__builtin_mul_overflow(in, made.size_in[d], &in) || in > most_bytes ||
          __builtin_mul_overflow(out, made.size_out[d], &out) || out > most_bytes)
        return refuse(made.name, "an image is too large");
    }
    made.channels_last = word(each, "layout") == "nhwc";
    made.relu = each.value("relu", false);
    made.type = type_in(each, "type", DType::f32);
    if (const std::string bias = word(each, "bias"); !bias.empty())
      STITCH_CHECK(read_bias(bias, made, made.type, made.channels_out));
    out_.convolutions.push_back(std::move(made));
    return {};
  }

  // The library keeps the pointer and reads `count` elements.
  template <class Member>
  Result<void> read_bias(const std::string& bias, Member& made, DType type, int64_t count) {
    auto fits = [&](DType own, int64_t elements) -> Result<void> {
      if (own == type && elements == count) return {};
      return refuse(made.name, format("the bias is {} x {}, and has to be {} x {}", elements, name(own),
                                      count, name(type)));
    };
    auto packed = std::ranges::find(out_.packed, bias, &WrittenResources::Packing::name);
    if (packed != out_.packed.end()) {
      made.bias = bias;
      return fits(packed->type, packed->elements);
    }
    made.bias_weight = weight(bias);
    if (!made.bias_weight)
      return refuse(made.name, format("the bias '{}' is neither a weight nor packed; {}",
                                      printable(shorten(bias, 60)), weights_in_words()));
    if (!weights_) return {};
    const Place& place = (*weights_)[*made.bias_weight];
    return fits(place.dtype, element_count(place.shape));
  }

  Result<void> read_setting(const Json& each) {
    WrittenResources::Tuned made;
    STITCH_TRY(made.name, new_name(each));
    made.values = each["values"].get<std::vector<int64_t>>();
    made.value = each["value"].get<int64_t>();
    if (std::ranges::find(made.values, made.value) == made.values.end())
      return refuse(made.name, format("{} is none of its values", made.value));
    std::vector<int64_t> sorted = made.values;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) return refuse(made.name, "a value stands twice");
    out_.settings.push_back(std::move(made));
    return {};
  }

  const std::vector<Place>* weights_;
  std::vector<std::string> names_ = {"stream", "workspace"};
  WrittenResources out_;
};

}  // namespace

bool WrittenResources::takes(size_t weight) const {
  auto is_bias = [&](const auto& each) { return each.bias_weight == weight; };
  return std::ranges::any_of(products, is_bias) || std::ranges::any_of(convolutions, is_bias) ||
         std::ranges::any_of(packed, [&](const Packing& each) {
           return std::ranges::find(each.from, weight) != each.from.end();
         });
}

Result<WrittenResources> resources_in(std::string_view source, const std::vector<Place>* weights) {
  STITCH_TRY(const std::optional<Range> range, range_in(source));
  if (!range) return WrittenResources();
  std::string_view text = source.substr(range->begin, range->end - range->begin);
  text.remove_prefix(std::min(text.find('{'), text.size()));
  auto document = parse_json(text);
  if (!document) return work_error("technique", "resources: " + document.error().message);
  const auto violations = schema_violations(*document, schema(), 1);
  if (!violations.empty()) return work_error("technique", "resources: " + violations.front().text());
  return Reader(weights).read(*document, source);
}

std::string with_numbered_weights(std::string source, const std::vector<Place>& weights) {
  const auto range = range_in(source);
  if (!range || !*range) return source;
  // In place, so that lines stay where they are. A weight may be called like a member or an epilogue.
  std::string out = source.substr(0, (*range)->begin), key;
  for (size_t at = (*range)->begin; at < source.size();) {
    const size_t begin = source.find('"', at), end = source.find('"', begin + 1);
    if (begin >= (*range)->end || end >= (*range)->end) return out + source.substr(at);
    out += source.substr(at, begin - at);
    at = end + 1;
    const std::string text = source.substr(begin + 1, end - begin - 1);
    const size_t next = source.find_first_not_of(" \t\r\n", at);
    const bool is_key = next < (*range)->end && source[next] == ':';
    if (is_key) key = text;
    const auto weight = std::ranges::find(weights, text, &Place::pointer);
    const bool named = !is_key && (key == "from" || key == "bias") && weight != weights.end();
    out += named ? format("\"weight {}\"", weight - weights.begin()) : "\"" + text + "\"";
  }
  return out;
}

std::string resources_in_words(bool all) {
  std::string out =
      R"(A source may declare what it needs in one comment, as JSON; each becomes a parameter, in this order: inputs,
weights, packed memory, products, convolutions, settings, outputs, workspace, stream.
/* resources
)";
  out += all ? R"({"workspace": BYTES, "packed": […], "products": […], "convolutions": […], "settings": […]})"
             : R"({"workspace": BYTES, "settings": […]})";
  out += R"(
*/
- workspace: `void* workspace`, scratch memory of this call, aligned to 256 bytes.
- settings: {"name", "values": [2 to 16 numbers], "value": the first to use}: `int NAME`, which the tuner may set
  to any of the values.
)";
  if (!all) return out;
  return out +
         R"(- packed: {"name", "type": f32 | f16 | bf16 | i32 | i8 | …, "elements", "from": [weights], "by": FUNCTION}:
  `const TYPE* NAME`, memory that FUNCTION(the weights of `from`, TYPE* packed, cudaStream_t) of your source fills
  once, when the program is created.
- products: {"name", "rows", "columns", "depth", "batch": 1, "left_transposed", "right_transposed" (a weight
  (columns, depth)), "type": f32 | f16 | bf16, "result": the same or f32, "epilogue": bias | relu | relu_bias |
  gelu | gelu_bias (GELU's tanh form), "bias": a weight or packed memory, "scale", "accumulate",
  "left_row_stride", …}: `const stitch::Matmul& NAME`, a cuBLASLt product in row-major terms;
  NAME.enqueue(left, right, result, stream) launches it.
- convolutions: {"name", "batch", "channels_in", "channels_out", "groups": 1, "size": [height, width] or
  [depth, height, width], "kernel", "stride", "padding", "dilation", "type": f32 | f16 | bf16, "layout": nchw |
  nhwc (of image, weight and result), "bias", "relu"}: `const stitch::Convolution& NAME`, cuDNN's;
  NAME.enqueue(image, weight, result, stream, added = nullptr) launches it, with 16-byte aligned pointers.
Weights that are packed, or a library's bias, are no parameters any more.
)";
}

}  // namespace stitch::code
