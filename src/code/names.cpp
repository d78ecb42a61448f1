#include "code/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/format.h"
#include "base/text.h"

namespace stitch::code {

namespace {

// C++ keywords, and macros of its library.
const std::set<std::string, std::less<>> keywords = {
    "auto",      "bool",          "break",        "case",         "char",      "class",
    "const",     "continue",      "default",      "delete",       "do",        "double",
    "else",      "enum",          "export",       "extern",       "false",     "float",
    "for",       "friend",        "goto",         "if",           "inline",    "int",
    "long",      "new",           "not",          "or",           "and",       "operator",
    "xor",       "private",       "public",       "register",     "return",    "short",
    "signed",    "sizeof",        "static",       "struct",       "switch",    "template",
    "this",      "throw",         "true",         "try",          "typedef",   "union",
    "unsigned",  "using",         "virtual",      "void",         "volatile",  "while",
    "alignas",   "alignof",       "and_eq",       "asm",          "bitand",    "bitor",
    "catch",     "char16_t",      "char32_t",     "char8_t",      "co_await",  "co_return",
    "co_yield",  "compl",         "concept",      "const_cast",   "consteval", "constexpr",
    "constinit", "decltype",      "dynamic_cast", "explicit",     "mutable",   "namespace",
    "noexcept",  "not_eq",        "nullptr",      "or_eq",        "protected", "reinterpret_cast",
    "requires",  "static_assert", "static_cast",  "thread_local", "typeid",    "typename",
    "wchar_t",   "xor_eq",        "linux",        "unix",         "assert",    "errno",
    "stdin",     "stdout",        "stderr"};

// Identifiers used by generated code.
const std::set<std::string, std::less<>> reserved = {
    "std", "main", "in", "out", "stream", "device", "params", "workspace", "arena", "weights", "graphs",
    "cublas", "cudnn", "stitch", "create", "run", "enqueue", "inputs", "outputs", "parameters", "settings",
    "branches", "launches", "programmatic_launches",
    // CUDA functions of doubles, which a local of the same name would hide.
    "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma", "abs", "fabs",
    "min", "max", "fmin", "fmax", "pow", "fmod", "floor", "ceil", "round", "rint", "trunc",
    // C library functions: a kernel of that name would be an overload.
    "div", "index", "time", "clock", "read", "write", "open", "close", "link", "pipe", "select", "signal",
    "send", "bind", "accept", "connect", "exit", "abort", "system", "stat", "wait", "sleep", "fork", "dup",
    "kill", "alarm", "pause", "remove", "rename", "random", "rand", "remainder", "gamma", "fma", "y0", "y1",
    "j0", "j1"};

}  // namespace

std::string_view element_type(DType dtype) {
  constexpr std::array<std::string_view, dtype_count> names = {
      "double", "float", "__half", "__nv_bfloat16", "int64_t", "int32_t", "int8_t", "uint8_t", "bool"};
  return names[static_cast<size_t>(dtype)];
}

std::string_view abi_type(DType dtype) {
  constexpr std::array<std::string_view, dtype_count> names = {"STITCH_F64",  "STITCH_F32", "STITCH_F16",
                                                               "STITCH_BF16", "STITCH_I64", "STITCH_I32",
                                                               "STITCH_I8",   "STITCH_U8",  "STITCH_BOOL"};
  return names[static_cast<size_t>(dtype)];
}

std::string cuda_includes(const std::set<DType>& dtypes) {
  std::string out;
  if (dtypes.contains(DType::bf16)) out += "#include <cuda_bf16.h>\n";
  if (dtypes.contains(DType::f16)) out += "#include <cuda_fp16.h>\n";
  return out.empty() ? out : out + "\n";
}

std::string shape_comment(const Shape& shape) { return "(" + join(shape, ", ") + ")"; }

std::string identifier(std::string_view text) {
  std::string out;
  for (char c : text) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "v" + out;
  // Names with two underscores are reserved.
  for (size_t at; (at = out.find("__")) != std::string::npos;) out.erase(at, 1);
  if (out.size() > 1 && out.back() == '_') out.pop_back();
  if (out[0] == '_') out = "v" + out;
  return is_keyword(out) || reserved.contains(out) ? out + "_value" : out;
}

bool is_keyword(std::string_view word) { return keywords.contains(word); }

std::string Names::unique(std::string_view wanted) {
  const std::string base = identifier(wanted);
  if (taken_.insert(base).second) return base;
  auto numbered = [&](int64_t suffix) { return format("{}_{}", base, suffix); };
  // Unrolled steps need the same name thousands of times: binary search for the first free suffix.
  constexpr int64_t few = 8;
  int64_t taken = 1, free = 2;
  while (taken_.contains(numbered(free))) {
    taken = free;
    free = free < few ? free + 1 : 2 * free;
  }
  while (free - taken > 1) {
    const int64_t middle = (taken + free) / 2;
    (taken_.contains(numbered(middle)) ? taken : free) = middle;
  }
  return *taken_.insert(numbered(free)).first;
}

namespace {

// Of its last line.
size_t width_of(const std::string& code) { return code.size() - (code.rfind('\n') + 1); }

}  // namespace

void Lines::add(std::string code, std::string comment) {
  lines_.push_back({std::move(code), std::move(comment)});
}

size_t Lines::code_width() const {
  size_t widest = 0;
  for (const Line& line : lines_)
    if (!line.comment.empty()) widest = std::max(widest, width_of(line.code));
  return widest;
}

size_t Lines::widest() const {
  size_t most = 0;
  for (const Line& line : lines_)
    most =
        std::max(most, line.comment.empty() ? width_of(line.code) : code_width() + 5 + line.comment.size());
  return most;
}

std::string Lines::text() const {
  const size_t widest = code_width();
  std::string out;
  for (const Line& line : lines_) {
    out += line.code;
    const size_t width = width_of(line.code);
    if (!line.comment.empty()) out += std::string(widest - width + 2, ' ') + "// " + line.comment;
    out += '\n';
  }
  return out;
}

}  // namespace stitch::code
