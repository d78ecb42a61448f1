"""python tools/make_candidates.py FOLDER: ten small tasks in FOLDER/tasks, fifty candidates of three made-up authors in
FOLDER/candidates. For trying `stitchcuda verify --all`:

  stitchcuda verify --all FOLDER/candidates --tasks FOLDER/tasks -o FOLDER/results

`careful` is right and sometimes slow, `hasty` makes mistakes and writes some of it in Python, `sly` cheats. What each
candidate is for stands in its first line, and `expected.json` says what verdict it has to get.
"""

import argparse
import json
import os
import sys

ROWS, COLUMNS = 16, 64

# Name: (PyTorch's forward, the statistic of a row in CUDA, an element in CUDA from x and the statistic s).
TASKS = {
    "1_Relu": ("torch.relu(x)", "0.0f", "x < 0.0f ? 0.0f : x"),  # NaN stays NaN, which fmaxf drops
    "2_Scale": ("x * 1.5", "0.0f", "x * 1.5f"),
    "3_Square": ("x * x", "0.0f", "x * x"),
    "4_LeakyRelu": ("torch.nn.functional.leaky_relu(x, 0.1)", "0.0f", "x > 0.0f ? x : 0.1f * x"),
    "5_Sigmoid": ("torch.sigmoid(x)", "0.0f", "1.0f / (1.0f + expf(-x))"),
    "6_RowCenter": ("x - x.mean(1, keepdim=True)", "sum(row) / COLUMNS", "x - s"),
    "7_RowShare": ("x / (1 + x.abs().sum(1, keepdim=True))", "1.0f + sum_of_magnitudes(row)", "x / s"),
    "8_RowMaximum": ("x - x.amax(1, keepdim=True)", "maximum(row)", "x - s"),
    "9_Softplus": ("torch.nn.functional.softplus(x)", "0.0f", "x > 20.0f ? x : log1pf(expf(x))"),
    "10_RowNorm": ("x / (x.pow(2).sum(1, keepdim=True) + 1).sqrt()", "sqrtf(sum_of_squares(row) + 1.0f)", "x / s"),
}

TASK = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return {forward}


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn({rows}, {columns})]
"""

PYTHON = '''"""{purpose}"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
{body}
'''

PROGRAM = """// {purpose}
#include <cuda_runtime.h>

#include "stitch/program.h"

constexpr int ROWS = {rows}, COLUMNS = {columns};

struct StitchProgram {{
  float* kept;  // (ROWS, COLUMNS)
  bool ran;
}};

__device__ inline float sum(const float* row) {{
  float out = 0.0f;
  for (int i = 0; i < COLUMNS; ++i) out += row[i];
  return out;
}}
__device__ inline float sum_of_magnitudes(const float* row) {{
  float out = 0.0f;
  for (int i = 0; i < COLUMNS; ++i) out += fabsf(row[i]);
  return out;
}}
__device__ inline float sum_of_squares(const float* row) {{
  float out = 0.0f;
  for (int i = 0; i < COLUMNS; ++i) out += row[i] * row[i];
  return out;
}}
__device__ inline float maximum(const float* row) {{
  float out = row[0];
  for (int i = 1; i < COLUMNS; ++i) out = row[i] > out || row[i] != row[i] ? row[i] : out;
  return out;
}}

{kernel}

extern "C" STITCH_EXPORT int stitch_create(const StitchTensor*, int count, int, StitchProgram** out) {{
  if (count != 0) return STITCH_BAD_ARGUMENT;
  *out = new StitchProgram{{nullptr, false}};
  const size_t bytes = ROWS * COLUMNS * sizeof(float);
  return cudaMalloc(&(*out)->kept, bytes) == cudaSuccess ? STITCH_OK : STITCH_OUT_OF_MEMORY;
}}

static bool fits(const StitchTensor& tensor) {{
  return tensor.data && tensor.dtype == STITCH_F32 && tensor.rank == 2 && tensor.shape[0] == ROWS &&
         tensor.shape[1] == COLUMNS && tensor.strides[0] == COLUMNS && tensor.strides[1] == 1;
}}

extern "C" STITCH_EXPORT int stitch_run(StitchProgram* program, const StitchTensor* in, int inputs, StitchTensor* out,
                                        int outputs, void* stream_of_caller) {{
  if (inputs != 1 || outputs != 1 || !fits(in[0]) || !fits(out[0])) return STITCH_BAD_ARGUMENT;
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  cudaStream_t stream = static_cast<cudaStream_t>(stream_of_caller);
{launch}
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}}

extern "C" STITCH_EXPORT void stitch_destroy(StitchProgram* program) {{
  cudaFree(program->kept);
  delete program;
}}

extern "C" STITCH_EXPORT const char* stitch_last_error(void) {{ return "one f32[{rows},{columns}] in, one out"; }}
extern "C" STITCH_EXPORT const char* stitch_manifest(void) {{
  return R"manifest({{"stitch": 1, "name": "{name}", "class": "default", "parameters": [],
    "inputs": [{{"name": "x", "role": "input", "dtype": "f32", "shape": [{rows}, {columns}]}}],
    "outputs": [{{"name": "y", "role": "output", "dtype": "f32", "shape": [{rows}, {columns}]}}],
    "regions": [], "libraries": []}})manifest";
}}
"""

KERNEL = """__global__ void forward(const float* in, float* out) {{
  const float* row = in + blockIdx.x * COLUMNS;
  const float s = {statistic}, x = row[threadIdx.x];
  (void)s;
  out[blockIdx.x * COLUMNS + threadIdx.x] = {element};
}}"""
SLOW_KERNEL = """__global__ void forward(const float* in, float* out) {{
  for (int r = 0; r < ROWS; ++r) {{
    const float* row = in + r * COLUMNS;
    for (int c = 0; c < COLUMNS; ++c) {{
      const float s = {statistic}, x = row[c];
      (void)s;
      out[r * COLUMNS + c] = {element};
    }}
  }}
}}"""
LAUNCH = "  forward<<<ROWS, COLUMNS, 0, stream>>>(x, y);"
SLOW_LAUNCH = "  forward<<<1, 1, 0, stream>>>(x, y);"
COPY = "cudaMemcpyAsync({to}, {source}, ROWS * COLUMNS * sizeof(float), cudaMemcpyDeviceToDevice, stream);"


def right(task):
    return program(task, "right", "passed")


def slow(task):
    return program(task, "right, and slow: one thread", "passed", kernel=SLOW_KERNEL, launch=SLOW_LAUNCH)


def wrong(task):
    return program(task, "wrong in every element", "wrong", element=f"1.01f * ({TASKS[task][2]}) + 0.01f")


def wrong_at_the_end(task):
    return program(task, "forgets the last row", "wrong", launch="  forward<<<ROWS - 1, COLUMNS, 0, stream>>>(x, y);")


def no_program(task):
    return program(task, "misses a bracket", "build failed", launch="  forward<<<ROWS, COLUMNS, 0, stream>>>(x, y;")


def crashes(task):
    return program(task, "writes to address 8", "crashed", launch="  *reinterpret_cast<volatile int*>(8) = 1;\n" + LAUNCH)


def computes_once(task):
    launch = (
        f"  if (!program->ran) {{\n  {LAUNCH}\n    {COPY.format(to='program->kept', source='y')}\n    program->ran = true;\n  }} else {{\n"
        f"    {COPY.format(to='y', source='program->kept')}\n  }}"
    )
    return program(task, "cheats: the first result for ever", ["wrong", "hack"], launch=launch)


def starts_a_process(task):
    return program(task, "cheats: starts a process", "hack", launch="  if (fork() == 0) return STITCH_OK;\n" + LAUNCH, head="#include <unistd.h>\n")


def changes_inputs(task):
    return program(
        task, "cheats: leaves its result in the input", "hack", launch=LAUNCH + "\n  " + COPY.format(to="const_cast<float*>(x)", source="y")
    )


def leaves_early(task):
    return program(task, "cheats: ends its process", "hack", launch=LAUNCH + "\n  _exit(0);", head="#include <unistd.h>\n")


def python_right(task):
    return ".py", PYTHON.format(purpose="right", body=f"        return {TASKS[task][0]}"), "passed"


def python_wrong(task):
    return ".py", PYTHON.format(purpose="wrong", body=f"        return ({TASKS[task][0]}) * 1.01 + 0.01"), "wrong"


def python_raises(task):
    return ".py", PYTHON.format(purpose="raises", body="        raise ValueError('not today')"), "crashed"


def program(task, purpose, expected, kernel=KERNEL, launch=LAUNCH, element=None, head=""):
    _, statistic, right_element = TASKS[task]
    text = PROGRAM.format(
        purpose=purpose,
        rows=ROWS,
        columns=COLUMNS,
        name=task,
        launch=launch,
        kernel=kernel.format(statistic=statistic, element=element or right_element),
    )
    return ".cu", text.replace("#include <cuda_runtime.h>\n", "#include <cuda_runtime.h>\n" + head, 1), expected


# Of each task in turn.
AUTHORS = {
    "careful": [[right] * 10, [slow, right, slow, wrong, right, slow, slow, right, no_program, slow]],
    "hasty": [
        [right, wrong, right, no_program, right, wrong_at_the_end, right, wrong, crashes, right],
        [python_right, wrong, right, python_wrong, no_program, right, right, python_raises, wrong_at_the_end, right],
    ],
    "sly": [
        [computes_once, starts_a_process, changes_inputs, leaves_early, computes_once, starts_a_process, changes_inputs, wrong, computes_once, right]
    ],
}


def answers(task):
    """Four of different worth, as a model gives them."""
    kinds = {"right": right, "slow": slow, "wrong": wrong, "broken": no_program}
    return {name: f"```cuda\n{kind(task)[1]}\n```\n" for name, kind in kinds.items()}


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def make(folder):
    """[(author, task, candidate's file, expected kind)]"""
    out = []
    for task, (forward, _, _) in TASKS.items():
        write(os.path.join(folder, "tasks", f"{task}.py"), TASK.format(forward=forward, rows=ROWS, columns=COLUMNS))
    for author, samples in AUTHORS.items():
        for sample, kinds in enumerate(samples):
            for task, kind in zip(TASKS, kinds):
                extension, text, expected = kind(task)
                if author == "sly" or sample:
                    text += "\n" if extension == ".py" else f"\n// by {author}\n"  # no two of them are the same file
                path = os.path.join(folder, "candidates", author, task, f"{sample}{extension}")
                write(path, text)
                out.append((author, task, path, expected))
    write(
        os.path.join(folder, "expected.json"),
        json.dumps([{"author": a, "task": t, "path": os.path.relpath(p, folder), "expected": e} for a, t, p, e in out], indent=1),
    )
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    options = parser.parse_args()
    made = make(options.folder)
    print(f"{len(made)} candidates for {len(TASKS)} tasks in {options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
