// From ATen's mutable, aliasing tensors to SSA.
//
// Every ATen tensor is a place: a storage and the chain of view steps that leads from the storage's
// value to it. Reading a place applies its steps (again, if the storage was written since). Writing
// to a place undoes the steps one by one and gives the storage a new value. So in-place ops, slice
// assignment and views of views need no rules of their own.
//
// Inside this folder a refusal is thrown and caught in lower(); nothing is thrown past it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "import/aten_program.h"

namespace stitch {

struct Refusal {
  Error error;
};
[[noreturn]] void refuse(std::string message, std::string fix = {});

struct ViewStep {
  Op op;  // reshape, permute, expand, slice or strided_view
  Attributes attributes;
};
using View = std::vector<ViewStep>;

class Lowering {
 public:
  Result<Graph> run(const AtenProgram& program);

  // Appends a node for the ATen node at hand.
  std::vector<ValueId> emit_all(Op op, std::vector<ValueId> operands, const Attributes& attributes = {});
  ValueId emit(Op op, std::vector<ValueId> operands, const Attributes& attributes = {}) {
    return emit_all(op, std::move(operands), attributes)[0];
  }
  const TensorType& type(ValueId id) const { return graph_.type(id); }

  ValueId read(const std::string& name);
  void write(const std::string& name, ValueId value);
  // The ATen type (strides included) of a tensor.
  const TensorType& aten_type(const std::string& name) const;

  // Is this tensor its whole storage, in order?
  bool is_whole(const std::string& name) const;
  // A complex tensor's value has one dimension more: its last one holds real and imaginary part.
  bool is_complex(const std::string& name) const;
  // The node that makes a value, or null.
  const Node* producer(ValueId value) const;

  void bind(const AtenTensor& output, ValueId value);                                   // a fresh storage
  void bind_view(const AtenTensor& output, const std::string& base, const View& view);  // shares the base's

  // Calls a value of the ATen node at hand by its result's name, if that is free.
  void call_by_name(ValueId value, std::string_view name);

  ValueId seed();
  int64_t next_stream() { return streams_++; }

 private:
  struct Storage {
    ValueId value;
    int version = 0;
  };
  struct Place {
    size_t storage;
    View view;
    TensorType type;
    bool complex = false;
    ValueId cached = ValueId::none;
    int cached_version = -1;
  };

  void add_leaves(const AtenProgram& program);
  void lower_node(const AtenNode& node);
  void finish(const AtenProgram& program);
  ValueId apply(ValueId value, const ViewStep& step);
  ValueId undo(ValueId base, const ViewStep& step, ValueId replacement);
  Place& place(const std::string& name);

  Graph graph_;
  std::vector<Storage> storages_;
  std::map<std::string, Place> places_;
  struct Leaf {
    ValueId value;
    size_t storage;
    int64_t memory;
  };
  std::vector<Leaf> leaves_;
  const AtenNode* node_ = nullptr;
  size_t first_new_value_ = 0;
  ValueId seed_ = ValueId::none;
  int64_t streams_ = 0;
};

// The whole way: aten.json's program to a verified graph.
Result<Graph> lower(const AtenProgram& program);

}  // namespace stitch
