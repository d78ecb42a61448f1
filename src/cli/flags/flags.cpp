#include "cli/flags/flags.h"

#include <CLI/CLI.hpp>

namespace stitch {

Flag& Flag::required(bool yes) {
  option_->required(yes);
  return *this;
}

template <class T>
Flag& Flag::between(T least, T most) {
  option_->check(CLI::Range(least, most));
  return *this;
}
template Flag& Flag::between(int, int);
template Flag& Flag::between(int64_t, int64_t);
template Flag& Flag::between(double, double);

Flag& Flag::positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Flag& Flag::not_negative() {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

Flag& Flag::one_of(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

Flag& Flag::excludes(const Flag& other) {
  option_->excludes(other.option_);
  return *this;
}

Flag& Flag::replaces(Flag other) {
  option_->excludes(other.option_)->each([other](const std::string&) mutable { other.required(false); });
  return *this;
}

Flags::Flags(CLI::App& app, const std::string& command, const std::string& about)
    : command_(*app.add_subcommand(command, about)) {}

Flag Flags::added(CLI::Option* option, const char* type) {
  if (type) option->type_name(type);
  if (!group_.empty()) option->group(group_);
  return Flag(*option);
}

template <class T>
Flag Flags::operator()(const char* name, T& value, const char* type, const char* about) {
  return added(command_.add_option(name, value, about), type);
}

template <class T>
Flag Flags::operator()(const char* name, T& value, const char* about) {
  if constexpr (std::is_same_v<T, bool>)
    return added(command_.add_flag(name, value, about), nullptr);
  else
    return added(command_.add_option(name, value, about), nullptr);
}

template Flag Flags::operator()(const char*, std::string&, const char*, const char*);
template Flag Flags::operator()(const char*, std::vector<std::string>&, const char*, const char*);
template Flag Flags::operator()(const char*, int&, const char*, const char*);
template Flag Flags::operator()(const char*, int64_t&, const char*, const char*);
template Flag Flags::operator()(const char*, uint64_t&, const char*, const char*);
template Flag Flags::operator()(const char*, double&, const char*, const char*);
template Flag Flags::operator()(const char*, std::vector<double>&, const char*, const char*);
template Flag Flags::operator()(const char*, bool&, const char*);
template Flag Flags::operator()(const char*, std::string&, const char*);
template Flag Flags::operator()(const char*, std::vector<std::string>&, const char*);

void Flags::examples(const std::string& lines) { command_.footer(lines); }

void Flags::numerics(std::string& value) {
  (*this)("--numerics", value, "CLASS",
          "how much rounding error is allowed: strict, default, tf32 or half (default: default)");
}

void Flags::device(std::string& value) {
  (*this)("--device", value, "NAME", "cuda or emulated (default: cuda if there is a GPU)");
}

void Flags::gpu(std::string& value, const std::string& what) {
  (*this)("--gpu", value, "NAME", (what + " (default: this machine's GPU, else H200)").c_str());
}

void Flags::model_class(std::string& value, const std::string& what) {
  (*this)("--class", value, "NAME", (what + ", instead of Model").c_str());
}

void Flags::python(std::string& value, const char* about) { (*this)("--python", value, "PATH", about); }

void Flags::mode(Mode& value) {
  auto* eval = command_.add_flag_callback(
      "--eval", [&value] { value = Mode::eval; },
      "use eval mode: no dropout, batch norm with running statistics (default: as the file leaves the model, "
      "usually in training mode)");
  auto* train = command_.add_flag_callback(
      "--train", [&value] { value = Mode::train; }, "use training mode, even if the file calls eval()");
  eval->excludes(train);
}

void Flags::dynamic(std::vector<std::string>& value) {
  (*this)(
      "--dynamic", value, "SIZE",
      "a size that changes from call to call, NAME=INPUT:DIM,...=LEAST..MOST, as in batch=x:0,mask:0=1..64 "
      "(default: what the task's get_dynamic_shapes() says)");
}

void Flags::compatible(std::string& value) {
  (*this)("--compat", value, "NAME",
          "kernelbench: also pass its own evaluator, which needs TF32 exactly where PyTorch uses it");
}

void Flags::store(std::string& value) {
  (*this)("--store", value, "FILE",
          "the database of runs; none: runs are not recorded (default: $STITCHCUDA_STORE, else "
          "~/.local/share/stitchcuda/runs.db)");
}

void Flags::force(bool& value) {
  (*this)("--force", value,
          "overwrite existing output; files of yours are kept, edited ones saved as NAME.edited");
}

// Read before the parse (run_cli.cpp), so that its errors are JSON too.
void Flags::json() {
  command_.add_flag_callback(
      "--json", [] {}, "print one JSON document, errors included");
}

}  // namespace stitch
