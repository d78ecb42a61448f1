// A candidate's files taken apart: shared by the scans for kernels, host code, Python and signs.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "rubric/code_facts.h"
#include "rubric/functions.h"

namespace stitch::rubric {

// A file, or a string of CUDA in a Python file.
struct Unit {
  std::string path;
  bool own = true;
  uint32_t first_line = 1;
  Lexed lexed;
  std::vector<size_t> match;
  std::vector<Function> functions;        // of CUDA
  PythonOutline outline;                  // of Python
  std::vector<std::vector<size_t>> dead;  // CUDA, by function: what does nothing, as dead_ranges() has it

  Place place(uint32_t line) const { return {path, first_line + line - 1}; }
};

struct FunctionAt {
  const Unit* unit = nullptr;
  const Function* function = nullptr;
  size_t number = 0;  // in its unit
};

struct Units {
  std::vector<std::unique_ptr<Unit>> cuda, python;
  std::unordered_multimap<std::string_view, FunctionAt> by_name;  // CUDA
  // Names under which Python knows functions of C++: m.def("forward", &softmax_forward).
  std::unordered_multimap<std::string_view, std::string_view> exported;

  bool knows(std::string_view name) const { return by_name.contains(name) || exported.contains(name); }
  // Tokens of a function's body that a call can reach.
  static bool is_dead(const FunctionAt& at, size_t token);
};

// Of a function's body: begin, end, begin, end …
std::vector<size_t> dead_ranges(const Unit& unit, const Function& function);

Units take_apart(const std::vector<Source>& sources);

// Python's part of the facts; which functions of C++ a forward pass calls, and those whose results it uses.
struct PythonCalls {
  std::set<std::string_view> called, effective;
  bool any_forward = false;
};
PythonCalls read_python(const Units& units, CodeFacts& facts);
void read_cuda(const Units& units, const PythonCalls& python, CodeFacts& facts);
void find_signs(const Units& units, CodeFacts& facts);

}  // namespace stitch::rubric
