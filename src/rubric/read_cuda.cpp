// Kernels, who launches them from where a call reaches, what becomes of their results, and libraries' calls.
#include <algorithm>
#include <deque>
#include <utility>

#include "rubric/features.h"
#include "rubric/units.h"

namespace stitch::rubric {

namespace {

constexpr size_t most_kernels = 4096;    // that are looked at
constexpr size_t most_called = 512;      // device functions behind one kernel
constexpr size_t most_use_checks = 256;  // tokens of an argument

bool is_launch_call(std::string_view word) {
  return is_one_of(
      word, {"cudaLaunchKernel", "cudaLaunchKernelEx", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel",
             "cuLaunchKernel", "cuLaunchKernelEx", "launch", "cudaGraphAddKernelNode"});
}

bool is_cast(std::string_view word) {
  return is_one_of(word, {"reinterpret_cast", "static_cast",   "const_cast", "const",    "float",
                          "double",           "half",          "__half",     "void",     "int",
                          "int64_t",          "__nv_bfloat16", "at",         "torch",    "c10",
                          "unsigned",         "char",          "float4",     "float2",   "scalar_t",
                          "stitch",           "data",          "Half",       "BFloat16", "std"});
}

class Reader {
 public:
  Reader(const Units& units, const PythonCalls& python, CodeFacts& facts)
      : units_(units), python_(python), facts_(facts) {
    for (const auto& unit : units_.cuda)
      for (const auto& [macro, tokens] : unit->lexed.macros) macros_.emplace(macro, &tokens);
  }

  void run() {
    find_kernels();
    find_roots();
    for (const auto& [at, effective] : reached_) read_host(at, effective);
    for (const auto& unit : units_.cuda)
      if (unit->own)
        for (const Token& token : unit->lexed.tokens)
          if (token.is("GraphCache") || token.text.starts_with("CUBLASLT_EPILOGUE_"))
            add_features(token, facts_.features);
    for (size_t k = 0; k < kernels_.size(); ++k) conclude(k);
    for (LibraryCall& call : facts_.libraries)
      call.fused |= call.library == "cuBLASLt" && facts_.features.has(Feature::fused_epilogue);
  }

 private:
  struct KernelAt {
    FunctionAt at;
    KernelFacts facts;
    BodyFacts body;
    bool seen = false, direct_use = false, unused_local = false, discarded = true;
  };

  const BodyFacts& direct(const FunctionAt& at) {
    auto [found, added] = bodies_.try_emplace(at.function);
    if (!added) return found->second;
    found->second = scan_body(at.unit->lexed.tokens, at.unit->match, *at.function, at.unit->dead[at.number]);
    const std::vector<Token>& tokens = at.unit->lexed.tokens;
    for (size_t i = at.function->begin; i < std::min(at.function->end, tokens.size()); ++i)
      if (tokens[i].kind == Token::word && !Units::is_dead(at, i))
        if (auto macro = macros_.find(tokens[i].text); macro != macros_.end())
          for (const Token& token : *macro->second) add_features(token, found->second.features);
    return found->second;
  }

  // A kernel with the device functions that it calls.
  BodyFacts closure(const FunctionAt& kernel) {
    BodyFacts out = direct(kernel);
    std::deque<FunctionAt> queue = {kernel};
    std::set<const Function*> seen = {kernel.function};
    while (!queue.empty() && seen.size() < most_called) {
      const FunctionAt at = queue.front();
      queue.pop_front();
      const std::vector<Token>& tokens = at.unit->lexed.tokens;
      for (size_t i = at.function->begin; i < std::min(at.function->end, tokens.size()); ++i) {
        if (tokens[i].kind != Token::word || Units::is_dead(at, i)) continue;
        auto [first, last] = units_.by_name.equal_range(tokens[i].text);
        for (; first != last; ++first) {
          if (first->second.function->kernel || !seen.insert(first->second.function).second) continue;
          const std::vector<bool> writes = out.writes;
          const bool strided = out.strided;  // indices of others are not its own
          out |= direct(first->second);
          out.writes = writes;
          out.strided = strided;
          queue.push_back(first->second);
        }
      }
    }
    // Products and tiles that were found in several functions together.
    if (out.features.has(Feature::tensor_cores)) out.products = true;
    return out;
  }

  void find_kernels() {
    for (const auto& unit : units_.cuda)
      for (size_t f = 0; f < unit->functions.size() && kernels_.size() < most_kernels; ++f) {
        const Function& function = unit->functions[f];
        if (!function.kernel) continue;
        KernelAt kernel{.at = {unit.get(), &function, f}};
        kernel.facts.name = std::string(function.name);
        kernel.facts.place = unit->place(function.line);
        kernel.facts.own = unit->own;
        kernels_.push_back(std::move(kernel));
      }
    for (size_t k = 0; k < kernels_.size(); ++k) by_name_.emplace(kernels_[k].at.function->name, k);
  }

  void find_roots() {
    std::vector<std::pair<FunctionAt, bool>> queue;
    auto add = [&](std::string_view name, bool effective) {
      auto [first, last] = units_.by_name.equal_range(name);
      for (; first != last; ++first)
        if (!first->second.function->kernel) queue.emplace_back(first->second, effective);
    };
    if (facts_.python && python_.any_forward) {
      for (std::string_view name : python_.called) {
        const bool effective = python_.effective.contains(name);
        add(name, effective);
        auto [first, last] = units_.exported.equal_range(name);
        for (; first != last; ++first) add(first->second, effective);
      }
    } else {
      for (std::string_view name : {"stitch_run", "stitch_create", "run", "create", "enqueue"})
        add(name, true);
      if (queue.empty())
        for (const auto& unit : units_.cuda)
          for (size_t f = 0; f < unit->functions.size(); ++f)
            if (!unit->functions[f].kernel && !unit->functions[f].device)
              queue.emplace_back(FunctionAt{unit.get(), &unit->functions[f], f}, true);
    }
    // Twice: what an effective call reaches is effective.
    for (bool effective : {true, false}) {
      std::deque<FunctionAt> waiting;
      for (const auto& [at, good] : queue)
        if ((good || writes_parameters(at)) == effective) waiting.push_back(at);
      while (!waiting.empty()) {
        const FunctionAt at = waiting.front();
        waiting.pop_front();
        if (!is_reached_.insert(at.function).second) continue;
        reached_.emplace_back(at, effective);
        const std::vector<Token>& tokens = at.unit->lexed.tokens;
        for (size_t i = at.function->begin; i < std::min(at.function->end, tokens.size()); ++i) {
          if (tokens[i].kind != Token::word || Units::is_dead(at, i)) continue;
          auto [first, last] = units_.by_name.equal_range(tokens[i].text);
          for (; first != last; ++first)
            if (!first->second.function->kernel && !is_reached_.contains(first->second.function))
              waiting.push_back(first->second);
        }
      }
    }
  }

  // Does a launch in it write to the caller's memory? Assumed if it calls other functions.
  bool writes_parameters(const FunctionAt& at) {
    const std::vector<Token>& tokens = at.unit->lexed.tokens;
    bool launches = false, writes = false;
    for (size_t i = at.function->begin; i < std::min(at.function->end, tokens.size()); ++i) {
      auto kernel = by_name_.find(tokens[i].text);
      if (kernel == by_name_.end()) continue;
      const size_t open = arguments_of_launch(at, i);
      if (open >= tokens.size()) continue;
      launches = true;
      for (std::string_view base : output_bases(at, kernels_[kernel->second], open))
        for (const Parameter& parameter : at.function->parameters) writes |= parameter.name == base;
    }
    return !launches || writes;
  }

  // From a kernel's name to the `(` of its launch's arguments.
  size_t arguments_of_launch(const FunctionAt& at, size_t i) const {
    const std::vector<Token>& tokens = at.unit->lexed.tokens;
    size_t j = i + 1;
    if (j < tokens.size() && tokens[j].is("<")) {
      int depth = 0;
      for (size_t steps = 0; j < tokens.size() && steps < 64; ++j, ++steps) {
        if (tokens[j].is("<")) ++depth;
        if (tokens[j].is(">") && --depth == 0) break;
      }
      ++j;
    }
    if (j >= tokens.size() || !tokens[j].is("<<<")) return tokens.size();
    while (j < tokens.size() && !tokens[j].is(">>>")) ++j;
    return j + 1 < tokens.size() && tokens[j + 1].is("(") ? j + 1 : tokens.size();
  }

  std::vector<std::string_view> output_bases(const FunctionAt& at, KernelAt& kernel, size_t open) {
    const std::vector<Token>& tokens = at.unit->lexed.tokens;
    const std::vector<bool>& writes = direct(kernel.at).writes;
    const std::vector<Parameter>& parameters = kernel.at.function->parameters;
    const bool known = std::ranges::find(writes, true) != writes.end();
    std::vector<std::string_view> out;
    auto given = arguments(tokens, at.unit->match, open + 1, std::min(at.unit->match[open], tokens.size()));
    for (size_t a = 0; a < given.size() && a < parameters.size(); ++a) {
      const bool output = known ? writes[a] : parameters[a].pointer && !parameters[a].constant;
      if (!output) continue;
      for (size_t i = given[a].first; i < std::min(given[a].second, given[a].first + most_use_checks); ++i)
        if (tokens[i].kind == Token::word && !is_cast(tokens[i].text)) {
          out.push_back(tokens[i].text);
          break;
        }
    }
    return out;
  }

  // A local variable that is not read after the launch.
  bool is_unused_local(const FunctionAt& at, std::string_view base, size_t behind) const {
    const std::vector<Token>& tokens = at.unit->lexed.tokens;
    for (const Parameter& parameter : at.function->parameters)
      if (parameter.name == base) return false;
    bool declared = false;
    for (size_t i = at.function->begin + 1; i < std::min(behind, tokens.size()); ++i)
      declared |=
          tokens[i].text == base && tokens[i - 1].kind != Token::punctuation && !tokens[i - 1].is("return");
    for (size_t i = at.function->begin + 1; i < std::min(behind, tokens.size()); ++i)
      declared |= tokens[i].text == base && tokens[i - 1].is("*", "&") && i + 1 < tokens.size() &&
                  (tokens[i + 1].is("=", ";"));
    if (!declared || names_a_parameter(at, base, behind)) return false;
    for (size_t i = behind; i < std::min(at.function->end, tokens.size()); ++i) {
      if (tokens[i].text != base) continue;
      const bool freed = i >= 2 && tokens[i - 2].text.starts_with("cudaFree");
      if (!freed) return false;
    }
    return true;
  }

  // `float* y = static_cast<float*>(out[0].data)`: another name for the caller's memory.
  static bool names_a_parameter(const FunctionAt& at, std::string_view local, size_t behind) {
    const std::vector<Token>& tokens = at.unit->lexed.tokens;
    for (size_t i = at.function->begin + 1; i + 1 < std::min(behind, tokens.size()); ++i) {
      if (tokens[i].text != local || !tokens[i + 1].is("=")) continue;
      for (size_t k = i + 2; k < std::min(behind, tokens.size()) && !tokens[k].is(";"); ++k)
        for (const Parameter& parameter : at.function->parameters)
          if (parameter.name == tokens[k].text) return true;
    }
    return false;
  }

  // A whole decimal number; -1: anything else.
  static int64_t decimal(const Token& token) {
    constexpr size_t most_digits = 15;
    int64_t value = 0;
    if (token.kind != Token::number || token.text.size() > most_digits) return -1;
    for (char c : token.text) {
      if (c < '0' || c > '9') return -1;
      value = value * 10 + (c - '0');
    }
    return value;
  }

  // Of <<<grid, block, …>>>, or of {grid, block} behind the kernel's name in a call that launches it.
  void note_geometry(const FunctionAt& at, KernelAt& kernel, size_t name_at, size_t open) {
    const std::vector<Token>& tokens = at.unit->lexed.tokens;
    size_t begin = name_at;
    if (open < tokens.size()) {
      while (begin < open && !tokens[begin].is("<<<")) ++begin;
    } else {
      while (begin < tokens.size() && !tokens[begin].is("{", ";")) ++begin;
      if (begin >= tokens.size() || tokens[begin].is(";") || at.unit->match[begin] >= tokens.size()) return;
      open = at.unit->match[begin] + 1;
    }
    auto parts = arguments(tokens, at.unit->match, begin + 1, open - 1);
    auto literal = [&](size_t part) -> int64_t {
      const bool one = part < parts.size() && parts[part].second - parts[part].first == 1;
      return one ? decimal(tokens[parts[part].first]) : -1;
    };
    const int64_t grid = literal(0), block = literal(1);
    kernel.facts.single_thread |= block >= 1 && block < 32;
    kernel.facts.single_block |= grid == 1;
    const FunctionAt& own = kernel.at;
    for (size_t i = own.function->begin; i < std::min(own.function->end, own.unit->lexed.tokens.size()); ++i)
      kernel.facts.loops_to = std::max(kernel.facts.loops_to, decimal(own.unit->lexed.tokens[i]));
  }

  void read_host(const FunctionAt& at, bool effective) {
    const std::vector<Token>& tokens = at.unit->lexed.tokens;
    const size_t end = std::min(at.function->end, tokens.size());
    bool launches = false;
    for (size_t i = at.function->begin; i < end; ++i) launches |= is_launch_call(tokens[i].text);
    for (size_t i = at.function->begin; i < end; ++i) {
      const Token& token = tokens[i];
      if (Units::is_dead(at, i)) continue;
      if (at.unit->own || token.is("cudaGraphLaunch")) note_feature(token);
      if (token.kind != Token::word) continue;
      note_library(at, i);
      if (at.unit->own) note_torch(at, i);
      if (at.unit->own && at.function->name != "create" && at.function->name != "stitch_create")
        note_hazard(at, i);
      auto [first, last] = by_name_.equal_range(token.text);
      for (; first != last; ++first) note_launch(at, i, kernels_[first->second], launches, effective);
    }
  }

  void note_feature(const Token& token) {
    Features found;
    add_features(token, found);
    for (Feature feature : {Feature::cuda_graph, Feature::streams, Feature::fused_epilogue})
      if (found.has(feature)) facts_.features.add(feature);
  }

  void note_launch(const FunctionAt& at, size_t i, KernelAt& kernel, bool launch_call, bool effective) {
    const size_t open = arguments_of_launch(at, i);
    const bool direct_launch = open < at.unit->lexed.tokens.size();
    if (!direct_launch && !launch_call) return;
    kernel.seen = true;
    kernel.discarded &= !effective;
    ++facts_.launches;
    if (!direct_launch) {
      note_geometry(at, kernel, i, open);
      kernel.direct_use = true;
      return;
    }
    note_geometry(at, kernel, i, open);
    const auto bases = output_bases(at, kernel, open);
    const size_t behind = std::min(at.unit->match[open], at.unit->lexed.tokens.size());
    const bool unused = !bases.empty() && std::ranges::all_of(bases, [&](std::string_view base) {
      return is_unused_local(at, base, behind);
    });
    (unused ? kernel.unused_local : kernel.direct_use) = true;
  }

  void note_library(const FunctionAt& at, size_t i) {
    const std::vector<Token>& tokens = at.unit->lexed.tokens;
    const LibraryRow* row = find_library(tokens[i].text);
    if (!row || i + 1 >= tokens.size()) return;
    if (!tokens[i + 1].is("(") && !(row->library == "CUTLASS" && tokens[i + 1].is("::"))) return;
    // A product's ways and descriptors are not the product.
    const std::string_view name = tokens[i].text;
    if (name.starts_with("cublasLtMatmul") && name != "cublasLtMatmul") return;
    LibraryCall call{.name = std::string(name),
                     .library = std::string(row->library),
                     .work = row->work,
                     .fused = row->fused,
                     .place = at.unit->place(tokens[i].line)};
    call.operators = operator_names(row->operators);
    ++facts_.launches;
    facts_.libraries.push_back(std::move(call));
  }

  // torch::matmul(…), at::conv2d(…), x.matmul(…) in C++.
  void note_torch(const FunctionAt& at, size_t i) {
    const std::vector<Token>& tokens = at.unit->lexed.tokens;
    if (i < 2 || i + 1 >= tokens.size() || !tokens[i + 1].is("(")) return;
    const bool qualified = tokens[i - 1].is("::") && tokens[i - 2].is("torch", "at", "functional", "aten");
    const bool method = facts_.python && tokens[i - 1].is(".") && !is_common_method(tokens[i].text);
    if (!qualified && !method) return;
    if (const TorchRow* row = find_torch(tokens[i].text); row && !units_.by_name.contains(tokens[i].text))
      add_torch(*row, tokens[i], at.unit->place(tokens[i].line));
  }

  void add_torch(const TorchRow& row, const Token& token, Place place) {
    TorchCall call{
        .name = std::string(token.text), .every = row.every, .heavy = row.heavy, .place = std::move(place)};
    call.operators = operator_names(row.operators);
    facts_.torch.push_back(std::move(call));
  }

  void note_hazard(const FunctionAt& at, size_t i) {
    struct Row {
      std::string_view word, name, what;
    };
    static constexpr Row rows[] = {
        {"cudaMalloc", "allocates_in_run", "allocates device memory in every call"},
        {"cudaFree", "frees_in_run", "frees device memory in every call"},
        {"cudaDeviceSynchronize", "waits_in_run", "waits for the device in every call"},
        {"cudaStreamSynchronize", "waits_in_run", "waits for the stream in every call"},
        {"cudaMemcpy", "copies_in_run", "copies and waits in every call"},
        {"printf", "prints", "prints while it runs"},
    };
    for (const Row& row : rows) {
      if (!at.unit->lexed.tokens[i].is(row.word)) continue;
      for (const Hazard& known : facts_.hazards)
        if (known.name == row.name) return;
      facts_.hazards.push_back(
          {std::string(row.name), std::string(row.what), at.unit->place(at.unit->lexed.tokens[i].line)});
    }
  }

  // Whether it calls an object that it was given, whose pointers are not its own.
  static bool hands_on(const FunctionAt& at) {
    const std::vector<Token>& tokens = at.unit->lexed.tokens;
    for (size_t i = at.function->begin; i + 1 < std::min(at.function->end, tokens.size()); ++i)
      if (tokens[i + 1].is("(") && std::ranges::any_of(at.function->parameters, [&](const auto& parameter) {
            return !parameter.pointer && parameter.name == tokens[i].text;
          }))
        return true;
    return false;
  }

  void conclude(size_t k) {
    KernelAt& kernel = kernels_[k];
    // Headers hold shared kernels: those never launched are not this program's.
    if (!kernel.seen && !kernel.at.unit->own) return;
    const BodyFacts body = closure(kernel.at);
    const std::vector<Token>& tokens = kernel.at.unit->lexed.tokens;
    KernelFacts& facts = kernel.facts;
    facts.features = body.features;
    facts.arithmetic = body.arithmetic;
    facts.functions = body.functions;
    facts.strided = body.strided;
    facts.doubles = body.doubles;
    facts.work = body.products         ? Work::product
                 : body.reduces        ? Work::reduction
                 : body.arithmetic > 0 ? Work::pointwise
                 : body.global_loads   ? Work::move
                 : hands_on(kernel.at) ? Work::pointwise
                                       : Work::constant;
    for (size_t i = kernel.at.function->begin; i < std::min(kernel.at.function->end, tokens.size()); ++i)
      facts.hash = facts.hash * 1099511628211u + std::hash<std::string_view>()(tokens[i].text);
    facts.launched = kernel.seen;
    if (!kernel.seen)
      facts.idle = "it is never launched in a call";
    else if (kernel.unused_local && !kernel.direct_use)
      facts.idle = "its output is never read";
    else if (kernel.discarded)
      facts.idle = "forward throws its result away";
    facts.used = facts.idle.empty();
    if (facts.at_work()) facts_.features |= facts.features;
    facts_.kernels.push_back(std::move(facts));
  }

  const Units& units_;
  const PythonCalls& python_;
  CodeFacts& facts_;
  std::vector<KernelAt> kernels_;
  std::unordered_multimap<std::string_view, size_t> by_name_;
  std::unordered_map<const Function*, BodyFacts> bodies_;
  std::unordered_map<std::string_view, const std::vector<Token>*> macros_;
  std::vector<std::pair<FunctionAt, bool>> reached_;
  std::set<const Function*> is_reached_;
};

}  // namespace

void read_cuda(const Units& units, const PythonCalls& python, CodeFacts& facts) {
  for (const auto& unit : units.cuda)
    for (const Function& function : unit->functions)
      if (function.name == "stitch_run" && facts.interface.empty()) facts.interface = "stitch_run";
  Reader(units, python, facts).run();
}

}  // namespace stitch::rubric
