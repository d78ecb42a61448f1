// One pass over a kernel's body: loops, loads, stores, accumulations, and how threads walk through memory.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "rubric/features.h"

namespace stitch::rubric {

namespace {

const std::unordered_set<std::string_view>& math_functions() {
  static const std::unordered_set<std::string_view> all = {
      "expf",    "exp",     "__expf",    "exp2f", "logf",      "log",    "__logf",     "log1pf",
      "expm1f",  "tanhf",   "tanh",      "erff",  "erf",       "sqrtf",  "sqrt",       "rsqrtf",
      "rsqrt",   "powf",    "pow",       "sinf",  "cosf",      "fabsf",  "abs",        "fabs",
      "fmaxf",   "fminf",   "max",       "min",   "fmaf",      "fma",    "__fdividef", "floorf",
      "ceilf",   "roundf",  "sigmoid",   "relu",  "gelu",      "silu",   "log2f",      "hexp",
      "hmax",    "hadd",    "hmul",      "hfma",  "__hadd",    "__hmul", "__hfma",     "__hadd2",
      "__hmul2", "__hfma2", "__fmaf_rn", "isnan", "copysignf", "atanf",  "normcdff",   "erfcf"};
  return all;
}

bool is_index_type(std::string_view word) {
  return is_one_of(word, {"int", "unsigned", "size_t", "int64_t", "uint32_t", "int32_t", "uint64_t", "long",
                          "dim3", "constexpr", "short", "uint", "bool", "ptrdiff_t"});
}

bool is_operator(const Token& token) { return token.is("+", "-", "*", "/", "+=", "-=", "*=", "/="); }

bool is_literal(const Token& token, std::string_view digit) {
  if (token.kind != Token::number) return false;
  std::string_view text = token.text;
  while (!text.empty() && (text.back() == 'f' || text.back() == 'F' || text.back() == '0') && text.size() > 1)
    text.remove_suffix(1);
  if (text.ends_with('.')) text.remove_suffix(1);
  return text == digit;
}

// A tile's constant (TN, VEC_SIZE), not a dimension (K).
bool is_constant_name(std::string_view word) {
  return word.size() >= 2 && std::ranges::all_of(word, [](char c) {
           return (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
         });
}

class Body {
 public:
  Body(const std::vector<Token>& tokens, const std::vector<size_t>& match, const Function& function,
       const std::vector<size_t>& dead)
      : tokens_(tokens), match_(match), function_(function) {
    for (size_t i = 0; i + 1 < dead.size(); i += 2) dead_.emplace(dead[i], dead[i + 1]);
    out_.writes.assign(function.parameters.size(), false);
    for (const Parameter& parameter : function.parameters)
      if (parameter.pointer) pointers_.insert(parameter.name);
  }

  BodyFacts run() {
    if (function_.bounded) out_.features.add(Feature::launch_bounds);
    size_t statement = function_.begin;
    const size_t end = std::min(function_.end, tokens_.size());
    for (size_t i = function_.begin; i < end; ++i) {
      if (const auto dead = dead_.find(i); dead != dead_.end() && dead->second > i) {
        i = statement = dead->second;
        if (i >= end) break;
      }
      const Token& token = tokens_[i];
      add_features(token, out_.features);
      if (token.is("double")) out_.doubles = true;
      if (token.is("__shared__")) shared(i);
      if (token.is("__syncthreads", "__syncwarp")) synchronised_ |= token.is("__syncthreads");
      if (token.is("for", "while", "do")) loop(i);
      // float acc[8] = {}: part of a statement, not the end of one.
      if (token.is("{") && i > function_.begin && at(i - 1).is("=") && partner(i) < end) {
        i = partner(i);
        continue;
      }
      if (token.is(";", "{", "}")) {
        if (token.is(";") && !in_header(i)) read_statement(statement, i);
        if (!in_header(i)) statement = i + 1;
      }
    }
    conclude();
    return std::move(out_);
  }

 private:
  const Token& at(size_t i) const {
    static const Token none{};
    return i < tokens_.size() ? tokens_[i] : none;
  }
  size_t partner(size_t i) const { return i < match_.size() ? match_[i] : tokens_.size(); }
  // Of a parameter x, not of threadIdx.x.
  bool is_member(size_t i) const { return i > 0 && at(i - 1).is("."); }
  bool is_pointer(size_t i) const { return pointers_.contains(at(i).text) && !is_member(i); }
  bool in_header(size_t i) const { return i < header_end_; }
  bool in_loop(size_t i) const { return i < loop_end_; }

  // extern __shared__ float tile[]; __shared__ float tile[2][32][33];
  void shared(size_t i) {
    for (size_t j = i + 1; j < std::min(i + 12, tokens_.size()); ++j) {
      if (at(j).is(";")) return;
      if (!at(j).is("[")) continue;
      shared_.insert(at(j - 1).text);
      const size_t close = partner(j);
      std::string_view size = at(j + 1).text;
      const bool stages = size == "2" || size == "3" || size == "4" ||
                          size.find("tage") != std::string_view::npos ||
                          size.find("TAGE") != std::string_view::npos;
      if (close < tokens_.size() && at(close + 1).is("[") && close == j + 2 && stages)
        out_.features.add(Feature::double_buffering);
      return;
    }
  }

  void loop(size_t i) {
    ++loops_;
    size_t after = i + 1;
    if (at(i + 1).is("(") && partner(i + 1) < tokens_.size()) {
      header_end_ = std::max(header_end_, partner(i + 1));
      for (size_t j = i + 2; j < partner(i + 1); ++j)
        halving_ |=
            at(j).is(">>=") || (at(j).is("/=") && at(j + 1).is("2")) || (at(j).is("*=") && at(j + 1).is("2"));
      after = partner(i + 1) + 1;
    }
    size_t end = after;
    if (at(after).is("{"))
      end = std::min(partner(after), tokens_.size());
    else
      while (end < tokens_.size() && !at(end).is(";")) ++end;
    const bool outermost = !in_loop(i);
    loop_end_ = std::max(loop_end_, end + 1);
    if (!outermost) return;
    for (size_t j = after; j < end; ++j) {
      const std::string_view word = at(j).text;
      if (word == "__syncthreads" || word.starts_with("cp_async_wait") || word == "arrive_and_wait" ||
          word == "consumer_wait" || word == "__pipeline_wait_prior")
        loop_with_barrier_ = true;
    }
  }

  // A value as it was loaded: x[i], __ldg(&x[i]), static_cast<float>(x[i]), reinterpret_cast<…>(x)[i].
  bool is_load(size_t begin, size_t end) const {
    if (begin >= end) return false;
    bool brackets = false;
    for (size_t i = begin; i < end; ++i) {
      if (at(i).is("[")) {
        brackets = true;
        i = std::min(partner(i), end);
      } else if (at(i).is("<", ">", "(", ")", "::", "&", ".", "->")) {
        continue;
      } else if (at(i).is("*") && i == begin && at(i + 1).is("(") && partner(i + 1) < end) {
        brackets = true;  // *(x + i)
        i = partner(i + 1);
      } else if (at(i).is("*")) {
        if (i > begin && !at(i - 1).is("(") && at(i - 1).kind == Token::word && !at(i + 1).is(">", ")"))
          return false;
        brackets |= i == begin;
      } else if (at(i).is("?", ":")) {
        return brackets;  // a guarded load: i < n ? x[i] : 0
      } else if (at(i).kind == Token::punctuation) {
        return false;
      }
    }
    return brackets;
  }

  bool is_loaded_operand(size_t begin, size_t end) const {
    if (end <= begin || at(begin).is("(")) return false;
    if (is_load(begin, end)) return true;
    return at(begin).kind == Token::word && loaded_.contains(at(begin).text) &&
           (end == begin + 1 || at(begin + 1).is("."));
  }

  // a * b with two different values, both loaded: the heart of a product.
  bool multiplies_loads(size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i) {
      if (at(i).is("[", "(")) {
        if (i > begin && at(i).is("(") && at(i - 1).is("fmaf", "fma", "__fmaf_rn", "__hfma", "__hfma2")) {
          auto parts = rubric::arguments(tokens_, match_, i + 1, std::min(partner(i), end));
          if (parts.size() == 3 && different(parts[0], parts[1]) &&
              is_loaded_operand(parts[0].first, parts[0].second) &&
              is_loaded_operand(parts[1].first, parts[1].second))
            return true;
        }
        if (partner(i) < end) i = partner(i);
        continue;
      }
      if (!at(i).is("*") || i == begin) continue;
      size_t left = i, right = i + 1;
      while (left > begin && !is_operator(at(left - 1))) {
        --left;
        if (at(left).is("]", ")") && partner(left) < left && partner(left) >= begin) left = partner(left);
      }
      while (right < end && !is_operator(at(right))) {
        if (at(right).is("[", "(") && partner(right) < end) right = partner(right);
        ++right;
      }
      if (different({left, i}, {i + 1, right}) && is_loaded_operand(left, i) &&
          is_loaded_operand(i + 1, right))
        return true;
    }
    return false;
  }

  bool different(std::pair<size_t, size_t> a, std::pair<size_t, size_t> b) const {
    if (a.second - a.first != b.second - b.first) return true;
    for (size_t i = 0; i < a.second - a.first; ++i)
      if (at(a.first + i).text != at(b.first + i).text) return true;
    return false;
  }

  bool mentions_data(size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i)
      if (at(i).is("[") ||
          (at(i).kind == Token::word && (loaded_.contains(at(i).text) || derived_.contains(at(i).text) ||
                                         math_functions().contains(at(i).text))))
        return true;
    return false;
  }

  void read_statement(size_t begin, size_t end) {
    while (begin < end && (at(begin).is("else") || at(begin).kind == Token::pragma)) ++begin;
    while (begin < end && at(begin).is("if", "for", "while") && at(begin + 1).is("(") &&
           partner(begin + 1) < end) {
      // if (v < 0) v = 0: a decision on data.
      if (at(begin).is("if") && mentions_data(begin + 2, partner(begin + 1))) ++out_.arithmetic;
      begin = partner(begin + 1) + 1;
    }
    constexpr size_t longest = 4096;  // of a statement: no person and no model writes longer ones
    if (begin >= end || end - begin > longest) return;
    const bool index_statement =
        is_index_type(at(begin).text) || (at(begin).is("const") && is_index_type(at(begin + 1).text));
    size_t assign = begin;
    while (assign < end) {
      if (at(assign).is("[", "(")) {
        if (partner(assign) >= end) break;
        assign = partner(assign) + 1;
        continue;
      }
      if (at(assign).is("=", "+=", "-=", "*=", "/=")) break;
      ++assign;
    }
    note_thread_walk(begin, end, assign);
    if (!index_statement) count_arithmetic(begin, end);
    if (assign >= end) {
      note_call_writes(begin, end);
      return;
    }
    note_store(begin, assign);
    const bool accumulates = at(assign).is("+=");
    const size_t value = assign + 1;
    const std::string_view target = at(assign - 1).text;
    if (in_loop(begin)) {
      const bool fma_of_itself = !accumulates && at(assign).is("=") && at(value).kind == Token::word &&
                                 at(value).text.find("fma") != std::string_view::npos;
      const bool sum_of_itself =
          at(assign).is("=") && at(value).text == at(begin).text && at(value + 1).is("+", "[");
      if ((accumulates || fma_of_itself || sum_of_itself) && multiplies_loads(value, end))
        out_.products = true;
      else if ((accumulates || sum_of_itself) && mentions_data(value, end) && !index_statement)
        out_.reduces = true;
      for (size_t i = value; i < end && !accumulates; ++i) {
        const bool extreme = at(i).is("fmaxf", "max", "fminf", "min");
        if (!extreme || !at(i + 1).is("(") || partner(i + 1) > end || index_statement) continue;
        // top = fmaxf(top, x[i]); v = fmaxf(v, 0.f) is a ReLU.
        const auto parts = rubric::arguments(tokens_, match_, i + 2, partner(i + 1));
        if (parts.size() == 2 && at(i + 2).text == at(begin).text &&
            mentions_data(parts[1].first, parts[1].second))
          out_.reduces = true;
      }
    }
    if (accumulates && at(assign - 1).is("]") && partner(assign - 1) < assign && partner(assign - 1) > 0 &&
        arrays_.contains(at(partner(assign - 1) - 1).text))
      accumulates_array_ = true;
    if (accumulates && at(assign - 1).is("]")) note_array_accumulation(assign);
    if (at(assign).is("=") && at(assign - 1).kind == Token::word && !index_statement) {
      if (is_load(value, end))
        loaded_.insert(target);
      else if (mentions_data(value, end))
        derived_.insert(target);
    }
    note_online(begin, end);
  }

  // float acc[8][8]; … acc[i][j] += a[i] * b[j];
  void note_array_accumulation(size_t assign) {
    size_t i = assign - 1;
    while (at(i).is("]") && partner(i) < i && partner(i) > 0) i = partner(i) - 1;
    if (arrays_.contains(at(i).text)) accumulates_array_ = true;
  }

  // A running maximum that rescales a running sum.
  void note_online(size_t begin, size_t end) {
    bool exponential = false, rescaled = false;
    for (size_t i = begin; i < end; ++i) {
      exponential |= at(i).is("expf", "__expf", "exp2f", "exp");
      rescaled |= exponential && at(i).is("+");
    }
    if (in_loop(begin) && exponential && rescaled && at(begin + 1).is("=") &&
        at(begin + 2).text == at(begin).text && at(begin + 3).is("*"))
      out_.features.add(Feature::online);
    // m2 += delta * (x - mean)
    for (size_t i = begin; i + 1 < end; ++i)
      if (in_loop(begin) && at(begin + 1).is("+=") && at(i).is("*") && at(i + 1).is("(") &&
          at(i - 1).text.starts_with("delta"))
        out_.features.add(Feature::online);
  }

  void count_arithmetic(size_t begin, size_t end) {
    // Local arrays: float acc[8][8] = {…};
    if (at(begin).kind == Token::word && at(begin + 1).kind == Token::word && at(begin + 2).is("[") &&
        !shared_.contains(at(begin + 1).text))
      arrays_.insert(at(begin + 1).text);
    for (size_t i = begin; i < end; ++i) {
      if (at(i).is("[") && partner(i) < end) {
        i = partner(i);
        continue;
      }
      if (at(i).kind == Token::word && math_functions().contains(at(i).text) && at(i + 1).is("(")) {
        ++out_.arithmetic;
        ++out_.functions;
      }
      // x > 0 ? x : 0, but not i < n ? x[i] : 0
      if (at(i).is("?")) {
        size_t from = i;
        while (from > begin && !at(from - 1).is("=", "(", ",")) {
          --from;
          if (at(from).is("]") && partner(from) < from && partner(from) >= begin) from = partner(from);
        }
        if (mentions_data(from, i)) ++out_.arithmetic;
      }
      if (!is_operator(at(i)) || i == begin) continue;
      const Token &left = at(i - 1), &right = at(i + 1);
      const bool binary = left.kind == Token::word || left.kind == Token::number || left.is(")", "]") ||
                          at(i).text.size() == 2;
      const bool pointer = at(i).is("*") && (right.is(")", ">") || is_type_before(i));
      const bool address = is_pointer(i - 1) || left.is("blockIdx", "threadIdx");
      const bool identity = (at(i).is("*") && (is_literal(right, "1") || is_literal(left, "1"))) ||
                            (at(i).is("+") && (is_literal(right, "0") || is_literal(left, "0"))) ||
                            (at(i).is("/") && is_literal(right, "1"));
      if (binary && !pointer && !address && !identity) ++out_.arithmetic;
    }
  }

  bool is_type_before(size_t star) const {
    const Token& left = at(star - 1);
    return left.is("float", "half", "__half", "void", "char", "auto", "float4", "T", "scalar_t", "double",
                   "int", "float2", "half2", "uint4", "int4", "const");
  }

  // Which parameters are stored to: y[i] = …, *y = …, reinterpret_cast<float4*>(y)[i] = …
  void note_store(size_t begin, size_t assign) {
    const bool indexed = at(assign - 1).is("]") || at(begin).is("*");
    // float* row = y + …: an alias
    const bool alias = at(assign - 2).is("*", "&", "__restrict__");
    for (size_t i = begin; i < assign && indexed; ++i) mark_write(i, begin);
    if (alias)
      for (size_t i = assign + 1; i < tokens_.size() && !at(i).is(";"); ++i)
        if (is_pointer(i)) aliases_.emplace_back(at(assign - 1).text, at(i).text);
  }
  void mark_write(size_t i, size_t begin) {
    // An index expression may mention other pointers: only the outermost name counts.
    for (size_t j = begin; j < i; ++j)
      if (at(j).is("[") && partner(j) > i) return;
    std::string_view name = at(i).text;
    for (const auto& [alias, of] : aliases_)
      if (alias == name) name = of;
    for (size_t p = 0; p < function_.parameters.size(); ++p)
      if (function_.parameters[p].pointer && function_.parameters[p].name == name) out_.writes[p] = true;
  }
  // atomicAdd(&y[i], v); store<4>(y, i, v);
  void note_call_writes(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      for (size_t p = 0; p < function_.parameters.size(); ++p)
        if (at(i).kind == Token::word && function_.parameters[p].pointer &&
            !function_.parameters[p].constant && function_.parameters[p].name == at(i).text)
          out_.writes[p] = true;
  }

  // Variables that count threads, and addresses in which such a one is multiplied by a stride.
  void note_thread_walk(size_t begin, size_t end, size_t assign) {
    bool thread = false, divided = false, pointer = false;
    for (size_t i = begin; i < end; ++i) {
      if (at(i).is("threadIdx") && at(i + 2).is("x")) thread = true;
      if (threads_.contains(at(i).text) && i > assign) thread = true;
      divided |= at(i).is("/", ">>", "%", "&");
      pointer |= is_pointer(i);
    }
    if (!thread) return;
    if (assign < end && at(assign - 1).kind == Token::word && !divided && !pointer)
      threads_.insert(at(assign - 1).text);
    if (!pointer) return;
    for (size_t i = begin; i < end; ++i) {
      const bool own = at(i).is("threadIdx") && at(i + 2).is("x");
      if (!own && !threads_.contains(at(i).text)) continue;
      const Token& next = at(own ? i + 3 : i + 1);
      const Token& factor = at(own ? i + 4 : i + 2);
      auto stride = [](const Token& token) {
        return token.kind == Token::word && !is_constant_name(token.text) && token.text != "sizeof";
      };
      if (next.is("*") && stride(factor)) out_.strided = true;
      if (i > begin + 1 && at(i - 1).is("*") && stride(at(i - 2)) && !at(i - 2).is("blockDim")) {
        const bool block = at(i - 2).is("x", "y");
        out_.strided |= !block;
      }
    }
  }

  void conclude() {
    Features& features = out_.features;
    if (features.has(Feature::shared_memory) && loop_with_barrier_ && (!halving_ || out_.products))
      features.add(Feature::tiling);
    if (features.has(Feature::shared_memory) && synchronised_ &&
        (halving_ || features.has(Feature::warp_shuffle) || (out_.reduces && !out_.products)))
      features.add(Feature::block_reduction);
    if (accumulates_array_) features.add(Feature::register_tiling);
    if (features.has(Feature::tensor_cores)) out_.products = true;
    if (features.has(Feature::warp_shuffle) || features.has(Feature::block_reduction)) out_.reduces = true;
    if (loops_ == 0) out_.reduces &= features.has(Feature::warp_shuffle);
    for (size_t i = function_.begin; i < std::min(function_.end, tokens_.size()); ++i)
      for (size_t p = 0; p < function_.parameters.size() && !out_.global_loads; ++p)
        out_.global_loads = function_.parameters[p].pointer && !is_member(i) &&
                            at(i).text == function_.parameters[p].name &&
                            (function_.parameters[p].constant || !out_.writes[p]);
  }

  const std::vector<Token>& tokens_;
  const std::vector<size_t>& match_;
  const Function& function_;
  BodyFacts out_;
  std::map<size_t, size_t> dead_;
  std::set<std::string_view> pointers_, shared_, loaded_, derived_, arrays_, threads_;
  std::vector<std::pair<std::string_view, std::string_view>> aliases_;
  size_t header_end_ = 0, loop_end_ = 0;
  int loops_ = 0;
  bool halving_ = false, synchronised_ = false, loop_with_barrier_ = false, accumulates_array_ = false;
};

}  // namespace

BodyFacts scan_body(const std::vector<Token>& tokens, const std::vector<size_t>& match,
                    const Function& function, const std::vector<size_t>& dead) {
  return Body(tokens, match, function, dead).run();
}

}  // namespace stitch::rubric
