// Statements of a kernel that is being written, in nested scopes. What doesn't depend on a loop's variables
// is written before the loop, and nothing that is known is computed again.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "code/expression/statement.h"
#include "code/index.h"

namespace stitch::code::loops {

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

  const Expression* find(const std::string& key) const;
  void remember(const std::string& key, Expression value);

  // The outermost scope in which these indices can be used, counted from 0. With `past_guards`, guards are no
  // border: for indices that are in range whatever the guards say.
  size_t outermost(const Indices& at, bool past_guards = false) const;

  // While one lives, statements go to an outer scope. Scopes inside it stay open.
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

  // All statements that somebody needs; every scope but the first is closed.
  Block take() const;

 private:
  friend class Outside;
  std::vector<std::unique_ptr<Scope>> all_;
  std::vector<Scope*> chain_;
};

}  // namespace stitch::code::loops
