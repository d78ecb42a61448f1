// The tensor graph: SSA, nodes in topological order.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace stitch {

// An index into Graph::values; `none` is an absent optional operand.
enum class ValueId : int32_t { none = -1 };
inline size_t index_of(ValueId id) { return static_cast<size_t>(id); }

enum class Role : uint8_t { input, parameter, buffer, constant, seed, result };
std::string_view name(Role role);

struct Value {
  std::string name;  // unique in its graph
  TensorType type;
  Role role = Role::result;
  std::string data;  // key in the weights file: parameters, buffers and constants

  bool has_data() const { return role == Role::parameter || role == Role::buffer || role == Role::constant; }
};

struct Node {
  Op op;
  std::vector<ValueId> operands;  // absent optional ones are none; trailing ones too
  std::vector<ValueId> results;
  Attributes attributes;
  std::string where;   // the model's source line
  std::string module;  // the module that line ran in
};

// After the forward pass, `target` (a buffer, constant, parameter, or an input that the model
// overwrites) holds `value`.
struct Update {
  ValueId target;
  ValueId value;
};

class Graph {
 public:
  std::string name;
  std::deque<Value> values;  // a deque, so that references stay valid while nodes are added
  std::vector<Node> nodes;
  std::vector<ValueId> outputs;
  std::vector<Update> updates;

  const Value& operator[](ValueId id) const { return values[index_of(id)]; }
  const TensorType& type(ValueId id) const { return values[index_of(id)].type; }
  const Node& node(int32_t number) const { return nodes[static_cast<size_t>(number)]; }
  Node& node(int32_t number) { return nodes[static_cast<size_t>(number)]; }
  // The index of a node of this graph.
  int32_t number_of(const Node& node) const { return static_cast<int32_t>(&node - nodes.data()); }
  // Values that exist before the first node, in order.
  std::vector<ValueId> leaves() const;
  std::vector<ValueId> inputs() const;
  std::vector<ValueId> with_role(Role role) const;

  ValueId add_leaf(Role role, std::string_view name, TensorType type, std::string data = {});

  // Appends a node with attributes completed and result types inferred. Result names are made unique.
  Result<std::vector<ValueId>> add_node(Op op, std::vector<ValueId> operands,
                                        const Attributes& attributes = {}, std::string_view result_name = {},
                                        std::string where = {}, std::string module = {});

  // Reserves an unused name: `wanted`, or wanted_2, wanted_3, …
  std::string unique_name(std::string_view wanted);
  ValueId find(std::string_view name) const;  // none if there is none
  void rename(ValueId id, std::string_view wanted);

 private:
  friend Graph compact(const Graph&);
  std::map<std::string, ValueId, std::less<>> by_name_;
  std::map<std::string, int, std::less<>> next_suffix_;
};

// Infers the result types of one node.
Result<ResultTypes> infer(const Graph& graph, const Node& node);
Cost cost(const Graph& graph, const Node& node);

// For each value, the nodes that use it (each once, in order).
std::vector<std::vector<int32_t>> users(const Graph& graph);
// For each value, the node that computes it, or -1.
std::vector<int32_t> producers(const Graph& graph);

// The graph without unused results and constants. The model's signature (inputs, parameters, buffers, the
// seed) stays.
Graph compact(const Graph& graph);

// Defines a valid graph: SSA, order, arity, attributes, types, names, roles. An error names the value.
Result<void> verify(const Graph& graph);

}  // namespace stitch
