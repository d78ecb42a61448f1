// Statements of a kernel under construction, in nested scopes. Loop-invariant code is placed before the loop,
// and known values aren't recomputed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "code/expression/statement.h"
#include "code/index.h"
#include "graph/graph.h"

namespace stitch::code::loops {

// What a scope knows; equal keys are the same value.
struct Key {
  enum What : uint8_t {
    element,        // of `value`
    part,           // of a concatenation: the source place of an element
    gathered,       // an index loaded from `value`, of `number` rows
    settled,        // a variable for an index
    held_row,       // a row of reduction `number` of `value` in registers
    term,           // of an element of `value` in reduction `number`: Pass::term
    statistic,      // statistic `which` of reduction `number` of `value`
    channel_scale,  // of the batch norm that makes `value`
    vector,         // loaded through the pointer `name`
    stage,          // an element of the scratch array `name`
  };
  What what;
  ValueId value = ValueId::none;
  int64_t number = 0;
  size_t which = 0;
  std::string name;
  std::vector<std::string> at;  // indices are equal if their texts are

  auto operator<=>(const Key&) const = default;
};
Key key_of(ValueId id, const Indices& at);  // of an element
Key key_of(Key::What what, ValueId id, int64_t number, const Indices& at);
Key key_of(Key::What what, const std::string& name, const Index& at);

struct Scope;

class Scopes {
 public:
  Scopes();
  ~Scopes();

  void add(Statement statement);
  // A loop or an If, without its body. Nothing is moved out of a guard, nor past a loop over `variables` that
  // it depends on.
  void open(Statement header, std::vector<std::string> variables, bool guard);
  void close();
  size_t depth() const { return chain_.size(); }

  // A variable of the current scope that indices may mention.
  void introduce(std::string variable);

  // Whether the indices mention a variable of the current scope other than this one.
  bool mentions_own(const Indices& at, const std::string& besides) const;

  const Expression* find(const Key& key) const;
  void remember(const Key& key, Expression value);

  // The outermost scope (from 0) in which these indices can be used. `past_guards`: for indices in range
  // regardless of guards.
  size_t outermost(const Indices& at, bool past_guards = false) const;

  // During its lifetime statements go to an outer scope. Inner scopes stay open.
  class Outside {
   public:
    Outside(Scopes& scopes, size_t level);
    ~Outside();
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

   private:
    Scopes& scopes_;
    std::vector<Scope*> before_;
  };

  // All statements whose results are used; every scope but the first must be closed.
  Block take() const;

 private:
  friend class Outside;
  std::vector<std::unique_ptr<Scope>> all_;
  std::vector<Scope*> chain_;
};

}  // namespace stitch::code::loops
