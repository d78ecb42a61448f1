#include "program.h"

#include <dlfcn.h>
#include <pthread.h>

#include <vector>

#include "tensors.h"

namespace stitch::call {

namespace {

int forks = 0;
void count_fork() { ++forks; }

template <class Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  if (!out) PyErr_Format(PyExc_RuntimeError, "the library has no function %s: it is no program", name);
  return out != nullptr;
}

// The weights as the program wants them; false: a Python exception is set.
bool collect(PyObject* tensors, PyObject* descriptions, std::vector<StitchTensor>& out) {
  const Py_ssize_t count = PyTuple_Size(tensors);
  if (count < 0 || PyTuple_Size(descriptions) != count) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a description for each weight is wanted");
    return false;
  }
  out.resize(static_cast<size_t>(count) + 1);  // an empty vector has no data
  for (Py_ssize_t i = 0; i < count; ++i) {
    DlTensor seen;
    Wanted wanted;
    if (!parse_wanted(PyTuple_GetItem(descriptions, i), wanted)) return false;
    if (!look_at(PyTuple_GetItem(tensors, i), seen) ||
        !fits(seen, wanted, seen.device, out[static_cast<size_t>(i)])) {
      PyErr_Format(PyExc_ValueError, "weight %zd has another shape, dtype or order than the program's", i);
      return false;
    }
  }
  return true;
}

// Program(library, weights, descriptions, device): packs the weights. Waits for the device.
PyObject* create(PyTypeObject* type, PyObject* arguments, PyObject*) {
  const char* path = nullptr;
  PyObject *weights = nullptr, *descriptions = nullptr;
  int device = 0;
  if (!PyArg_ParseTuple(arguments, "sO!O!i", &path, &PyTuple_Type, &weights, &PyTuple_Type, &descriptions,
                        &device) ||
      !find_torch())
    return nullptr;
  std::vector<StitchTensor> tensors;
  if (!collect(weights, descriptions, tensors)) return nullptr;

  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);  // never closed: its kernels stay registered
  if (!library) {
    PyErr_Format(PyExc_OSError, "%s", dlerror());
    return nullptr;
  }
  int (*make)(const StitchTensor*, int, int, StitchProgram**) = nullptr;
  Program found{};
  if (!find(library, "stitch_create", make) || !find(library, "stitch_run", found.run) ||
      !find(library, "stitch_destroy", found.destroy) ||
      !find(library, "stitch_last_error", found.last_error))
    return nullptr;

  // The emulated GPU, if that is what it was built for: its memory is then this process's.
  if (auto take = reinterpret_cast<void (*)(int)>(dlsym(library, "stitch_emulated_take_host_memory"))) {
    take(1);
    found.wait = reinterpret_cast<int (*)()>(dlsym(library, "_Z21cudaDeviceSynchronizev"));
  }

  int status = 0;
  Py_BEGIN_ALLOW_THREADS;
  status = make(tensors.data(), static_cast<int>(tensors.size()) - 1, device, &found.program);
  Py_END_ALLOW_THREADS;
  if (status != STITCH_OK) {
    PyErr_Format(PyExc_RuntimeError, "%s", found.last_error());
    return nullptr;
  }
  auto* self = reinterpret_cast<Program*>(PyType_GenericAlloc(type, 0));
  if (!self) {
    found.destroy(found.program);
    return nullptr;
  }
  self->program = found.program;
  self->run = found.run;
  self->destroy = found.destroy;
  self->last_error = found.last_error;
  self->wait = found.wait;
  self->forks = forks;
  return reinterpret_cast<PyObject*>(self);
}

void deallocate(PyObject* object) {
  auto* self = reinterpret_cast<Program*>(object);
  if (self->program && self->forks == forks) {
    Py_BEGIN_ALLOW_THREADS;
    self->destroy(self->program);
    Py_END_ALLOW_THREADS;
  }
  PyTypeObject* type = Py_TYPE(object);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

}  // namespace

int forks_so_far() { return forks; }

PyObject* make_program_type() {
  pthread_atfork(nullptr, nullptr, count_fork);
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(create)},
      {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
      {Py_tp_doc, const_cast<char*>("A compiled program in this process, with its packed weights.")},
      {0, nullptr}};
  static PyType_Spec spec = {"stitchcuda._call.Program", sizeof(Program), 0, Py_TPFLAGS_DEFAULT, slots};
  return PyType_FromSpec(&spec);
}

}  // namespace stitch::call
