#include "code/loops/scopes.h"

#include <algorithm>

#include "base/result.h"

namespace stitch::code::loops {

struct Scope {
  std::string header;
  std::vector<std::string> variables;
  bool guard = false;
  std::vector<std::string> lines;  // indented within the scope
  std::map<std::string, std::string> known;
};

Scopes::Scopes() {
  all_.push_back(std::make_unique<Scope>());
  chain_.push_back(all_.back().get());
}

Scopes::~Scopes() = default;

void Scopes::line(std::string text) { chain_.back()->lines.push_back(std::move(text)); }

void Scopes::open(std::string header, std::vector<std::string> variables, bool guard) {
  all_.push_back(std::make_unique<Scope>());
  Scope* scope = all_.back().get();
  scope->header = std::move(header);
  scope->variables = std::move(variables);
  scope->guard = guard;
  chain_.push_back(scope);
}

void Scopes::close() {
  require(chain_.size() > 1, "a scope is closed that was never opened");
  Scope* scope = chain_.back();
  chain_.pop_back();
  std::vector<std::string>& lines = chain_.back()->lines;
  std::string header = scope->header;
  // "#pragma unroll" and such stand on lines of their own, at the margin.
  while (header.starts_with('#')) {
    size_t end = header.find('\n');
    lines.push_back(header.substr(0, end));
    header = header.substr(end + 1);
  }
  lines.push_back(header + " {");
  for (std::string& line : scope->lines)
    lines.push_back(line.starts_with('#') || line.empty() ? line : "  " + line);
  lines.push_back("}");
  std::erase_if(all_, [&](const auto& each) { return each.get() == scope; });
}

void Scopes::introduce(std::string variable) { chain_.back()->variables.push_back(std::move(variable)); }

void Scopes::remember(const std::string& key, std::string name) {
  chain_.back()->known[key] = std::move(name);
}

const std::string* Scopes::find(const std::string& key) const {
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

Scopes::Outside::Outside(Scopes& scopes, size_t level) : scopes_(scopes), before_(scopes.chain_) {
  scopes_.chain_.resize(level + 1);
}

Scopes::Outside::~Outside() { scopes_.chain_ = std::move(before_); }

std::string Scopes::take(int indent) const {
  require(chain_.size() == 1, "a scope is still open");
  std::string out;
  for (const std::string& line : chain_[0]->lines) {
    if (!line.starts_with('#') && !line.empty()) out += std::string(static_cast<size_t>(indent), ' ');
    out += line + "\n";
  }
  return out;
}

}  // namespace stitch::code::loops
