#include "emulator/rewrite.h"

#include <algorithm>
#include <set>
#include <vector>

#include "emulator/tokens.h"

namespace stitch::emulated {

namespace {

class Rewriter : TokenView {
 public:
  Rewriter(std::string_view source, std::string_view file) : TokenView(source), file_(file) {}

  Result<std::string> run() {
    collect_kernels();
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (!tokens_[i].in_macro) track_scope(i);
      if (is_launch(i)) {
        STITCH_CHECK(rewrite_launch(i));
        i += 2;
      } else if (is(i, "(")) {
        if (!done_casts_.contains(i)) rewrite_c_cast(i, false);
      } else if (tokens_[i].kind == Token::word) {
        STITCH_CHECK(rewrite_word(i));
      }
    }
    return apply();
  }

 private:
  enum class ScopeKind { names, type, function, other };
  struct Scope {
    ScopeKind kind;
    bool device;  // code that only a GPU runs
  };
  struct Edit {
    size_t begin, end;
    std::string text;
  };

  Error refuse(size_t i, std::string message, std::string_view fix = refusal_fix) const {
    return at(std::string(file_) + ":" + std::to_string(tokens_[std::min(i, tokens_.size() - 1)].line),
              user_error("not-emulated", std::move(message), std::string(fix)));
  }

  void replace(size_t begin, size_t end, std::string with) {
    // Keep the line count: append the newlines of the replaced text.
    with.append(static_cast<size_t>(std::count(source_.begin() + static_cast<ptrdiff_t>(begin),
                                               source_.begin() + static_cast<ptrdiff_t>(end), '\n')),
                '\n');
    edits_.push_back({begin, end, std::move(with)});
  }
  void insert(size_t at, std::string with) { edits_.push_back({at, at, std::move(with)}); }

  std::string apply() {
    std::stable_sort(edits_.begin(), edits_.end(),
                     [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::string out;
    size_t done = 0;
    for (const Edit& edit : edits_) {
      out += source_.substr(done, edit.begin - done);
      out += edit.text;
      done = edit.end;
    }
    return out += source_.substr(done);
  }

  // --- where we are ---

  void collect_kernels() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (!is(i, "__global__")) continue;
      for (size_t k = i + 1; k < tokens_.size() && !is(k, ";") && !is(k, "{"); ++k) {
        if (is(k, "__launch_bounds__") || is(k, "__attribute__") || is(k, "__maxnreg__")) {
          k = behind_group(k + 1) - 1;
        } else if (is_word(k) && is(k + 1, "(")) {
          kernels_.insert(text(k));
          break;
        }
      }
    }
  }

  void track_scope(size_t i) {
    if (is(i, "{")) {
      scopes_.push_back(open_scope(i));
      statement_ = i + 1;
    } else if (is(i, "}")) {
      if (!scopes_.empty()) scopes_.pop_back();
      statement_ = i + 1;
    } else if (is(i, ";")) {
      statement_ = i + 1;
    }
  }
  bool in_function() const {
    return std::any_of(scopes_.begin(), scopes_.end(),
                       [](const Scope& s) { return s.kind == ScopeKind::function; });
  }
  bool on_device() const {
    return std::any_of(scopes_.begin(), scopes_.end(), [](const Scope& s) { return s.device; });
  }
  Scope open_scope(size_t brace) const {
    if (in_function()) return {ScopeKind::other, false};
    bool names = false, type = false, call = false, global = false, device = false, host = false;
    for (size_t i = statement_; i < brace; ++i) {
      if (tokens_[i].in_macro) continue;
      if (is(i, "template")) {
        i = behind_template(i + 1) - 1;
      } else if (is(i, "__launch_bounds__") || is(i, "__align__") || is(i, "alignas") ||
                 is(i, "__attribute__") || is(i, "__maxnreg__")) {
        if (is(i + 1, "(")) i = behind_group(i + 1) - 1;
      } else {
        names |=
            is(i, "namespace") || (is(i, "extern") && tokens_[i + 1].kind == Token::string && i + 2 == brace);
        type |= is(i, "struct") || is(i, "class") || is(i, "union");
        call |= is(i, "(");
        global |= is(i, "__global__");
        device |= is(i, "__device__");
        host |= is(i, "__host__");
      }
    }
    if (names) return {ScopeKind::names, false};
    if (call) return {ScopeKind::function, global || (device && !host)};
    return {type ? ScopeKind::type : ScopeKind::other, false};
  }

  // --- launches ---

  bool is_launch(size_t i) const {
    return is(i, "<") && is(i + 1, "<") && is(i + 2, "<") && adjacent(i, i + 1) && adjacent(i + 1, i + 2);
  }

  // The first token of the kernel's name that ends at i: a::b<T>, (pointer), table[k], object.member.
  size_t name_start(size_t i) const {
    for (;;) {
      if (is(i, ">")) {
        i = template_start(i);
        if (i == npos || i == 0) return npos;
        --i;
      } else if (is(i, "]") || is(i, ")")) {
        const bool index = is(i, "]");
        i = group_start(i);
        if (i == npos) return npos;
        if (i == 0 || (!index && !is_word(i - 1)) || is(i - 1, "return")) return i;
        --i;
        continue;
      }
      if (!is_word(i)) return npos;
      if (i > 0 && is(i - 1, "template")) --i;
      if (i >= 2 && is(i - 1, ":") && is(i - 2, ":")) {
        if (i < 3 || !(is_word(i - 3) || is(i - 3, ">")) || is(i - 3, "return") || is(i - 3, "else"))
          return i - 2;
        i -= 3;
      } else if (i >= 2 && is(i - 1, ".")) {
        i -= 2;
      } else if (i >= 3 && is(i - 1, ">") && is(i - 2, "-")) {
        i -= 3;
      } else {
        return i;
      }
    }
  }

  Result<void> rewrite_launch(size_t i) {
    if (!tokens_[i].in_macro && on_device())
      return refuse(i, "a launch inside a kernel (dynamic parallelism) is not emulated",
                    "launch from the host, or call a device function");
    const size_t start = i ? name_start(i - 1) : npos;
    if (start == npos)
      return refuse(i, "a launch (<<<) without a kernel's name before it", "write kernel<<<…>>>(…)");
    size_t end = i + 3;
    while (end < tokens_.size()) {
      if (is(end, "(") || is(end, "[") || is(end, "{")) {
        end = behind_group(end);
      } else if (is(end, ">") && is(end + 1, ">") && is(end + 2, ">") && is(end + 3, "(")) {
        break;
      } else if (is(end, ";")) {
        end = tokens_.size();
      } else {
        ++end;
      }
    }
    if (end >= tokens_.size())
      return refuse(i, "a launch (<<<) without >>>( behind it", "write kernel<<<grid, block>>>(…)");
    insert(tokens_[start].begin, "STITCH_KERNEL(");
    replace(tokens_[i].begin, tokens_[i + 2].end, ").on(");
    replace(tokens_[end].begin, tokens_[end + 2].end, ")");
    rewrite_nulls(end + 3);
    return {};
  }
  // NULL is a pointer; stored by value it would be a number.
  void rewrite_nulls(size_t open) {
    const size_t end = behind_group(open);
    for (size_t k = open + 1; k + 1 < end; ++k) {
      const bool alone = (is(k - 1, "(") || is(k - 1, ",")) && (is(k + 1, ")") || is(k + 1, ","));
      if (is(k, "NULL") && alone) replace(tokens_[k].begin, tokens_[k].end, "nullptr");
    }
  }

  // --- a kernel's address ---

  // (void*)kernel, (const void*)&kernel<T>: whenever the name is a kernel; `any_name` for the first argument
  // of cudaLaunchKernel, which may be a variable. True if rewritten.
  bool rewrite_c_cast(size_t i, bool any_name) {
    size_t k = i + 1;
    if (is(k, "const")) ++k;
    if (!is(k, "void") || !is(k + 1, "*") || !is(k + 2, ")")) return false;
    return wrap_pointer(i, k + 3, npos, any_name);
  }
  // Replaces tokens [cast, name) by the macro's opening, and closes it after the name.
  bool wrap_pointer(size_t cast, size_t name, size_t expected_end, bool any_name) {
    size_t k = name;
    if (is(k, "&")) ++k;
    size_t last = npos;
    for (;;) {
      if (is(k, ":") && is(k + 1, ":")) k += 2;
      if (!is_word(k)) return false;
      last = k++;
      k = is(k, "<") && !is_launch(k) ? behind_template(k) : k;
      if (!(is(k, ":") && is(k + 1, ":"))) break;
    }
    if (expected_end != npos && k != expected_end) return false;
    if (!any_name && (!kernels_.contains(text(last)) || is(k, "(") || is_launch(k))) return false;
    replace(tokens_[cast].begin, tokens_[name].begin, "STITCH_KERNEL_POINTER(");
    if (expected_end == npos) insert(tokens_[k - 1].end, ")");
    return true;
  }

  // --- words ---

  Result<void> rewrite_word(size_t i) {
    const std::string_view word = text(i);
    if (word == "asm" || word == "__asm__" || word == "__asm") return check_assembly(i);
    if (word == "extern") return rewrite_extern(i);
    if (word == "__shared__") rewrite_shared(i);
    if (file_shared_.contains(word) && i >= 2 && is(i - 1, "(") && is(i - 2, ">") && !is(i + 1, "[")) {
      const size_t arguments = template_start(i - 2);
      if (arguments != npos && arguments > 0 && is(arguments - 1, "reinterpret_cast"))
        insert(tokens_[i].begin, "+");  // converts it to a pointer
    }
    if (word == "__noinline__" && !(i >= 2 && is(i - 1, "(") && is(i - 2, "(")))
      replace(tokens_[i].begin, tokens_[i].end, "STITCH_NOINLINE");
    if (word == "reinterpret_cast" && is(i + 1, "<")) {
      size_t k = i + 2;
      if (is(k, "const")) ++k;
      if (is(k, "void") && is(k + 1, "*") && is(k + 2, ">") && is(k + 3, "("))
        wrap_pointer(i, k + 4, behind_group(k + 3) - 1, false);
    }
    if ((word == "cudaLaunchKernel" || word == "cudaLaunchCooperativeKernel") && is(i + 1, "(")) {
      if (is(i + 2, "(")) {
        if (rewrite_c_cast(i + 2, true)) done_casts_.insert(i + 2);
      } else if (!is(i + 2, "reinterpret_cast")) {
        wrap_pointer(i + 2, i + 2, npos, true);
      }
    }
    if ((word == "texture" || word == "surface") && !is(i + 1, "<")) return {};
    if (std::optional<std::string> why = refusal_of_word(word)) return refuse(i, *why);
    return {};
  }

  Result<void> check_assembly(size_t i) const {
    size_t k = i + 1;
    while (is(k, "volatile") || is(k, "__volatile__") || is(k, "goto") || is(k, "inline")) ++k;
    if (!is(k, "(")) return {};
    std::string assembly;
    for (size_t end = behind_group(k); k < end; ++k) {
      if (is(k, ":")) break;  // only the template, not the operands
      if (tokens_[k].kind == Token::string) assembly += text(k).substr(1, text(k).size() - 2);
    }
    if (assembly.empty()) return {};  // a compiler barrier
    return refuse(i, refusal_of_assembly(assembly));
  }

  void rewrite_shared(size_t i) {
    if (i < handled_) return;
    if (i > 0 && is(i - 1, "static")) replace(tokens_[i - 1].begin, tokens_[i - 1].end, "");
    if (is(i + 1, "alignas") && is(i + 2, "(")) {
      // nvcc accepts `__shared__ alignas(16) T x`; `static thread_local alignas(16)` is not C++.
      const size_t end = tokens_[behind_group(i + 2) - 1].end;
      insert(tokens_[i].begin,
             std::string(source_.substr(tokens_[i + 1].begin, end - tokens_[i + 1].begin)) + " ");
      replace(tokens_[i + 1].begin, end, "");
    }
    if (in_function() || tokens_[i].in_macro) freshen(i);
  }
  // Each variable of the declaration is filled anew in each block.
  void freshen(size_t i) {
    std::string fresh;
    size_t name = npos, k = i + 1;
    for (bool named = false; k < tokens_.size() && tokens_[k].in_macro == tokens_[i].in_macro;) {
      if (is(k, ",") || is(k, ";")) {
        if (name == npos) return;
        fresh += " STITCH_FRESH(" + std::string(text(name)) + ");";
        if (is(k, ";")) break;
        named = false;
        ++k;
      } else if (is(k, "[") || is(k, "(") || is(k, "{")) {
        named = named || is(k, "[");
        k = behind_group(k);
      } else if (is(k, "<") && behind_template(k) != k) {
        k = behind_template(k);
      } else {
        if (is_word(k) && !named) name = k;
        ++k;
      }
    }
    if (k < tokens_.size() && is(k, ";")) insert(tokens_[k].end, fresh);
  }

  Result<void> rewrite_extern(size_t i) {
    size_t end = i;
    bool shared = false;
    while (end < tokens_.size() && !is(end, ";") && !is(end, "{") && !is(end, "="))
      shared |= is(end++, "__shared__");
    if (!shared || !is(end, ";")) return {};
    std::string type;
    size_t name = npos, k = i + 1;
    for (; k < end && !is(k, "["); ++k) {
      if (is(k, "__shared__")) {
        continue;
      } else if (is(k, "__align__") || is(k, "alignas") || is(k, "__attribute__") ||
                 is(k, "__builtin_align__")) {
        k = behind_group(k + 1) - 1;
      } else if (is(k, ",")) {
        return refuse(k, "several names in one `extern __shared__` declaration are not emulated",
                      "declare one at a time");
      } else {
        if (is_word(k)) name = k;
        type += (type.empty() ? "" : " ") + std::string(text(k));
      }
    }
    if (name == npos) return {};
    type.resize(type.size() - text(name).size());  // the name came last
    while (!type.empty() && type.back() == ' ') type.pop_back();
    std::string shape;
    if (k < end) {
      const size_t rest = behind_group(k);
      for (size_t d = rest; d < end; ++d) shape += text(d);
    }
    handled_ = end;
    const std::string id(text(name));
    const std::string pointer = shape.empty() ? type + "*" : type + " (*)" + shape;
    const std::string declared = shape.empty() ? type + "* " + id : type + " (*" + id + ")" + shape;
    if (!tokens_[i].in_macro && !in_function()) {
      file_shared_.insert(text(name));
      replace(tokens_[i].begin, tokens_[end].end,
              "static const ::stitch_emulated::DynamicShared<" + type + shape + "> " + id + ";");
    } else {
      replace(tokens_[i].begin, tokens_[end].end,
              declared + " = static_cast<" + pointer + ">(::stitch_emulated::dynamic_shared());");
    }
    return {};
  }

  std::string_view file_;
  std::set<std::string_view> kernels_;
  std::set<std::string_view> file_shared_;  // dynamic shared memory declared outside functions
  std::set<size_t> done_casts_;             // rewritten as an argument of cudaLaunchKernel
  std::vector<Scope> scopes_;
  size_t statement_ = 0;
  size_t handled_ = 0;  // tokens before it have been replaced
  std::vector<Edit> edits_;
};

}  // namespace

Result<std::string> rewrite_launches(std::string_view source, std::string_view file_name) {
  return Rewriter(source, file_name).run();
}

}  // namespace stitch::emulated
