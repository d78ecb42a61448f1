// PyTorch's tensors as StitchTensors, without linking PyTorch: through DLPack's exchange API and the methods
// of torch.Tensor.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <vector>

#include "dlpack.h"
#include "stitch/program.h"

namespace stitch::call {

// A tensor as a program wants it.
struct Wanted {
  int dtype;  // StitchDtype
  std::vector<int64_t> shape, strides;
};

// Of a sequence (dtype code, shape, strides); false: a Python exception is set.
bool parse_wanted(PyObject* description, Wanted& out);

// What torch is asked with; found once. false: a Python exception is set.
bool find_torch();

// Whether this is a torch.Tensor or Parameter itself: subclasses may mean something else by every question.
bool is_plain_tensor(PyObject* object);
// false: it can't be looked at (no storage), and no exception is set.
bool look_at(PyObject* tensor, DlTensor& out);
// Whether it is just that, on that device; then `out` is filled in.
bool fits(const DlTensor& given, const Wanted& wanted, DlDevice device, StitchTensor& out);

bool requires_grad(PyObject* tensor);
bool grad_mode_is_on();
// Grows with every write through PyTorch. 0 for tensors that don't count (made in inference mode).
long version_of(PyObject* tensor);
void* current_stream(DlDevice device);

}  // namespace stitch::call
