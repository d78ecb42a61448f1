#include "code/expression/statement.h"

#include <algorithm>
#include <utility>

namespace stitch::code {

namespace {

template <class... Each>
struct Overloaded : Each... {
  using Each::operator()...;
};

void add_names(const Expression& expression, std::set<std::string>& names) {
  expression.visit([&](const Expression::Node& node) {
    if (node.kind == Expression::Kind::name) names.insert(node.name);
  });
}

// Names in the subscripts of a target.
void add_indices(const Expression& target, std::set<std::string>& names) {
  if (target->kind != Expression::Kind::element) return;
  add_indices(target->operands[0], names);
  add_names(target->operands[1], names);
}

Block* body_of(Statement& statement) {
  if (auto* loop = std::get_if<For>(&statement.what)) return &loop->body;
  if (auto* guard = std::get_if<If>(&statement.what)) return &guard->body;
  if (auto* loop = std::get_if<While>(&statement.what)) return &loop->body;
  return nullptr;
}

void add_reads(const Statement& statement, std::set<std::string>& names) {
  if (const auto* assignment = std::get_if<Assign>(&statement.what);
      assignment && !assignment->target.root().empty()) {
    add_indices(assignment->target, names);
    add_names(assignment->value, names);
  } else {
    for (const Expression& each : expressions_of(statement)) add_names(each, names);
  }
  if (const Block* body = body_of(statement)) names.merge(names_read(*body));
}

bool assigns(const Statement& statement, const std::string& name) {
  const auto* assignment = std::get_if<Assign>(&statement.what);
  return assignment && assignment->target.root() == name;
}

bool all_without_effects(const Block& block, size_t from, const std::string& name) {
  for (size_t i = from; i < block.size(); ++i) {
    if (assigns(block[i], name) && std::get<Assign>(block[i].what).value.has_effects()) return false;
    if (const Block* body = body_of(block[i]); body && !all_without_effects(*body, 0, name)) return false;
  }
  return true;
}

void remove_assignments(Block& block, size_t from, const std::string& name) {
  for (size_t i = block.size(); i-- > from;)
    if (assigns(block[i], name))
      block.erase(block.begin() + static_cast<int64_t>(i));
    else if (Block* body = body_of(block[i]))
      remove_assignments(*body, 0, name);
}

// One sweep from the end: only statements after a declaration in its block can read it.
bool sweep(Block& block) {
  bool changed = false;
  std::set<std::string> read;
  for (size_t i = block.size(); i-- > 0;) {
    Statement& statement = block[i];
    if (Block* body = body_of(statement)) {
      changed |= sweep(*body);
      if (body->empty()) {
        block.erase(block.begin() + static_cast<int64_t>(i));
        changed = true;
        continue;
      }
    }
    const auto* declared = std::get_if<Declare>(&statement.what);
    if (declared && !read.contains(declared->name) && !declared->value.has_effects() &&
        all_without_effects(block, i + 1, declared->name)) {
      const std::string name = declared->name;
      remove_assignments(block, i + 1, name);
      block.erase(block.begin() + static_cast<int64_t>(i));
      changed = true;
      continue;
    }
    if (declared) read.erase(declared->name);
    add_reads(statement, read);
  }
  return changed;
}

}  // namespace

const Block* body_of(const Statement& statement) { return body_of(const_cast<Statement&>(statement)); }

Expressions expressions_of(const Statement& statement) {
  return std::visit(Overloaded{[](const Declare& each) { return Expressions{each.value}; },
                               [](const Assign& each) {
                                 return Expressions{each.target, each.value};
                               },
                               [](const Evaluate& each) { return Expressions{each.call}; },
                               [](const If& each) { return Expressions{each.condition}; },
                               [](const For& each) {
                                 return Expressions{each.begin, each.end, each.step};
                               },
                               [](const While& each) { return Expressions{each.condition}; },
                               [](const Return& each) { return Expressions{each.value}; },
                               [](const Barrier&) { return Expressions{}; }},
                    statement.what);
}

Statement define_constant(Type type, std::string name, Expression value) {
  return {Declare{Declare::constant, std::move(type), std::move(name), std::move(value), {}}};
}
Statement define_variable(Type type, std::string name, Expression value, std::vector<int64_t> extents) {
  return {Declare{Declare::variable, std::move(type), std::move(name), std::move(value), std::move(extents)}};
}
Statement define_shared(Type type, std::string name, std::vector<int64_t> extents) {
  return {Declare{Declare::shared, std::move(type), std::move(name), {}, std::move(extents)}};
}
Statement assign(Expression target, Expression value, std::optional<Operator> op) {
  return {Assign{std::move(target), std::move(value), op}};
}
Statement evaluate(Expression call) { return {Evaluate{std::move(call)}}; }

Statement only_if(const Expression& condition, Statement statement) {
  if (condition.empty()) return statement;
  return {If{condition, {std::move(statement)}, false}};
}

std::set<std::string> names_read(const Block& block) {
  std::set<std::string> names;
  for (const Statement& statement : block) add_reads(statement, names);
  return names;
}

int64_t operations(const Block& block) {
  int64_t count = 0;
  for (const Statement& statement : block) {
    for (const Expression& each : expressions_of(statement))
      each.visit([&](const Expression::Node&) { ++count; });
    if (const Block* body = body_of(statement)) count += operations(*body);
  }
  return count;
}

void remove_unused(Block& block) {
  while (sweep(block)) {
  }
}

}  // namespace stitch::code
