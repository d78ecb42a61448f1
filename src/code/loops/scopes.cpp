#include "code/loops/scopes.h"

#include <algorithm>

#include "base/result.h"

namespace stitch::code::loops {

struct Scope {
  Statement header;
  std::vector<std::string> variables;
  bool guard = false;
  Block statements;
  std::map<Key, Expression> known;
};

Key key_of(Key::What what, ValueId id, int64_t number, const Indices& at) {
  Key key{what, id, number, 0, {}, {}};
  for (const Index& index : at) key.at.push_back(index.text());
  return key;
}
Key key_of(ValueId id, const Indices& at) { return key_of(Key::element, id, 0, at); }
Key key_of(Key::What what, const std::string& name, const Index& at) {
  return {what, ValueId::none, 0, 0, name, {at.text()}};
}

Scopes::Scopes() {
  all_.push_back(std::make_unique<Scope>());
  chain_.push_back(all_.back().get());
}

Scopes::~Scopes() = default;

void Scopes::add(Statement statement) { chain_.back()->statements.push_back(std::move(statement)); }

void Scopes::open(Statement header, std::vector<std::string> variables, bool guard) {
  all_.push_back(std::make_unique<Scope>(Scope{std::move(header), std::move(variables), guard, {}, {}}));
  chain_.push_back(all_.back().get());
}

void Scopes::close() {
  require(chain_.size() > 1, "a scope is closed that was never opened");
  Scope* scope = chain_.back();
  chain_.pop_back();
  if (auto* loop = std::get_if<For>(&scope->header.what))
    loop->body = std::move(scope->statements);
  else if (auto* guard = std::get_if<If>(&scope->header.what))
    guard->body = std::move(scope->statements);
  else
    std::get<While>(scope->header.what).body = std::move(scope->statements);
  chain_.back()->statements.push_back(std::move(scope->header));
  std::erase_if(all_, [&](const auto& each) { return each.get() == scope; });
}

void Scopes::introduce(std::string variable) { chain_.back()->variables.push_back(std::move(variable)); }

void Scopes::remember(const Key& key, Expression value) { chain_.back()->known[key] = std::move(value); }

const Expression* Scopes::find(const Key& key) const {
  for (size_t i = chain_.size(); i-- > 0;)
    if (auto found = chain_[i]->known.find(key); found != chain_[i]->known.end()) return &found->second;
  return nullptr;
}

size_t Scopes::outermost(const Indices& at, bool past_guards) const {
  for (size_t i = chain_.size(); i-- > 1;) {
    if (chain_[i]->guard && !past_guards) return i;
    for (const std::string& variable : chain_[i]->variables)
      if (std::ranges::any_of(at, [&](const Index& index) { return index.appears(variable); })) return i;
  }
  return 0;
}

bool Scopes::mentions_own(const Indices& at, const std::string& besides) const {
  return std::ranges::any_of(chain_.back()->variables, [&](const std::string& variable) {
    return variable != besides &&
           std::ranges::any_of(at, [&](const Index& index) { return index.appears(variable); });
  });
}

Scopes::Outside::Outside(Scopes& scopes, size_t level) : scopes_(scopes), before_(scopes.chain_) {
  scopes_.chain_.resize(level + 1);
}

Scopes::Outside::~Outside() { scopes_.chain_ = std::move(before_); }

Block Scopes::take() const {
  require(chain_.size() == 1, "a scope is still open");
  Block out = chain_[0]->statements;
  remove_single_iterations(out);
  remove_unused(out);
  remove_relays(out);
  return out;
}

}  // namespace stitch::code::loops
