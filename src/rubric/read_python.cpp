// What a forward pass in Python does: PyTorch's operators, kernels of Triton, functions of C++ and whether
// their results are used.
#include <algorithm>
#include <map>
#include <utility>

#include "rubric/features.h"
#include "rubric/units.h"

namespace stitch::rubric {

namespace {

class PythonReader {
 public:
  PythonReader(const Units& units, const Unit& unit, CodeFacts& facts, PythonCalls& calls)
      : units_(units), unit_(unit), tokens_(unit.lexed.tokens), facts_(facts), calls_(calls) {
    for (const Function& function : unit_.outline.functions) functions_.emplace(function.name, &function);
    for (const PythonClass& each : unit_.outline.classes) class_names_.insert(each.name);
    for (size_t i = 0; i < tokens_.size(); ++i)
      if (at(i).is("from") && at(i + 1).is("torch"))
        for (; i < tokens_.size() && at(i).kind != Token::newline; ++i) imported_.insert(at(i).text);
  }

  void run() {
    const PythonClass* entry = nullptr;
    for (const PythonClass& each : unit_.outline.classes)
      if (each.name == "ModelNew") entry = &each;
    if (entry) facts_.interface = "ModelNew";
    if (!entry && !unit_.outline.classes.empty()) entry = &unit_.outline.classes.back();
    if (!entry) return;
    calls_.any_forward = true;
    reach_class(entry->name);
    for (size_t i = 0; i < reached_.size(); ++i) follow(*reached_[i]);  // grows
    for (const Function* function : reached_) read(*function);
    triton();
  }

 private:
  const Token& at(size_t i) const {
    static const Token none{Token::punctuation};
    return i < tokens_.size() ? tokens_[i] : none;
  }

  void reach(const Function& function) {
    constexpr size_t most_functions = 1000;
    if (reached_.size() < most_functions && is_reached_.insert(&function).second)
      reached_.push_back(&function);
  }
  void reach_class(std::string_view name) {
    if (!classes_.insert(name).second) return;
    for (const Function& function : unit_.outline.functions) {
      if (function.owner != name) continue;
      if (function.name == "forward" || function.name == "__call__") reach(function);
      if (function.name == "__init__") read_layers(function);
    }
  }

  // self.fc = nn.Linear(…), self.block = Block(…)
  void read_layers(const Function& init) {
    for (size_t i = init.begin; i + 3 < init.end; ++i) {
      if (!at(i).is("self") || !at(i + 1).is(".") || !at(i + 3).is("=")) continue;
      std::vector<std::string_view>& layers = layers_[at(i + 2).text];
      for (size_t j = i + 4; j < init.end && at(j).kind != Token::newline; ++j) {
        if (at(j).kind != Token::word) continue;
        const bool of_nn = at(j - 1).is(".") && at(j - 2).is("nn", "modules");
        if (of_nn && at(j + 1).is("(")) layers.push_back(at(j).text);
        for (const PythonClass& each : unit_.outline.classes)
          if (each.name == at(j).text) layers.push_back(at(j).text);
      }
    }
  }

  bool is_class(std::string_view name) const { return class_names_.contains(name); }

  void follow(const Function& function) {
    for (size_t i = function.begin; i < function.end; ++i) {
      if (at(i).kind != Token::word) continue;
      auto [first, last] = functions_.equal_range(at(i).text);
      for (; first != last && at(i + 1).is("("); ++first)
        if (!first->second->kernel && first->first != "forward" && first->first != "__init__")
          reach(*first->second);
      if (is_class(at(i).text)) reach_class(at(i).text);
      if (at(i).is("self") && at(i + 1).is("."))
        if (auto layer = layers_.find(at(i + 2).text); layer != layers_.end())
          for (std::string_view each : std::vector(layer->second))
            if (is_class(each)) reach_class(each);
    }
  }

  void add(const TorchRow& row, std::string_view name, uint32_t line, bool in_loop) {
    TorchCall call{.name = std::string(name),
                   .every = row.every,
                   .heavy = row.heavy,
                   .in_loop = in_loop,
                   .place = unit_.place(line)};
    call.operators = operator_names(row.operators);
    facts_.torch.push_back(std::move(call));
  }

  void read(const Function& function) {
    tensors_.clear();
    for (const Parameter& parameter : function.parameters)
      if (parameter.name != "self") tensors_.insert(parameter.name);
    uint32_t indent = 0, loop_indent = ~0u;
    size_t statement = function.begin;
    for (size_t i = function.begin; i < function.end; ++i) {
      if (at(i).kind == Token::newline) {
        indent = at(i).indent;
        if (indent <= loop_indent) loop_indent = ~0u;
        statement = i + 1;
        if (at(statement).is("for", "while")) loop_indent = std::min(loop_indent, indent);
        continue;
      }
      const bool in_loop = loop_indent != ~0u && indent > loop_indent;
      word(function, i, statement, in_loop || at(statement).is("for"));
      arithmetic(i, in_loop);
    }
  }

  void word(const Function& function, size_t i, size_t statement, bool in_loop) {
    const Token& token = at(i);
    if (token.is("@") && i > statement) add(*find_torch("@"), "@", token.line, in_loop);
    if (token.kind != Token::word) return;
    const bool called = at(i + 1).is("(");
    if (called && units_.knows(token.text) && !at(i - 1).is("def")) {
      calls_.called.insert(token.text);
      if (is_used(function, i, statement)) calls_.effective.insert(token.text);
      return;
    }
    // kernel[grid](…) of Triton
    if (at(i + 1).is("["))
      for (auto [first, last] = functions_.equal_range(token.text); first != last; ++first)
        if (first->second->kernel) triton_launched_.insert(token.text);
    if (token.is("self") && at(i + 1).is(".")) {
      auto layer = layers_.find(at(i + 2).text);
      // self.fc.weight is a tensor; self.fc(x), self.layers[i](x) and `for layer in self.layers` compute.
      if (layer == layers_.end() || at(i + 3).is(".", "=")) return;
      for (std::string_view each : layer->second)
        if (const TorchRow* row = find_torch(each)) add(*row, each, token.line, in_loop);
      return;
    }
    if (!called || i == 0) return;
    const TorchRow* row = find_torch(token.text);
    if (!row || is_own_function(token.text)) return;
    const bool member = at(i - 1).is(".");
    const std::string_view base = member ? at(i - 2).text : std::string_view();
    const bool of_torch = base == "torch" || base == "F" || base == "functional" || base == "nn" ||
                          base == "aten" || base == "linalg" || base == "special";
    const bool of_other = base == "math" || base == "np" || base == "numpy" || base == "tl" || base == "os";
    if (of_torch || (member && !of_other && !is_common_method(token.text)) ||
        (member && !of_other && tensors_.contains(base)) || (!member && imported(token.text)))
      add(*row, token.text, token.line, in_loop);
  }

  bool is_own_function(std::string_view name) const { return functions_.contains(name); }

  // from torch.nn.functional import linear
  bool imported(std::string_view name) const { return imported_.contains(name); }

  // x + y, x * self.scale: operators on tensors. Sizes are no tensors.
  void arithmetic(size_t i, bool in_loop) {
    struct Row {
      std::string_view symbol, name;
    };
    static constexpr Row rows[] = {{"+", "add"},  {"-", "sub"},  {"*", "mul"},  {"/", "div"},
                                   {"+=", "add"}, {"-=", "sub"}, {"*=", "mul"}, {"/=", "div"}};
    if (at(i).is("=") && at(i - 1).kind == Token::word && makes_tensor(i + 1))
      tensors_.insert(at(i - 1).text);
    for (const Row& row : rows) {
      if (!at(i).is(row.symbol) || i == 0) continue;
      const bool left =
          at(i - 1).kind == Token::word && tensors_.contains(at(i - 1).text) && !at(i - 2).is(".");
      const bool right =
          tensors_.contains(at(i + 1).text) && !at(i + 2).is(".", "[") && at(i + 1).kind == Token::word;
      size_t open = at(i - 1).is(")") && i - 1 < unit_.match.size() ? unit_.match[i - 1] : 0;
      const bool call = open > 0 && open < i && at(open - 1).kind == Token::word &&
                        (units_.knows(at(open - 1).text) || find_torch(at(open - 1).text)) &&
                        !at(open - 1).is("size");
      if (left || right || call) add(*find_torch(row.name), row.symbol, at(i).line, in_loop);
    }
  }

  bool makes_tensor(size_t begin) const {
    for (size_t i = begin; i < std::min(begin + 200, tokens_.size()) && at(i).kind != Token::newline; ++i) {
      if (at(i).is("shape", "size", "numel", "dim", "len")) return false;
      if (at(i).kind == Token::word && at(i + 1).is("(") &&
          (units_.knows(at(i).text) || find_torch(at(i).text) ||
           at(i).is("empty", "empty_like", "contiguous")))
        return true;
      if (tensors_.contains(at(i).text)) return true;
    }
    return false;
  }

  static bool is_zero(const Token& token) {
    return token.kind == Token::number && token.text.find_first_not_of("0.") == std::string_view::npos;
  }

  // Is a call's result used? Not by an expression statement, `_ = …`, an unread name or `0 * …`.
  bool is_used(const Function& function, size_t i, size_t statement) const {
    size_t begin = i;
    while (begin > statement && (at(begin - 1).is(".") || at(begin - 1).kind == Token::word) &&
           !at(begin - 1).is("return"))
      --begin;
    if (begin == statement && !at(statement).is("return")) return false;
    if (begin > statement + 1 && at(begin - 1).is("*") && is_zero(at(begin - 2))) return false;
    const size_t close = i + 1 < unit_.match.size() ? unit_.match[i + 1] : tokens_.size();
    if (at(close + 1).is("*") && is_zero(at(close + 2))) return false;
    if (begin < 2 || !at(begin - 1).is("=") || at(begin - 2).kind != Token::word || begin - 2 != statement)
      return true;
    const std::string_view name = at(begin - 2).text;
    if (name == "_") return false;
    constexpr size_t look_ahead = 20'000;
    for (size_t j = close + 1; j < std::min(function.end, close + look_ahead); ++j) {
      if (at(j).text != name || at(j).kind != Token::word) continue;
      const bool times_zero =
          (at(j + 1).is("*") && is_zero(at(j + 2))) || (at(j - 1).is("*") && is_zero(at(j - 2)));
      const bool assigned = at(j + 1).is("=") && at(j - 1).kind == Token::newline;
      if (assigned && !mentions_on_line(j + 2, name)) return false;
      if (!times_zero && !at(j - 1).is("del")) return true;
    }
    return false;
  }
  bool mentions_on_line(size_t begin, std::string_view name) const {
    for (size_t i = begin; i < tokens_.size() && at(i).kind != Token::newline; ++i)
      if (at(i).text == name) return true;
    return false;
  }

  void triton() {
    for (const Function& function : unit_.outline.functions) {
      if (!function.kernel) continue;
      KernelFacts kernel{.name = std::string(function.name), .place = unit_.place(function.line)};
      kernel.work = Work::pointwise;
      kernel.features.add(Feature::vector_access);
      for (size_t i = function.begin; i < function.end; ++i) {
        const bool of_tl = at(i).is("tl") && at(i + 1).is(".");
        kernel.hash = kernel.hash * 1099511628211u + std::hash<std::string_view>()(at(i).text);
        kernel.arithmetic += at(i).is("+", "*", "-", "/");
        if (!of_tl) continue;
        const Token& what = at(i + 2);
        if (what.is("dot")) {
          kernel.work = Work::product;
          for (Feature feature : {Feature::tensor_cores, Feature::tiling, Feature::shared_memory})
            kernel.features.add(feature);
        }
        if (what.is("sum", "max", "reduce") && kernel.work != Work::product) {
          kernel.work = Work::reduction;
          kernel.features.add(Feature::block_reduction);
        }
        kernel.functions += what.is("exp", "log", "sigmoid", "sqrt");
      }
      kernel.launched = triton_launched_.contains(function.name);
      if (!kernel.launched) kernel.idle = "it is never launched in a call";
      kernel.used = kernel.launched;
      facts_.launches += kernel.launched;
      if (kernel.at_work()) facts_.features |= kernel.features;
      facts_.kernels.push_back(std::move(kernel));
    }
  }

  const Units& units_;
  const Unit& unit_;
  const std::vector<Token>& tokens_;
  CodeFacts& facts_;
  PythonCalls& calls_;
  std::vector<const Function*> reached_;
  std::set<const Function*> is_reached_;
  std::unordered_multimap<std::string_view, const Function*> functions_;
  std::set<std::string_view> classes_, class_names_, imported_, tensors_, triton_launched_;
  std::map<std::string_view, std::vector<std::string_view>> layers_;
};

}  // namespace

PythonCalls read_python(const Units& units, CodeFacts& facts) {
  PythonCalls calls;
  for (const auto& unit : units.python) PythonReader(units, *unit, facts, calls).run();
  return calls;
}

}  // namespace stitch::rubric
