// Where functions begin and end, in CUDA by brackets, in Python by indentation.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "rubric/lexer.h"

namespace stitch::rubric {

// For each bracket its partner; for anything else, and for brackets without one, the number of tokens.
std::vector<size_t> matching_brackets(const std::vector<Token>& tokens);

struct Parameter {
  std::string_view name;
  bool pointer = false;   // or an array
  bool constant = false;  // const
};

struct Function {
  std::string_view name;
  std::string_view owner;               // Python: the class that it is a method of
  bool kernel = false, device = false;  // __global__, @triton.jit; __device__
  bool bounded = false;                 // __launch_bounds__
  uint32_t line = 0;
  size_t begin = 0, end = 0;  // of the body's tokens
  std::vector<Parameter> parameters;
};

std::vector<Function> cuda_functions(const std::vector<Token>& tokens, const std::vector<size_t>& match);

struct PythonClass {
  std::string_view name;
  std::vector<std::string_view> bases;
  size_t begin = 0, end = 0;
  uint32_t line = 0;
};
struct PythonOutline {
  std::vector<Function> functions;
  std::vector<PythonClass> classes;
};
PythonOutline python_outline(const std::vector<Token>& tokens);

// A list's pieces between `begin` and `end`, at commas that no bracket encloses: begin and end of each.
std::vector<std::pair<size_t, size_t>> arguments(const std::vector<Token>& tokens,
                                                 const std::vector<size_t>& match, size_t begin, size_t end);

}  // namespace stitch::rubric
