/* Weights from a safetensors file: mapped, checked, and copied to the device one tensor at a time. For
 * callers of a program; the program itself never reads files.
 *
 *   stitch::WeightsFile file("weights.safetensors");
 *   StitchTensor w = file.upload("fc1.weight");  // device memory, the caller's to free
 */
#ifndef STITCH_WEIGHTS_H
#define STITCH_WEIGHTS_H

#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "stitch/program.h"

namespace stitch {

class WeightsFile {
 public:
  struct Entry {
    int32_t dtype = 0;  // StitchDtype
    std::vector<int64_t> shape;
    uint64_t begin = 0, end = 0;  // in the file's data section
  };

  // Throws std::runtime_error naming the file and the problem.
  explicit WeightsFile(const std::string& path) : path_(path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat about {};
    if (file < 0 || ::fstat(file, &about) != 0) {
      if (file >= 0) ::close(file);
      fail("cannot be read");
    }
    size_ = static_cast<size_t>(about.st_size);
    void* mapped = size_ > 0 ? ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    ::close(file);
    if (mapped == MAP_FAILED) fail("cannot be read");
    bytes_ = static_cast<const char*>(mapped);
    try {
      read_header();
    } catch (...) {
      ::munmap(const_cast<char*>(bytes_), size_);
      throw;
    }
  }
  WeightsFile(const WeightsFile&) = delete;
  WeightsFile& operator=(const WeightsFile&) = delete;
  ~WeightsFile() { ::munmap(const_cast<char*>(bytes_), size_); }

  const std::map<std::string, Entry>& entries() const { return entries_; }
  bool has(const std::string& name) const { return entries_.count(name) > 0; }

  // Contiguous, in new device memory. Throws if there is no such tensor or no memory.
  StitchTensor upload(const std::string& name) const {
    auto found = entries_.find(name);
    if (found == entries_.end()) fail("holds no tensor '" + name + "'");
    const Entry& entry = found->second;
    StitchTensor tensor{};
    tensor.dtype = entry.dtype;
    tensor.rank = static_cast<int32_t>(entry.shape.size());
    int64_t stride = 1;
    for (size_t i = entry.shape.size(); i-- > 0; stride *= entry.shape[i]) {
      tensor.shape[i] = entry.shape[i];
      tensor.strides[i] = stride;
    }
    const size_t count = static_cast<size_t>(entry.end - entry.begin);
    cudaError_t status = cudaMalloc(&tensor.data, count > 0 ? count : 1);
    if (status == cudaSuccess && count > 0)
      status = cudaMemcpy(tensor.data, bytes_ + data_ + entry.begin, count, cudaMemcpyHostToDevice);
    if (status != cudaSuccess) fail("'" + name + "': " + cudaGetErrorString(status));
    return tensor;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw std::runtime_error(path_ + ": " + what); }
  [[noreturn]] void broken() const { fail("is no safetensors file, or a damaged one"); }

  // The header: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …, "__metadata__": {…}}.
  void read_header() {
    uint64_t length = 0;
    if (size_ < sizeof length) broken();
    std::memcpy(&length, bytes_, sizeof length);
    if (length > size_ - sizeof length) broken();
    at_ = sizeof length;
    data_ = limit_ = sizeof length + static_cast<size_t>(length);
    expect('{');
    for (bool first = true; !took('}'); first = false) {
      if (!first) expect(',');
      const std::string name = read_string();
      expect(':');
      if (name == "__metadata__")
        skip_value(0);
      else
        check(entries_[name] = read_entry());
    }
  }

  Entry read_entry() {
    Entry entry;
    bool dtype = false, shape = false, offsets = false;
    expect('{');
    for (bool first = true; !took('}'); first = false) {
      if (!first) expect(',');
      const std::string key = read_string();
      expect(':');
      if (key == "dtype") {
        entry.dtype = dtype_named(read_string());
        dtype = true;
      } else if (key == "shape") {
        for (uint64_t size : read_numbers()) entry.shape.push_back(static_cast<int64_t>(size));
        shape = true;
      } else if (key == "data_offsets") {
        const std::vector<uint64_t> range = read_numbers();
        if (range.size() != 2) broken();
        entry.begin = range[0];
        entry.end = range[1];
        offsets = true;
      } else {
        skip_value(0);
      }
    }
    if (!dtype || !shape || !offsets) broken();
    return entry;
  }

  void check(const Entry& entry) const {
    static constexpr uint64_t sizes[] = {8, 4, 2, 2, 8, 4, 1, 1, 1};
    if (entry.shape.size() > STITCH_MAX_RANK || entry.begin > entry.end || entry.end > size_ - data_)
      broken();
    uint64_t bytes = sizes[entry.dtype];
    for (int64_t size : entry.shape) {
      if (size < 0 || (size > 0 && bytes > UINT64_MAX / static_cast<uint64_t>(size))) broken();
      bytes *= static_cast<uint64_t>(size);
    }
    if (bytes != entry.end - entry.begin) broken();
  }

  int32_t dtype_named(const std::string& name) const {
    static constexpr const char* names[] = {"F64", "F32", "F16", "BF16", "I64", "I32", "I8", "U8", "BOOL"};
    for (int32_t dtype = STITCH_F64; dtype <= STITCH_BOOL; ++dtype)
      if (name == names[dtype]) return dtype;
    fail("has a tensor of dtype " + name + ", which programs don't take");
  }

  // A minimal JSON reader for the header.
  char peek() {
    while (at_ < limit_ && std::strchr(" \t\r\n", bytes_[at_]) && bytes_[at_]) ++at_;
    if (at_ >= limit_) broken();
    return bytes_[at_];
  }
  bool took(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!took(c)) broken();
  }

  std::string read_string() {
    expect('"');
    std::string out;
    for (;;) {
      if (at_ >= limit_) broken();
      const char c = bytes_[at_++];
      if (c == '"') return out;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (at_ >= limit_) broken();
      const char escaped = bytes_[at_++];
      static constexpr char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
      if (const char* simple = escaped ? std::strchr(from, escaped) : nullptr)
        out += to[simple - from];
      else if (escaped == 'u')
        add_code_point(out);
      else
        broken();
    }
  }

  // \uXXXX of the basic plane, as UTF-8; surrogate pairs stay two.
  void add_code_point(std::string& out) {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      if (at_ >= limit_) broken();
      const char c = bytes_[at_++];
      code <<= 4;
      if (c >= '0' && c <= '9')
        code += static_cast<unsigned>(c - '0');
      else if ((c | 32) >= 'a' && (c | 32) <= 'f')
        code += static_cast<unsigned>((c | 32) - 'a' + 10);
      else
        broken();
    }
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xc0 | code >> 6);
      out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      out += static_cast<char>(0xe0 | code >> 12);
      out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (code & 0x3f));
    }
  }

  std::vector<uint64_t> read_numbers() {
    std::vector<uint64_t> out;
    expect('[');
    for (bool first = true; !took(']'); first = false) {
      if (!first) expect(',');
      uint64_t value = 0;
      if (peek() < '0' || peek() > '9') broken();
      for (; at_ < limit_ && bytes_[at_] >= '0' && bytes_[at_] <= '9'; ++at_) {
        if (value > (UINT64_MAX - 9) / 10) broken();
        value = 10 * value + static_cast<uint64_t>(bytes_[at_] - '0');
      }
      out.push_back(value);
    }
    return out;
  }

  void skip_value(int depth) {
    if (depth > 64) broken();
    const char c = peek();
    if (c == '"') {
      read_string();
    } else if (c == '{' || c == '[') {
      ++at_;
      const char close = c == '{' ? '}' : ']';
      for (bool first = true; !took(close); first = false) {
        if (!first) expect(',');
        if (c == '{') {
          read_string();
          expect(':');
        }
        skip_value(depth + 1);
      }
    } else {
      const size_t before = at_;
      while (at_ < limit_ && !std::strchr(",}] \t\r\n", bytes_[at_])) ++at_;
      if (at_ == before) broken();
    }
  }

  std::string path_;
  const char* bytes_ = nullptr;
  size_t size_ = 0, data_ = 0, at_ = 0, limit_ = 0;
  std::map<std::string, Entry> entries_;
};

}  // namespace stitch

#endif
