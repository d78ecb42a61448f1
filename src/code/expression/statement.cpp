#include "code/expression/statement.h"

#include <algorithm>
#include <deque>
#include <map>
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

void replace(Block& block, size_t from, const std::string& variable, const Expression& value) {
  for (size_t i = from; i < block.size(); ++i) {
    auto change = [&](Expression& each) { each = each.with(variable, value); };
    std::visit(
        Overloaded{[&](Declare& each) { change(each.value); },
                   [&](Assign& each) { change(each.target), change(each.value); },
                   [&](Evaluate& each) { change(each.call); }, [&](If& each) { change(each.condition); },
                   [&](For& each) { change(each.begin), change(each.end), change(each.step); },
                   [&](While& each) { change(each.condition); }, [&](Return& each) { change(each.value); },
                   [](Barrier&) {}},
        block[i].what);
    if (Block* body = body_of(block[i])) replace(*body, 0, variable, value);
  }
}

using Constants = std::map<std::string, const Declare*>;

// Whether its value is made of integers and constants that are visible here.
bool is_index(const Declare& declared, const Constants& constants) {
  bool known = declared.storage == Declare::constant && !declared.value.empty();
  declared.value.visit([&](const Expression::Node& node) {
    known &= node.kind == Expression::Kind::integer || node.kind == Expression::Kind::unary ||
             node.kind == Expression::Kind::binary || node.kind == Expression::Kind::conditional ||
             (node.kind == Expression::Kind::name && constants.contains(node.name));
  });
  return known;
}

// The body of a loop whose variable is `value` throughout, for a block that has these names. Nothing: one of
// them means something else in the body.
std::optional<Block> inlined(Block body, const std::string& variable, const Expression& value,
                             Constants constants, const std::set<std::string>& names) {
  replace(body, 0, variable, value);
  std::deque<Declare> seen;  // stable addresses
  for (size_t i = 0; i < body.size();) {
    const auto* declared = std::get_if<Declare>(&body[i].what);
    const bool index = declared && is_index(*declared, constants);
    const auto same = index ? constants.find(declared->name) : constants.end();
    bool drop = same != constants.end() && same->second->type.name == declared->type.name &&
                text_of(same->second->value) == text_of(declared->value);
    if (declared && !drop && names.contains(declared->name)) return std::nullopt;
    if (index && !drop && declared->value->kind == Expression::Kind::name &&
        constants.at(declared->value->name)->type.name == declared->type.name) {
      const Declare copy = *declared;
      replace(body, i + 1, copy.name, copy.value);
      drop = true;
    }
    if (drop) {
      body.erase(body.begin() + static_cast<int64_t>(i));
      continue;
    }
    if (declared && declared->storage == Declare::constant)
      constants[declared->name] = &seen.emplace_back(*declared);
    ++i;
  }
  return body;
}

void remove_single_iterations(Block& block, Constants constants) {
  std::set<std::string> names;  // of the block, later ones too
  for (const Statement& statement : block)
    if (const auto* declared = std::get_if<Declare>(&statement.what)) names.insert(declared->name);
  std::deque<Declare> seen;
  for (size_t i = 0; i < block.size(); ++i) {
    if (const auto* loop = std::get_if<For>(&block[i].what)) {
      const auto begin = loop->begin.constant(), end = loop->end.constant(), step = loop->step.constant();
      if (begin && end && step && *begin < *end && *begin + *step >= *end) {
        if (auto body = inlined(loop->body, loop->variable, loop->begin, constants, names)) {
          block.erase(block.begin() + static_cast<int64_t>(i));
          block.insert(block.begin() + static_cast<int64_t>(i), body->begin(), body->end());
          --i;
          continue;
        }
      }
    }
    if (const auto* declared = std::get_if<Declare>(&block[i].what)) {
      names.insert(declared->name);
      if (declared->storage == Declare::constant) constants[declared->name] = &seen.emplace_back(*declared);
    }
    if (Block* body = body_of(block[i])) remove_single_iterations(*body, constants);
  }
}

}  // namespace

void remove_single_iterations(Block& block) { remove_single_iterations(block, {}); }

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

void remove_relays(Block& block) {
  for (size_t i = 0; i < block.size(); ++i) {
    if (Block* body = body_of(block[i])) remove_relays(*body);
    auto* declared = std::get_if<Declare>(&block[i].what);
    if (!declared || declared->storage != Declare::constant || declared->value.empty() ||
        declared->type == auto_type || i + 1 == block.size() || !block[i].comment.empty())
      continue;
    Statement& next = block[i + 1];
    auto* stored = std::get_if<Assign>(&next.what);
    auto* returned = std::get_if<Return>(&next.what);
    if (!returned && (!stored || stored->op)) continue;
    Expression& used = returned ? returned->value : stored->value;
    if (used.empty() || used->kind != Expression::Kind::name || used->name != declared->name) continue;
    std::set<std::string> others =
        names_read(Block(block.begin() + static_cast<int64_t>(i) + 2, block.end()));
    if (stored) add_names(stored->target, others);
    if (others.contains(declared->name)) continue;
    used = declared->value;
    block.erase(block.begin() + static_cast<int64_t>(i));
  }
}

void remove_unused(Block& block) {
  while (sweep(block)) {
  }
}

}  // namespace stitch::code
