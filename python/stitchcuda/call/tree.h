// Where a call's tensors are among its arguments, and what its results are put into: nested tuples of Python,
// read once.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <vector>

namespace stitch::call {

// ("tensor", number), ("constant", value), ("list" | "tuple", (tree, …)), ("dict", ((key, tree), …)) or
// ("class", callable that takes keywords, ((name, tree), …)).
class Tree {
 public:
  Tree() = default;
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  Tree(Tree&& other) noexcept;
  ~Tree();

  // false: a Python exception is set.
  bool parse(PyObject* description);

  // Puts the tensors of an argument into their places, borrowed. false: the argument has another form.
  bool match(PyObject* value, std::vector<PyObject*>& tensors) const;
  // A new reference, or null and an exception.
  PyObject* build(const std::vector<PyObject*>& tensors) const;
  // The highest number of a tensor in it, or -1.
  Py_ssize_t last_tensor() const;

 private:
  enum class Kind { tensor, constant, list, tuple, dict, object };
  bool parse_parts(PyObject* parts, bool named);
  bool match_dict(PyObject* value, std::vector<PyObject*>& tensors) const;
  PyObject* build_named(const std::vector<PyObject*>& tensors) const;
  PyObject* build_sequence(const std::vector<PyObject*>& tensors) const;

  Kind kind_ = Kind::constant;
  Py_ssize_t number_ = -1;
  PyObject* value_ = nullptr;     // constant: itself; object: what makes it
  std::vector<PyObject*> names_;  // dict, object
  std::vector<Tree> parts_;
};

}  // namespace stitch::call
