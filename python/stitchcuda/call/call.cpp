// A call of a program from Python. Everything that can be known before is: per call a handful of getters, one
// allocation an output, and stitch_run. Whether weights were written to or replaced is looked at after the
// launch, while the GPU works; if they were, the result is thrown away and the caller packs them again. What
// does not fit (other shapes, other forms of arguments, gradients) is NotImplemented: Python takes the long
// way.
#include <memory>

#include "program.h"
#include "tensors.h"
#include "tree.h"

namespace stitch::call {

namespace {

struct Input {
  enum class Kind { given, state, seed } kind;
  size_t number;     // given
  PyObject* source;  // state: the tensor; seed: what makes one
  Wanted wanted;
};

struct Output {
  PyObject* maker;      // null: a state's new value, written over the old one
  PyObject* arguments;  // of the maker
  PyObject* state;
  Wanted wanted;
};

struct Weight {
  PyObject* tensor;
  void* data;
  long version;
};

// An entry of a module's dictionary: a parameter, a buffer, a module on the way to one.
struct Place {
  PyObject* dictionary;
  PyObject* key;
  PyObject* object;
};

struct Plan {
  PyObject* program = nullptr;
  DlDevice device{};
  std::vector<Tree> positional;
  std::vector<PyObject*> names;  // of keyword arguments
  std::vector<Tree> keyword;
  size_t given = 0;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<Weight> weights;
  std::vector<Place> places;
  Tree result;
  bool changes_state = false;

  ~Plan() {
    Py_XDECREF(program);
    for (PyObject* name : names) Py_DECREF(name);
    for (Input& input : inputs) Py_XDECREF(input.source);
    for (Output& output : outputs) {
      Py_XDECREF(output.maker);
      Py_XDECREF(output.arguments);
      Py_XDECREF(output.state);
    }
    for (Weight& weight : weights) Py_DECREF(weight.tensor);
    for (Place& place : places) {
      Py_DECREF(place.dictionary);
      Py_DECREF(place.key);
      Py_DECREF(place.object);
    }
  }

  Program* compiled() const { return reinterpret_cast<Program*>(program); }

  bool weights_are_as_packed() const {
    for (const Place& place : places)
      if (PyDict_GetItem(place.dictionary, place.key) != place.object) return false;
    for (const Weight& weight : weights) {
      DlTensor seen;
      if (version_of(weight.tensor) != weight.version || !look_at(weight.tensor, seen) ||
          seen.data != weight.data)
        return false;
    }
    return true;
  }
};

struct Call {
  PyObject_HEAD Plan* plan;
};

PyObject* new_reference(PyObject* object) {
  Py_INCREF(object);
  return object;
}

PyObject* the_long_way() { return new_reference(Py_NotImplemented); }

bool parse_trees(PyObject* descriptions, std::vector<Tree>& out) {
  const Py_ssize_t count = PyTuple_Size(descriptions);
  out.reserve(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    out.emplace_back();
    if (!out.back().parse(PyTuple_GetItem(descriptions, i))) return false;
  }
  return true;
}

// ("given", number, description), ("state", tensor, description) or ("seed", callable, description).
bool parse_inputs(PyObject* descriptions, Plan& plan) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(descriptions); ++i) {
    const char* kind = nullptr;
    PyObject *source = nullptr, *wanted = nullptr;
    if (!PyArg_ParseTuple(PyTuple_GetItem(descriptions, i), "sOO", &kind, &source, &wanted)) return false;
    Input& input = plan.inputs.emplace_back();
    if (!parse_wanted(wanted, input.wanted)) return false;
    input.kind = kind[0] == 'g'                     ? Input::Kind::given
                 : kind[1] == 't' && kind[0] == 's' ? Input::Kind::state
                                                    : Input::Kind::seed;
    if (input.kind == Input::Kind::given) {
      input.number = PyLong_AsSize_t(source);
      if (PyErr_Occurred()) return false;
      plan.given = std::max(plan.given, input.number + 1);
    } else {
      input.source = new_reference(source);
    }
  }
  return true;
}

// (callable, its arguments, description), or (None, the state, description).
bool parse_outputs(PyObject* descriptions, Plan& plan) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(descriptions); ++i) {
    PyObject *maker = nullptr, *source = nullptr, *wanted = nullptr;
    if (!PyArg_ParseTuple(PyTuple_GetItem(descriptions, i), "OOO", &maker, &source, &wanted)) return false;
    Output& output = plan.outputs.emplace_back();
    if (!parse_wanted(wanted, output.wanted)) return false;
    if (maker == Py_None) {
      output.state = new_reference(source);
      plan.changes_state = true;
    } else {
      output.maker = new_reference(maker);
      output.arguments = new_reference(source);
    }
  }
  return true;
}

bool parse_weights(PyObject* weights, Plan& plan) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(weights); ++i) {
    PyObject* tensor = PyTuple_GetItem(weights, i);
    DlTensor seen;
    if (!look_at(tensor, seen)) {
      PyErr_Format(PyExc_ValueError, "weight %zd has no memory", i);
      return false;
    }
    plan.weights.push_back({new_reference(tensor), seen.data, version_of(tensor)});
  }
  return true;
}

bool parse_places(PyObject* places, Plan& plan) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(places); ++i) {
    PyObject *dictionary, *key, *object;
    if (!PyArg_ParseTuple(PyTuple_GetItem(places, i), "O!OO", &PyDict_Type, &dictionary, &key, &object))
      return false;
    plan.places.push_back({new_reference(dictionary), new_reference(key), new_reference(object)});
  }
  return true;
}

// Call(program, (device type, index), positional trees, keyword names, keyword trees, inputs, outputs, result
// tree, weights, places)
PyObject* create(PyTypeObject* type, PyObject* arguments, PyObject*) {
  PyObject *program, *positional, *names, *keyword, *inputs, *outputs, *result, *weights, *places;
  auto plan = std::make_unique<Plan>();
  if (!PyArg_ParseTuple(arguments, "O(ii)O!O!O!O!O!OO!O!", &program, &plan->device.type, &plan->device.index,
                        &PyTuple_Type, &positional, &PyTuple_Type, &names, &PyTuple_Type, &keyword,
                        &PyTuple_Type, &inputs, &PyTuple_Type, &outputs, &result, &PyTuple_Type, &weights,
                        &PyTuple_Type, &places) ||
      !find_torch())
    return nullptr;
  plan->program = new_reference(program);
  for (Py_ssize_t i = 0; i < PyTuple_Size(names); ++i)
    plan->names.push_back(new_reference(PyTuple_GetItem(names, i)));
  if (!parse_trees(positional, plan->positional) || !parse_trees(keyword, plan->keyword) ||
      !parse_inputs(inputs, *plan) || !parse_outputs(outputs, *plan) || !parse_weights(weights, *plan) ||
      !parse_places(places, *plan) || !plan->result.parse(result))
    return nullptr;
  for (const auto* trees : {&plan->positional, &plan->keyword})
    for (const Tree& tree : *trees)
      plan->given = std::max(plan->given, static_cast<size_t>(tree.last_tensor() + 1));
  auto* self = reinterpret_cast<Call*>(PyType_GenericAlloc(type, 0));
  if (self) self->plan = plan.release();
  return reinterpret_cast<PyObject*>(self);
}

void deallocate(PyObject* object) {
  delete reinterpret_cast<Call*>(object)->plan;
  PyTypeObject* type = Py_TYPE(object);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

// Tensors made during a call, let go at its end.
struct Made {
  std::vector<PyObject*> results;  // in the order of outputs that are made
  std::vector<PyObject*> others;
  ~Made() {
    for (PyObject* tensor : results) Py_DECREF(tensor);
    for (PyObject* tensor : others) Py_DECREF(tensor);
  }
};

enum class Ready { yes, no, failed };

Ready prepare_inputs(const Plan& plan, const std::vector<PyObject*>& given, Made& made,
                     std::vector<StitchTensor>& out) {
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const Input& input = plan.inputs[i];
    PyObject* tensor = input.kind == Input::Kind::given ? given[input.number] : input.source;
    if (input.kind == Input::Kind::seed) {
      tensor = PyObject_CallObject(input.source, nullptr);
      if (!tensor) return Ready::failed;
      made.others.push_back(tensor);
    }
    DlTensor seen;
    if (!tensor || !look_at(tensor, seen) || !fits(seen, input.wanted, plan.device, out[i])) return Ready::no;
    if (input.kind == Input::Kind::given && requires_grad(tensor) && grad_mode_is_on()) return Ready::no;
  }
  return Ready::yes;
}

Ready prepare_outputs(const Plan& plan, Made& made, std::vector<StitchTensor>& out) {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const Output& output = plan.outputs[i];
    PyObject* tensor = output.state;
    if (output.maker) {
      tensor = PyObject_CallObject(output.maker, output.arguments);
      if (!tensor) return Ready::failed;
      made.results.push_back(tensor);
    }
    DlTensor seen;
    if (!look_at(tensor, seen) || !fits(seen, output.wanted, plan.device, out[i])) return Ready::no;
  }
  return Ready::yes;
}

PyObject* run(const Plan& plan, const std::vector<PyObject*>& given) {
  Program* program = plan.compiled();
  if (program->forks != forks_so_far() || (plan.changes_state && !plan.weights_are_as_packed()))
    return the_long_way();
  Made made;
  std::vector<StitchTensor> inputs(plan.inputs.size() + 1), outputs(plan.outputs.size() + 1);
  Ready ready = prepare_inputs(plan, given, made, inputs);
  if (ready == Ready::yes) ready = prepare_outputs(plan, made, outputs);
  if (ready == Ready::failed) return nullptr;
  if (ready == Ready::no) return the_long_way();

  void* stream = current_stream(plan.device);
  int status = 0;
  bool broken = false;
  Py_BEGIN_ALLOW_THREADS;
  status = program->run(program->program, inputs.data(), static_cast<int>(plan.inputs.size()), outputs.data(),
                        static_cast<int>(plan.outputs.size()), stream);
  broken = status == STITCH_OK && program->wait && program->wait() != 0;
  Py_END_ALLOW_THREADS;
  if (status != STITCH_OK || broken) {
    PyErr_Format(PyExc_RuntimeError, "%s", broken ? "the emulated GPU failed" : program->last_error());
    return nullptr;
  }
  if (!plan.changes_state && !plan.weights_are_as_packed()) return the_long_way();
  return plan.result.build(made.results);
}

// Held while a call runs without the interpreter's lock: another thread may replace the module's Call.
struct Held {
  PyObject* object;
  explicit Held(PyObject* held) : object(new_reference(held)) {}
  ~Held() { Py_DECREF(object); }
};

PyObject* call(PyObject* object, PyObject* arguments, PyObject* named) {
  const Plan& plan = *reinterpret_cast<Call*>(object)->plan;
  Held held(object);
  const Py_ssize_t count = PyTuple_Size(arguments);
  const Py_ssize_t named_count = named ? PyDict_Size(named) : 0;
  if (static_cast<size_t>(count) != plan.positional.size() ||
      static_cast<size_t>(named_count) != plan.names.size())
    return the_long_way();
  std::vector<PyObject*> given(plan.given);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!plan.positional[static_cast<size_t>(i)].match(PyTuple_GetItem(arguments, i), given))
      return the_long_way();
  for (size_t i = 0; i < plan.names.size(); ++i) {
    PyObject* value = PyDict_GetItemWithError(named, plan.names[i]);
    if (!value) PyErr_Clear();
    if (!value || !plan.keyword[i].match(value, given)) return the_long_way();
  }
  return run(plan, given);
}

// flat(tensors): the same for tensors that were found among the arguments already.
PyObject* flat(PyObject* object, PyObject* tensors) {
  const Plan& plan = *reinterpret_cast<Call*>(object)->plan;
  Held held(object);
  if (!PyTuple_CheckExact(tensors) || static_cast<size_t>(PyTuple_Size(tensors)) < plan.given)
    return the_long_way();
  std::vector<PyObject*> given;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tensors); ++i) {
    given.push_back(PyTuple_GetItem(tensors, i));
    if (!is_plain_tensor(given.back())) return the_long_way();
  }
  return run(plan, given);
}

PyObject* is_current(PyObject* object, PyObject*) {
  const Plan& plan = *reinterpret_cast<Call*>(object)->plan;
  return PyBool_FromLong(plan.compiled()->forks == forks_so_far() && plan.weights_are_as_packed());
}

}  // namespace

PyObject* make_call_type() {
  static PyMethodDef methods[] = {
      {"flat", flat, METH_O, "flat(tensors): call with the input tensors alone, in order."},
      {"is_current", is_current, METH_NOARGS, "Whether the weights are as they were packed."},
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(create)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                {Py_tp_call, reinterpret_cast<void*>(call)},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, const_cast<char*>("A program and how it is called.")},
                                {0, nullptr}};
  static PyType_Spec spec = {"stitchcuda._call.Call", sizeof(Call), 0, Py_TPFLAGS_DEFAULT, slots};
  return PyType_FromSpec(&spec);
}

}  // namespace stitch::call
