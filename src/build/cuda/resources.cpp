#include "build/cuda/resources.h"

#include <cxxabi.h>

#include <cstdlib>

#include "base/text.h"

namespace stitch::build {

namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 ? text : name;
  std::free(text);
  return out;
}

// The number before `unit` ("25 registers", "400 bytes smem"), summed; 0 if absent.
int64_t amount(std::string_view line, std::string_view unit) {
  int64_t sum = 0;
  for (size_t at = line.find(unit); at != line.npos; at = line.find(unit, at + 1)) {
    size_t begin = at;
    while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
    sum += parse_integer(line.substr(begin, at - begin)).value_or(0);
  }
  return sum;
}

std::string between(std::string_view line, std::string_view before, char end) {
  const size_t at = line.find(before);
  if (at == line.npos) return "";
  line.remove_prefix(at + before.size());
  return std::string(line.substr(0, line.find(end)));
}

}  // namespace

std::vector<KernelResources> parse_resources(std::string_view output) {
  std::vector<KernelResources> out;
  std::string kernel, function;  // mangled; the function described next
  for (const std::string& line : split(output, '\n')) {
    if (std::string name = between(line, "Compiling entry function '", '\''); !name.empty()) {
      kernel = function = name;
      out.push_back({demangled(name)});
    } else if (line.find("Function properties for ") != line.npos) {
      function = trim(between(line, "Function properties for ", '\n'));
    } else if (!out.empty() && function == kernel && line.find("bytes stack frame") != line.npos) {
      // Properties of device functions that were not inlined come between those of kernels.
      out.back().stack_bytes = static_cast<int>(amount(line, " bytes stack frame"));
      out.back().spill_bytes =
          static_cast<int>(amount(line, " bytes spill stores") + amount(line, " bytes spill loads"));
    } else if (!out.empty() && line.find("Used ") != line.npos && line.find(" registers") != line.npos) {
      out.back().registers = static_cast<int>(amount(line, " registers"));
      out.back().shared_bytes = amount(line, " bytes smem");
      out.back().constant_bytes = amount(line, " bytes cmem");
    }
  }
  return out;
}

}  // namespace stitch::build
