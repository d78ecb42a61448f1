// stitchcuda._call: programs called from Python, on the stable ABI of Python 3.10 and without linking
// PyTorch.
#include "program.h"

namespace stitch::call {
PyObject* make_call_type();
}

namespace {

int add_types(PyObject* module) {
  using namespace stitch::call;
  struct {
    const char* name;
    PyObject* type;
  } types[] = {{"Program", make_program_type()}, {"Call", make_call_type()}};
  for (auto& [name, type] : types)
    if (!type || PyModule_AddObject(module, name, type) != 0) return -1;
  return 0;
}

PyObject* forks(PyObject*, PyObject*) { return PyLong_FromLong(stitch::call::forks_so_far()); }

PyMethodDef functions[] = {{"forks", forks, METH_NOARGS, "How often this process was forked off another."},
                           {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_call",
                          "Programs called from Python.",
                          0,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__call() {
  PyObject* module = PyModule_Create(&definition);
  if (module && add_types(module) != 0) {
    Py_DECREF(module);
    module = nullptr;
  }
  return module;
}
