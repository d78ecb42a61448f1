// A compiled program in this process: its library and its packed weights.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "stitch/program.h"

namespace stitch::call {

struct Program {
  PyObject_HEAD StitchProgram* program;
  int (*run)(StitchProgram*, const StitchTensor*, int, StitchTensor*, int, void*);
  void (*destroy)(StitchProgram*);
  const char* (*last_error)();
  int (*wait)();  // for the emulated GPU to finish; null on a real one, which isn't waited for
  int forks;      // of this process when it was made: neither a GPU nor threads survive one
};

PyObject* make_program_type();
// How often this process was forked off another.
int forks_so_far();

}  // namespace stitch::call
