// Signs of cheating in the text. The Verifier's gates decide what is a hack: this says what the text shows of
// it, for candidates that no gate has seen and for what gates can't see (PyTorch that does the work).
#include <algorithm>
#include <array>

#include "rubric/units.h"

namespace stitch::rubric {

namespace {

struct CallRow {
  std::string_view word, name, what;
  Severity severity;
};

// A call of, or in Python any mention of.
constexpr std::array python_words = {
    CallRow{"_getframe", "reads_the_stack", "reads its caller's frames", Severity::major},
    CallRow{"currentframe", "reads_the_stack", "reads its caller's frames", Severity::major},
    CallRow{"f_locals", "reads_the_stack", "reads its caller's variables", Severity::major},
    CallRow{"get_objects", "reads_the_stack", "searches the process for others' objects", Severity::major},
    CallRow{"__globals__", "changes_others", "reaches into other functions' globals", Severity::major},
    CallRow{"__code__", "changes_others", "replaces other functions' code", Severity::major},
    CallRow{"is_grad_enabled", "tells_phases_apart", "tells the phases of an evaluation apart",
            Severity::major},
    CallRow{"_make_subclass", "lazy_result", "returns a lazy tensor that computes when it is read",
            Severity::major},
    CallRow{"__torch_function__", "lazy_result", "returns a lazy tensor that computes when it is read",
            Severity::major},
    CallRow{"__torch_dispatch__", "lazy_result", "returns a lazy tensor that computes when it is read",
            Severity::major},
    CallRow{"Thread", "starts_threads", "starts threads", Severity::major},
    CallRow{"ThreadPoolExecutor", "starts_threads", "starts threads", Severity::major},
    CallRow{"subprocess", "starts_processes", "starts processes", Severity::major},
    CallRow{"set_float32_matmul_precision", "global_settings", "changes PyTorch's global settings",
            Severity::suspicious},
    CallRow{"allow_tf32", "global_settings", "changes PyTorch's global settings", Severity::suspicious},
    CallRow{"compile", "compiles_pytorch", "has PyTorch's compiler do the work", Severity::suspicious},
};

constexpr std::array cuda_calls = {
    CallRow{"dlsym", "foreign_code", "looks for code that was not verified", Severity::major},
    CallRow{"dlopen", "foreign_code", "loads code that was not verified", Severity::major},
    CallRow{"mprotect", "changes_others", "changes what memory may do", Severity::major},
    CallRow{"ptrace", "changes_others", "looks into other processes", Severity::major},
    CallRow{"process_vm_writev", "changes_others", "writes to other processes", Severity::major},
    CallRow{"process_vm_readv", "changes_others", "reads other processes", Severity::major},
    CallRow{"fork", "starts_processes", "starts processes", Severity::major},
    CallRow{"pthread_create", "starts_threads", "starts threads", Severity::major},
    CallRow{"cudaLaunchHostFunc", "host_callback", "runs host code behind the caller's back",
            Severity::suspicious},
    CallRow{"cuMemGetAddressRange", "walks_memory", "looks for others' memory on the device",
            Severity::major},
    CallRow{"cudaIpcOpenMemHandle", "walks_memory", "opens another process's memory", Severity::major},
};

constexpr std::array<std::string_view, 6> runtime_names = {"cudaEventElapsedTime",  "cudaEventRecord",
                                                           "cudaDeviceSynchronize", "cudaStreamSynchronize",
                                                           "clock_gettime",         "memcmp"};

class Signs {
 public:
  Signs(const Units& units, CodeFacts& facts) : units_(units), facts_(facts) {}

  void run() {
    for (const auto& unit : units_.python) python(*unit);
    for (const auto& unit : units_.cuda)
      if (unit->own) cuda(*unit);
    constants();
  }

 private:
  void add(std::string_view name, Severity severity, std::string_view what, const Unit& unit, uint32_t line) {
    if (std::ranges::find(facts_.signs, name, &Sign::name) != facts_.signs.end()) return;
    facts_.signs.push_back({std::string(name), severity, std::string(what), unit.place(line)});
  }

  void python(const Unit& unit) {
    const std::vector<Token>& tokens = unit.lexed.tokens;
    auto at = [&](size_t i) -> const Token& {
      static const Token none{Token::punctuation};
      return i < tokens.size() ? tokens[i] : none;
    };
    for (size_t i = 0; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      if (token.kind != Token::word) continue;
      for (const CallRow& row : python_words)
        if (token.is(row.word) && (!token.is("compile") || (i > 1 && at(i - 2).is("torch"))) &&
            (!token.is("allow_tf32") || at(i + 1).is("=")) && (!token.is("Thread") || at(i + 1).is("(")))
          add(row.name, row.severity, row.what, unit, token.line);
      // torch.cuda.synchronize = …, time.perf_counter = …
      const bool clock =
          token.is("synchronize", "elapsed_time", "perf_counter", "perf_counter_ns", "monotonic", "allclose");
      if (clock && i > 1 && at(i - 1).is(".") && at(i + 1).is("=") && !at(i - 2).is("self"))
        add("patches_the_clock", Severity::major, "replaces the evaluator's clock or comparison", unit,
            token.line);
      if (token.is("setattr") && at(i + 2).is("torch", "time"))
        add("patches_the_clock", Severity::major, "replaces functions of PyTorch", unit, token.line);
      if (token.is("getattr") && at(i + 2).is("torch", "F"))
        add("hidden_calls", Severity::suspicious, "calls PyTorch by names built at run time", unit,
            token.line);
      if (token.is("exec", "eval") && at(i + 1).is("(") && !at(i - 1).is("."))
        add("hidden_calls", Severity::suspicious, "runs code from strings", unit, token.line);
    }
    reference(unit);
    for (const Function& function : unit.outline.functions)
      if (function.name == "forward") forward(unit, function);
  }

  void reference(const Unit& unit) {
    const std::vector<Token>& tokens = unit.lexed.tokens;
    for (const PythonClass& each : unit.outline.classes)
      if (each.name == "ModelNew" && std::ranges::find(each.bases, "Model") != each.bases.end())
        for (size_t i = each.begin; i + 4 < each.end; ++i)
          if (tokens[i].is("super") && tokens[i + 1].is("(") && tokens[i + 4].is("forward"))
            add("calls_the_reference", Severity::major, "calls the reference's forward", unit,
                tokens[i].line);
    for (const PythonClass& each : unit.outline.classes) {
      if (each.name != "ModelNew") continue;
      bool forward = false;
      for (const Function& function : unit.outline.functions)
        forward |=
            function.owner == "ModelNew" && (function.name == "forward" || function.name == "__call__");
      if (!forward && std::ranges::find(each.bases, "Model") != each.bases.end())
        add("calls_the_reference", Severity::major, "inherits the reference's forward", unit, each.line);
      for (size_t i = each.begin; i + 1 < each.end; ++i)
        if (tokens[i].is("Model") && tokens[i + 1].is("("))
          add("calls_the_reference", Severity::major, "makes an instance of the reference", unit,
              tokens[i].line);
    }
  }

  void forward(const Unit& unit, const Function& function) {
    const std::vector<Token>& tokens = unit.lexed.tokens;
    std::set<std::string_view> kept;  // attributes that forward assigns
    bool looks_at_identity = false, tries = false, excepts = false;
    for (size_t i = function.begin; i + 3 < std::min(function.end, tokens.size()); ++i) {
      if (tokens[i].is("self") && tokens[i + 1].is(".")) {
        if (tokens[i + 3].is("=")) kept.insert(tokens[i + 2].text);
        if (tokens[i + 3].is("[")) {
          const size_t close = unit.match[i + 3];
          if (close + 1 < tokens.size() && tokens[close + 1].is("=")) kept.insert(tokens[i + 2].text);
        }
      }
      looks_at_identity |= tokens[i].is("data_ptr") && compared(tokens, i);
      looks_at_identity |= tokens[i].is("id") && tokens[i + 1].is("(") && !tokens[i - 1].is(".");
      looks_at_identity |= (tokens[i].is("equal", "_version")) && !kept.empty();
      tries |= tokens[i].is("try");
      excepts |= tokens[i].is("except");
    }
    for (size_t i = function.begin; i + 2 < std::min(function.end, tokens.size()); ++i) {
      if (!tokens[i].is("return") || !tokens[i + 1].is("self") || i + 3 >= tokens.size()) continue;
      if (!kept.contains(tokens[i + 3].text)) continue;
      if (looks_at_identity)
        add("remembers_results", Severity::major, "returns an earlier result for inputs that it has seen",
            unit, tokens[i].line);
      else
        add("keeps_results", Severity::suspicious, "keeps its result between calls", unit, tokens[i].line);
    }
    computes_once(unit, function);
    if (tries && excepts && !facts_.torch.empty())
      add("falls_back", Severity::suspicious, "falls back to PyTorch where its own code fails", unit,
          function.line);
  }

  // if self.y is None: self.y = compute(x)
  void computes_once(const Unit& unit, const Function& function) {
    const std::vector<Token>& tokens = unit.lexed.tokens;
    const size_t end = std::min(function.end, tokens.size());
    for (size_t i = function.begin; i + 6 < end; ++i) {
      if (!tokens[i].is("if")) continue;
      std::string_view kept;
      for (size_t j = i + 1; j + 1 < end && tokens[j].kind != Token::newline && !tokens[j].is(":"); ++j) {
        if (tokens[j].is("self") && tokens[j + 1].is(".") && j + 3 < end && tokens[j + 3].is("is"))
          kept = tokens[j + 2].text;
        if (tokens[j].is("hasattr") && j + 4 < end && tokens[j + 4].kind == Token::string)
          kept = inside(tokens[j + 4]);
      }
      if (kept.empty()) continue;
      constexpr size_t look_ahead = 200;
      for (size_t j = i; j + 4 < std::min(end, i + look_ahead); ++j) {
        if (!tokens[j].is("self") || tokens[j + 2].text != kept || !tokens[j + 3].is("=")) continue;
        // Weights may be prepared once, results of inputs may not.
        bool of_input = false, allocates = false;
        for (size_t k = j + 4; k < end && tokens[k].kind != Token::newline; ++k) {
          allocates |= tokens[k].text.starts_with("empty") || tokens[k].text.starts_with("zeros");
          of_input |= std::ranges::any_of(function.parameters, [&](const Parameter& each) {
            return each.name == tokens[k].text && each.name != "self" && !tokens[k + 1].is(".");
          });
        }
        if (of_input && !allocates)
          add("remembers_results", Severity::major,
              "computes in the first call and returns that result again", unit, tokens[j].line);
      }
    }
  }

  // x.data_ptr() == …, x.data_ptr() in …, key = (x.data_ptr(), …)
  static bool compared(const std::vector<Token>& tokens, size_t i) {
    for (size_t j = i; j < std::min(i + 12, tokens.size()) && tokens[j].kind != Token::newline; ++j)
      if (tokens[j].is("==", "in")) return true;
    for (size_t j = i; j > 0 && i - j < 10 && tokens[j].kind != Token::newline; --j)
      if (tokens[j].is("=", "==")) return true;
    return false;
  }

  void cuda(const Unit& unit) {
    const std::vector<Token>& tokens = unit.lexed.tokens;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      const Token& token = tokens[i];
      if (token.kind == Token::string && (token.text.find("/proc/") != std::string_view::npos ||
                                          token.text.find(".incbin") != std::string_view::npos))
        add("reads_the_machine", Severity::major, "reads files of the machine", unit, token.line);
      if (token.kind != Token::word) continue;
      if (tokens[i + 1].is("("))
        for (const CallRow& row : cuda_calls)
          if (token.is(row.word) && (i == 0 || (!tokens[i - 1].is(".", "->"))))
            add(row.name, row.severity, row.what, unit, token.line);
      if (token.is("thread") && i > 1 && tokens[i - 1].is("::") && tokens[i - 2].is("std"))
        add("starts_threads", Severity::major, "starts threads", unit, token.line);
      if (token.is("cudaAccessPropertyPersisting"))
        add("persists_in_l2", Severity::suspicious, "keeps data in the L2 cache between calls", unit,
            token.line);
      // static std::unordered_map<void*, torch::Tensor> results;
      if (token.is("unordered_map", "map") && tokens[i + 1].is("<"))
        for (size_t j = i + 2; j < std::min(i + 24, tokens.size()) && !tokens[j].is(";"); ++j)
          if (tokens[j].is("Tensor"))
            add("remembers_results", Severity::major, "keeps results by their inputs", unit, token.line);
      if (token.is("constructor") && i > 1 && tokens[i - 1].is("("))
        add("runs_when_loaded", Severity::suspicious, "runs code when it is loaded", unit, token.line);
    }
    for (const Function& function : unit.functions) {
      if (std::ranges::find(runtime_names, function.name) != runtime_names.end() && !function.kernel)
        add("replaces_the_runtime", Severity::major, "defines a function of the CUDA runtime", unit,
            function.line);
      if (!function.kernel && !function.device) host(unit, function);
    }
  }

  // static bool done; if (!done) { kernel<<<…>>>(…); done = true; }
  void host(const Unit& unit, const Function& function) {
    const std::vector<Token>& tokens = unit.lexed.tokens;
    const size_t end = std::min(function.end, tokens.size());
    std::set<std::string_view> statics;
    for (size_t i = function.begin; i + 3 < end; ++i) {
      if (tokens[i].is("static"))
        for (size_t j = i + 1; j < std::min(i + 8, end); ++j)
          if (tokens[j].is("=", ";", "{")) {
            statics.insert(tokens[j - 1].text);
            break;
          }
      if (!tokens[i].is("if") || !tokens[i + 1].is("(") || unit.match[i + 1] >= end) continue;
      const size_t close = unit.match[i + 1];
      bool of_static = false, compares = false;
      for (size_t j = i + 2; j < close; ++j) {
        of_static |= statics.contains(tokens[j].text);
        compares |= tokens[j].is("==");
      }
      if (!of_static) continue;
      size_t last = close + 1;
      if (tokens[last].is("{") && unit.match[last] < end)
        last = unit.match[last];
      else
        while (last < end && !tokens[last].is(";")) ++last;
      for (size_t j = close + 1; j < last; ++j) {
        if (tokens[j].is("<<<"))
          add("computes_once", Severity::major, "launches its kernel in the first call alone", unit,
              tokens[i].line);
        if (tokens[j].is("return") && compares)
          add("remembers_results", Severity::major, "returns early for inputs that it has seen", unit,
              tokens[i].line);
      }
    }
  }

  // return torch.zeros(…), and nothing else that computes.
  void fills() {
    for (const auto& unit : units_.python)
      for (const Function& function : unit->outline.functions) {
        if (function.name != "forward" || function.owner != "ModelNew") continue;
        for (size_t i = function.begin; i < std::min(function.end, unit->lexed.tokens.size()); ++i)
          for (std::string_view fill : {"zeros", "ones", "full", "empty", "zeros_like", "ones_like",
                                        "empty_like", "full_like", "new_zeros", "new_empty"})
            if (unit->lexed.tokens[i].is(fill))
              add("constant_output", Severity::major, "returns a tensor that nothing computed", *unit,
                  unit->lexed.tokens[i].line);
      }
  }

  // Everything that runs writes constants, and PyTorch computes nothing.
  void constants() {
    if (!facts_.torch.empty() || !facts_.libraries.empty()) return;
    if (facts_.python && facts_.launches == 0) fills();
    const KernelFacts* constant = nullptr;
    for (const KernelFacts& kernel : facts_.kernels) {
      if (!kernel.at_work()) continue;
      if (kernel.work != Work::constant) return;
      constant = &kernel;
    }
    if (constant)
      facts_.signs.push_back({"constant_output", Severity::major,
                              "writes results that don't depend on any input", constant->place});
  }

  const Units& units_;
  CodeFacts& facts_;
};

}  // namespace

void find_signs(const Units& units, CodeFacts& facts) { Signs(units, facts).run(); }

}  // namespace stitch::rubric
