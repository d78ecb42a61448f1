#include "tree.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tensors.h"

namespace stitch::call {

Tree::Tree(Tree&& other) noexcept
    : kind_(other.kind_),
      number_(other.number_),
      value_(std::exchange(other.value_, nullptr)),
      names_(std::exchange(other.names_, {})),
      parts_(std::exchange(other.parts_, {})) {}

Tree::~Tree() {
  Py_XDECREF(value_);
  for (PyObject* name : names_) Py_DECREF(name);
}

bool Tree::parse(PyObject* description) {
  const char* kind = nullptr;
  PyObject *content = nullptr, *fields = nullptr;
  if (!PyArg_ParseTuple(description, "sO|O", &kind, &content, &fields)) return false;
  if (!std::strcmp(kind, "tensor")) {
    kind_ = Kind::tensor;
    number_ = PyLong_AsSsize_t(content);
    return !PyErr_Occurred();
  }
  if (!std::strcmp(kind, "list") || !std::strcmp(kind, "tuple")) {
    kind_ = kind[0] == 'l' ? Kind::list : Kind::tuple;
    return parse_parts(content, false);
  }
  if (!std::strcmp(kind, "dict")) {
    kind_ = Kind::dict;
    return parse_parts(content, true);
  }
  Py_INCREF(content);
  value_ = content;
  if (!std::strcmp(kind, "constant")) return true;
  if (std::strcmp(kind, "class") != 0 || !fields) {
    PyErr_Format(PyExc_ValueError, "'%s' is no kind of tree", kind);
    return false;
  }
  kind_ = Kind::object;
  return parse_parts(fields, true);
}

bool Tree::parse_parts(PyObject* parts, bool named) {
  const Py_ssize_t count = PyTuple_Size(parts);
  if (count < 0) return false;
  parts_.reserve(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* part = PyTuple_GetItem(parts, i);
    if (named) {
      PyObject* name = nullptr;
      if (!PyArg_ParseTuple(part, "OO", &name, &part)) return false;
      Py_INCREF(name);
      names_.push_back(name);
    }
    parts_.emplace_back();
    if (!parts_.back().parse(part)) return false;
  }
  return true;
}

Py_ssize_t Tree::last_tensor() const {
  Py_ssize_t last = number_;
  for (const Tree& part : parts_) last = std::max(last, part.last_tensor());
  return last;
}

bool Tree::match(PyObject* value, std::vector<PyObject*>& tensors) const {
  switch (kind_) {
    case Kind::tensor: tensors[static_cast<size_t>(number_)] = value; return is_plain_tensor(value);
    case Kind::constant: {
      if (value == value_) return true;
      if (Py_TYPE(value) != Py_TYPE(value_)) return false;
      const int same = PyObject_RichCompareBool(value, value_, Py_EQ);
      if (same < 0) PyErr_Clear();
      return same > 0;
    }
    case Kind::list:
    case Kind::tuple: {
      const bool list = kind_ == Kind::list;
      if (list ? !PyList_CheckExact(value) : !PyTuple_CheckExact(value)) return false;
      const auto count = static_cast<size_t>(list ? PyList_Size(value) : PyTuple_Size(value));
      if (count != parts_.size()) return false;
      for (size_t i = 0; i < count; ++i) {
        const auto at = static_cast<Py_ssize_t>(i);
        if (!parts_[i].match(list ? PyList_GetItem(value, at) : PyTuple_GetItem(value, at), tensors))
          return false;
      }
      return true;
    }
    case Kind::dict: return match_dict(value, tensors);
    case Kind::object: return false;  // reading its fields is work for Python
  }
  return false;
}

bool Tree::match_dict(PyObject* value, std::vector<PyObject*>& tensors) const {
  if (!PyDict_CheckExact(value) || static_cast<size_t>(PyDict_Size(value)) != parts_.size()) return false;
  for (size_t i = 0; i < parts_.size(); ++i) {
    PyObject* item = PyDict_GetItemWithError(value, names_[i]);
    if (!item) PyErr_Clear();
    if (!item || !parts_[i].match(item, tensors)) return false;
  }
  return true;
}

PyObject* Tree::build(const std::vector<PyObject*>& tensors) const {
  switch (kind_) {
    case Kind::tensor: {
      PyObject* tensor = tensors[static_cast<size_t>(number_)];
      Py_INCREF(tensor);
      return tensor;
    }
    case Kind::constant: Py_INCREF(value_); return value_;
    case Kind::list:
    case Kind::tuple: return build_sequence(tensors);
    default: return build_named(tensors);
  }
}

PyObject* Tree::build_sequence(const std::vector<PyObject*>& tensors) const {
  const auto count = static_cast<Py_ssize_t>(parts_.size());
  const bool list = kind_ == Kind::list;
  PyObject* made = list ? PyList_New(count) : PyTuple_New(count);
  for (Py_ssize_t i = 0; made && i < count; ++i) {
    PyObject* part = parts_[static_cast<size_t>(i)].build(tensors);
    const int failed = !part || (list ? PyList_SetItem(made, i, part) : PyTuple_SetItem(made, i, part)) != 0;
    if (failed) Py_CLEAR(made);
  }
  return made;
}

PyObject* Tree::build_named(const std::vector<PyObject*>& tensors) const {
  PyObject* made = PyDict_New();
  for (size_t i = 0; made && i < parts_.size(); ++i) {
    PyObject* part = parts_[i].build(tensors);
    if (!part || PyDict_SetItem(made, names_[i], part) != 0) Py_CLEAR(made);
    Py_XDECREF(part);
  }
  if (!made || kind_ == Kind::dict) return made;
  PyObject* nothing = PyTuple_New(0);
  PyObject* object = nothing ? PyObject_Call(value_, nothing, made) : nullptr;
  Py_XDECREF(nothing);
  Py_DECREF(made);
  return object;
}

}  // namespace stitch::call
