#include "tensors.h"

namespace stitch::call {

namespace {

const ExchangeApi* api = nullptr;
PyObject *tensor_type = nullptr, *parameter_type = nullptr, *is_grad_enabled = nullptr;

// Getters of torch.Tensor, called as the interpreter would, without its search for them.
struct Getter {
  PyObject* descriptor = nullptr;
  descrgetfunc get = nullptr;

  bool find(PyObject* type, const char* name) {
    descriptor = PyObject_GetAttrString(type, name);
    if (!descriptor) return false;
    get = reinterpret_cast<descrgetfunc>(PyType_GetSlot(Py_TYPE(descriptor), Py_tp_descr_get));
    if (get) return true;
    PyErr_Format(PyExc_ImportError, "torch.Tensor.%s is not what stitchcuda expects of this PyTorch", name);
    return false;
  }
  PyObject* of(PyObject* tensor) const {
    return get(descriptor, tensor, reinterpret_cast<PyObject*>(Py_TYPE(tensor)));
  }
};
Getter requires_grad_getter, version_getter;

bool find_api() {
  PyObject* capsule = PyObject_GetAttrString(tensor_type, "__dlpack_c_exchange_api__");
  if (!capsule) {
    PyErr_SetString(PyExc_ImportError, "stitchcuda needs PyTorch 2.10 or newer");
    return false;
  }
  api = static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  Py_DECREF(capsule);
  if (!api) return false;
  if (api->header.major == dlpack_major) return true;
  PyErr_Format(PyExc_ImportError, "this PyTorch speaks version %u of DLPack, stitchcuda version %u",
               api->header.major, dlpack_major);
  api = nullptr;
  return false;
}

int dtype_of(const DlTensor& tensor) {
  if (tensor.dtype_lanes != 1) return -1;
  switch (tensor.dtype_code << 8 | tensor.dtype_bits) {
    case 2 << 8 | 64: return STITCH_F64;
    case 2 << 8 | 32: return STITCH_F32;
    case 2 << 8 | 16: return STITCH_F16;
    case 4 << 8 | 16: return STITCH_BF16;
    case 0 << 8 | 64: return STITCH_I64;
    case 0 << 8 | 32: return STITCH_I32;
    case 0 << 8 | 8: return STITCH_I8;
    case 1 << 8 | 8: return STITCH_U8;
    case 6 << 8 | 8: return STITCH_BOOL;
    default: return -1;
  }
}

bool parse_numbers(PyObject* sequence, std::vector<int64_t>& out) {
  const Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return false;
  if (count > STITCH_MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "a program's tensors have at most %d dimensions", STITCH_MAX_RANK);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_GetItem(sequence, i);
    if (!item) return false;
    out.push_back(PyLong_AsLongLong(item));
    Py_DECREF(item);
    if (PyErr_Occurred()) return false;
  }
  return true;
}

}  // namespace

bool find_torch() {
  if (api) return true;
  PyObject* torch = PyImport_ImportModule("torch");
  if (!torch) return false;
  tensor_type = PyObject_GetAttrString(torch, "Tensor");
  is_grad_enabled = PyObject_GetAttrString(torch, "is_grad_enabled");
  PyObject* modules = PyObject_GetAttrString(torch, "nn");
  Py_DECREF(torch);
  if (modules) parameter_type = PyObject_GetAttrString(modules, "Parameter");
  Py_XDECREF(modules);
  return tensor_type && is_grad_enabled && parameter_type &&
         requires_grad_getter.find(tensor_type, "requires_grad") &&
         version_getter.find(tensor_type, "_version") && find_api();
}

bool parse_wanted(PyObject* description, Wanted& out) {
  PyObject *shape = nullptr, *strides = nullptr;
  if (!PyArg_ParseTuple(description, "iOO", &out.dtype, &shape, &strides)) return false;
  return parse_numbers(shape, out.shape) && parse_numbers(strides, out.strides);
}

bool is_plain_tensor(PyObject* object) {
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  return type == tensor_type || type == parameter_type;
}

bool look_at(PyObject* tensor, DlTensor& out) {
  if (api->tensor_from_object(tensor, &out) == 0) return true;
  PyErr_Clear();
  return false;
}

bool fits(const DlTensor& given, const Wanted& wanted, DlDevice device, StitchTensor& out) {
  const auto rank = static_cast<int32_t>(wanted.shape.size());
  if (given.rank != rank || dtype_of(given) != wanted.dtype || given.device.type != device.type ||
      given.device.index != device.index)
    return false;
  out.data = static_cast<char*>(given.data) + given.byte_offset;
  out.dtype = wanted.dtype;
  out.rank = rank;
  for (int32_t i = 0; i < rank; ++i) {
    const auto k = static_cast<size_t>(i);
    // The stride of a dimension of one element means nothing.
    if (given.shape[i] != wanted.shape[k] ||
        (wanted.shape[k] > 1 && given.strides && given.strides[i] != wanted.strides[k]))
      return false;
    out.shape[i] = wanted.shape[k];
    out.strides[i] = wanted.strides[k];
  }
  return true;
}

bool requires_grad(PyObject* tensor) {
  PyObject* answer = requires_grad_getter.of(tensor);
  if (!answer) PyErr_Clear();
  Py_XDECREF(answer);
  return answer != Py_False;
}

bool grad_mode_is_on() {
  PyObject* answer = PyObject_CallObject(is_grad_enabled, nullptr);
  if (!answer) PyErr_Clear();
  Py_XDECREF(answer);
  return answer != Py_False;
}

long version_of(PyObject* tensor) {
  PyObject* answer = version_getter.of(tensor);
  long version = answer ? PyLong_AsLong(answer) : 0;
  Py_XDECREF(answer);
  if (PyErr_Occurred()) PyErr_Clear();
  return version;
}

void* current_stream(DlDevice device) {
  void* stream = nullptr;
  if (device.type == cuda_device && api->current_stream(device.type, device.index, &stream) != 0)
    PyErr_Clear();
  return stream;
}

}  // namespace stitch::call
