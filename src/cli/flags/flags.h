// A command's flags: one call each, in the order of the help. CLI11 stays behind it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/mode.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace stitch {

class Flag {
 public:
  explicit Flag(CLI::Option& option) : option_(&option) {}
  Flag& required(bool yes = true);
  template <class T>
  Flag& between(T least, T most);  // both are allowed; int, int64_t, double
  Flag& positive();
  Flag& not_negative();
  Flag& one_of(const std::vector<std::string>& values);
  Flag& excludes(const Flag& other);
  // Where it is given, `other` is neither required nor allowed.
  Flag& replaces(Flag other);

 private:
  CLI::Option* option_;
};

class Flags {
 public:
  Flags(CLI::App& app, const std::string& command, const std::string& about);

  // "-o,--out" with `type`, the name of what follows it; "MODEL": an argument by its place; for a bool a
  // switch, of which "!--no-weights" makes false. What it may be set to: command_line.cpp.
  template <class T>
  Flag operator()(const char* name, T& value, const char* type, const char* about);
  template <class T>
  Flag operator()(const char* name, T& value, const char* about);
  void group(const char* title) { group_ = title; }  // of the flags from here on; empty: the first one
  void examples(const std::string& lines);

  // Flags that many commands have.
  void numerics(std::string& value);
  void device(std::string& value);
  void gpu(std::string& value, const std::string& what);  // "the GPU to plan for"
  void model_class(std::string& value, const std::string& what = "the class to import");
  void python(std::string& value, const char* about);
  void mode(Mode& value);                         // --eval, --train
  void dynamic(std::vector<std::string>& value);  // sizes that change from call to call
  void compatible(std::string& value);  // another evaluator that must accept the program; empty: none
  void store(std::string& value);
  void force(bool& value);
  void json();

 private:
  Flag added(CLI::Option* option, const char* type);

  CLI::App& command_;
  std::string group_;
};

}  // namespace stitch
