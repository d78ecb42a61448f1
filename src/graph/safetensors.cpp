#include "graph/safetensors.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace stitch {

static_assert(std::endian::native == std::endian::little, "weights are read in place");

namespace {

struct DTypeName {
  DType dtype;
  std::string_view name;
};
constexpr DTypeName dtype_names[] = {{DType::f64, "F64"},   {DType::f32, "F32"}, {DType::f16, "F16"},
                                     {DType::bf16, "BF16"}, {DType::i64, "I64"}, {DType::i32, "I32"},
                                     {DType::i8, "I8"},     {DType::u8, "U8"},   {DType::boolean, "BOOL"}};

constexpr uint64_t longest_header = 100'000'000;  // set by the format

Error broken(std::string message) {
  return user_error("safetensors", "not a whole safetensors file: " + std::move(message),
                    "write it again (import the model again)");
}

Result<TensorBytes> read_entry(const std::string& name, const Json& entry, std::span<const std::byte> data) {
  auto unsigned_list = [](const Json& list) {
    return list.is_array() && std::ranges::all_of(list, [](const Json& n) { return n.is_number_unsigned(); });
  };
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() ||
      !entry.contains("shape") || !unsigned_list(entry["shape"]) || !entry.contains("data_offsets") ||
      !unsigned_list(entry["data_offsets"]) || entry["data_offsets"].size() != 2)
    return broken(format("the header's entry '{}' lacks dtype, shape or data_offsets", name));
  TensorBytes tensor;
  auto dtype_name = entry["dtype"].get<std::string>();
  auto known = std::ranges::find(dtype_names, dtype_name, &DTypeName::name);
  if (known == std::end(dtype_names))
    return broken(format("'{}' has the dtype {}, which we don't know", name, dtype_name));
  tensor.type.dtype = known->dtype;
  for (const Json& size : entry["shape"]) {
    auto value = size.get<uint64_t>();
    tensor.type.shape.push_back(value > INT64_MAX ? -1 : static_cast<int64_t>(value));
  }
  if (!shape_fits(tensor.type.shape)) return broken(format("'{}' has an unusable shape", name));
  auto begin = entry["data_offsets"][0].get<uint64_t>(), end = entry["data_offsets"][1].get<uint64_t>();
  if (begin > end || end > data.size())
    return broken(format("'{}' lies at bytes {} to {} of {}", name, begin, end, data.size()));
  if (end - begin != static_cast<uint64_t>(tensor.type.bytes()))
    return broken(format("'{}' has {} bytes, but {} needs {}", name, end - begin, text(tensor.type),
                         tensor.type.bytes()));
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

}  // namespace

Result<Safetensors> Safetensors::parse(std::span<const std::byte> bytes) {
  if (bytes.size() < 8) return broken(format("{} bytes are too few", bytes.size()));
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  if (length > longest_header || length > bytes.size() - 8)
    return broken(format("the header claims {} bytes, the file has {}", length, bytes.size() - 8));
  std::string_view header(reinterpret_cast<const char*>(bytes.data()) + 8, length);
  auto json = parse_json(header);
  if (!json || !json->is_object()) return broken("the header is no JSON object");
  Safetensors out;
  for (const auto& [name, entry] : json->items()) {
    if (name == "__metadata__") continue;
    STITCH_TRY(TensorBytes tensor, read_entry(name, entry, bytes.subspan(8 + length)));
    out.tensors_[name] = std::move(tensor);
  }
  return out;
}

Result<Safetensors> Safetensors::open(const fs::path& path) {
  STITCH_TRY(MappedFile file, MappedFile::open(path));
  auto out = parse(file.bytes());
  if (!out) return at(path.string(), std::move(out).error());
  out->file_ = std::move(file);
  return out;
}

const TensorBytes* Safetensors::find(std::string_view name) const {
  auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

Result<void> write_safetensors(const fs::path& path,
                               const std::vector<std::pair<std::string, TensorBytes>>& tensors) {
  Json header = Json::object();
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    require(tensor.bytes.size() == static_cast<size_t>(tensor.type.bytes()), "a tensor's bytes fit its type");
    auto known = std::ranges::find(dtype_names, tensor.type.dtype, &DTypeName::dtype);
    header[name] = {{"dtype", known->name},
                    {"shape", tensor.type.shape},
                    {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  // Written directly from the tensors, without a second copy in memory.
  const fs::path draft = path.string() + ".part";
  errno = 0;
  std::ofstream out(draft, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  for (const auto& [name, tensor] : tensors)
    out.write(reinterpret_cast<const char*>(tensor.bytes.data()),
              static_cast<std::streamsize>(tensor.bytes.size()));
  out.close();
  int failed = out ? 0 : errno;
  if (!out && failed == 0) failed = EIO;
  if (failed == 0 && ::rename(draft.c_str(), path.c_str()) != 0) failed = errno;
  if (failed == 0) return {};
  std::error_code ignored;
  fs::remove(draft, ignored);
  return at(path.string(), work_error("file", format("cannot write: {}", std::strerror(failed))));
}

}  // namespace stitch
