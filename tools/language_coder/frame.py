"""The fixed part of a candidate. An answer is the kernels and `forward`; the frame is the rest of the C ABI around it.

The frame checks tensors, keeps the weights and lends scratch memory. It computes nothing: what the Verifier finds right or
wrong is the answer's.
"""

import dataclasses
import json
import math
import re

SCRATCH_BUFFERS = 8
C_TYPES = {"f32": "float", "f16": "__half", "bf16": "__nv_bfloat16", "f64": "double", "i64": "int64_t", "i32": "int32_t"}

# What an answer may use, and the header that has it: only those are compiled.
HEADERS = (
    (r"stitch::(enqueue_product)", "stitch/kernels/matmul.h"),
    (r"stitch::(load_vector|store_vector|Pack)", "stitch/loops/load.h"),
    (r"stitch::(widened|narrowed)|__half|__nv_bfloat16", "stitch/loops/vector.h"),
    (r"stitch::(reduce_|Add\b|Maximum|Minimum|Multiply|ExpSum|Extreme|Merged)", "stitch/loops/reduce.h"),
    (r"stitch::scan_", "stitch/loops/scan.h"),
    (r"stitch::(window|Window)", "stitch/loops/window.h"),
    (r"stitch::(Welford|welford)", "stitch/runtime/welford.h"),
)


@dataclasses.dataclass(frozen=True)
class Tensor:
    name: str  # as an argument of forward
    dtype: str
    shape: tuple
    data: str = ""  # a parameter's key
    role: str = "input"

    @property
    def elements(self):
        return math.prod(self.shape)

    @property
    def c_type(self):
        return C_TYPES[self.dtype]


@dataclasses.dataclass(frozen=True)
class Contract:
    """What goes in and out of a task, in the order of the C ABI."""
    task: str
    parameters: tuple
    inputs: tuple
    output: Tensor
    scratch_bytes: int  # of one buffer

    @property
    def arguments(self):
        return (*self.inputs, *self.parameters, self.output)

    def signature(self):
        tensors = [f"{'' if each is self.output else 'const '}{each.c_type}* {each.name}" for each in self.arguments]
        return f"StitchStatus forward({', '.join(tensors)}, Scratch& scratch, cudaStream_t stream)"

    def to_json(self):
        return {"task": self.task, "scratch_bytes": self.scratch_bytes,
                **{key: [dataclasses.asdict(each) for each in getattr(self, key)] for key in ("parameters", "inputs")},
                "output": dataclasses.asdict(self.output)}

    @staticmethod
    def from_json(document):
        def tensor(fields):
            return Tensor(**{**fields, "shape": tuple(fields["shape"])})
        return Contract(document["task"], tuple(map(tensor, document["parameters"])), tuple(map(tensor, document["inputs"])),
                        tensor(document["output"]), document["scratch_bytes"])


def identifier(name):
    return re.sub(r"\W", "_", name)


def contract_of(manifest, most_elements):
    """Of a program's manifest (manifest.json); `most_elements`: of the largest value between its nodes."""
    def tensor(entry, name=None):
        return Tensor(name or identifier(entry["name"]), entry["dtype"], tuple(entry["shape"]), entry.get("data", ""), entry["role"])
    if len(manifest["outputs"]) != 1 or any(entry["role"] != "input" for entry in manifest["inputs"]):
        raise ValueError("more than one output, or state")
    output = tensor(manifest["outputs"][0], "out")
    inputs = tuple(map(tensor, manifest["inputs"]))
    parameters = tuple(map(tensor, manifest["parameters"]))
    for each in (*inputs, *parameters, output):
        if each.dtype not in C_TYPES:
            raise ValueError(f"dtype {each.dtype}")
    most = max([most_elements, *(each.elements for each in (*inputs, *parameters, output))])
    return Contract(manifest["name"], parameters, inputs, output, 4 * most)


def _contracts(tensors):
    made = []
    for each in tensors:
        shape = ", {" + ", ".join(map(str, each.shape)) + "}" if each.shape else ""
        made.append(f'stitch::contract("{each.name}", STITCH_{each.dtype.upper()}{shape})')
    return "stitch::contracts(" + ", ".join(made) + ")"


def _manifest(contract):
    def entry(tensor):
        out = {"name": tensor.name, "role": tensor.role, "dtype": tensor.dtype, "shape": list(tensor.shape)}
        return {**out, "data": tensor.data} if tensor.data else out
    return json.dumps({"stitch": 1, "name": contract.task, "class": "default",
                       "parameters": [entry(each) for each in contract.parameters], "inputs": [entry(each) for each in contract.inputs],
                       "outputs": [entry(contract.output)], "regions": [], "libraries": []})


FRAME = '''#include <cstdint>

{headers}
#include "stitch/loops/math.h"
#include "stitch/runtime/arena.h"
#include "stitch/runtime/exports.h"
#include "stitch/runtime/launch.h"

namespace {{

struct Scratch {{
  void* buffers[{buffers}];
  template <class T>
  T* of(int which) const {{
    return static_cast<T*>(buffers[which]);
  }}
}};
template <class... Pointers>
bool aligned_to(size_t bytes, const Pointers*... pointers) {{
  return (... && stitch::is_aligned(pointers, bytes));
}}

{answer}

constexpr auto parameters = {parameters};
constexpr auto inputs = {inputs};
constexpr auto outputs = {outputs};
constexpr size_t scratch_bytes = stitch::arena_size({scratch_bytes});

}}  // namespace

struct StitchProgram {{
  int device = 0;
  stitch::Arena arena;
  Scratch scratch = {{}};
{fields}
  StitchStatus create(const StitchTensor* params) {{
    (void)params;
    STITCH_OK_OR_RETURN(arena.allocate({used} * scratch_bytes + {weight_bytes}));
    char* at = nullptr;
    STITCH_OK_OR_RETURN(arena.place("scratch", 0, {used} * scratch_bytes + {weight_bytes}, &at));
    for (int i = 0; i < {used}; ++i) scratch.buffers[i] = at + i * scratch_bytes;
{copies}    return STITCH_OK;
  }}

  StitchStatus run(const StitchTensor* in, const StitchTensor* out, cudaStream_t stream) {{
    return forward({arguments}, scratch, stream);
  }}
}};

int stitch_create(const StitchTensor* params, int count, int device, StitchProgram** out) {{
  return stitch::create_program(parameters, params, count, device, out);
}}
int stitch_run(StitchProgram* program, const StitchTensor* in, int n_in, StitchTensor* out, int n_out, void* stream) {{
  return stitch::run_program(program, inputs, in, n_in, outputs, out, n_out, stream);
}}
void stitch_destroy(StitchProgram* program) {{ stitch::destroy_program(program); }}
const char* stitch_last_error(void) {{ return stitch::last_error(); }}
const char* stitch_manifest(void) {{ return R"manifest({manifest})manifest"; }}
'''

ITEM_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "f64": 8, "i64": 8, "i32": 4}


def candidate(contract, answer):
    """The whole source, as the reward service takes it."""
    text = contract.signature() + answer
    headers = [f'#include "{header}"' for pattern, header in HEADERS if re.search(pattern, text)]
    buffers = [int(which) for which in re.findall(r"scratch\.of<[^>]*>\((\d+)\)", answer)]
    used = min(SCRATCH_BUFFERS, max(buffers, default=-1) + 1)
    fields, copies, offset = "", "", 0
    for i, each in enumerate(contract.parameters):
        fields += f"  {each.c_type}* {each.name} = nullptr;  // ({', '.join(map(str, each.shape))})\n"
        copies += (f"    {each.name} = reinterpret_cast<{each.c_type}*>(at + {used} * scratch_bytes + {offset});\n"
                   f"    STITCH_OK_OR_RETURN(stitch::copy_weight({each.name}, params[{i}], {each.elements}));\n")
        offset += -(-each.elements * ITEM_BYTES[each.dtype] // 256) * 256
    arguments = [f"stitch::data<const {each.c_type}>(in[{i}])" for i, each in enumerate(contract.inputs)]
    arguments += [each.name for each in contract.parameters] + [f"stitch::data<{contract.output.c_type}>(out[0])"]
    return FRAME.format(headers="\n".join(headers), buffers=SCRATCH_BUFFERS, answer=answer.strip(), used=used, fields=fields, copies=copies,
                        parameters=_contracts(contract.parameters), inputs=_contracts(contract.inputs),
                        outputs=_contracts((contract.output,)), scratch_bytes=max(1, contract.scratch_bytes), weight_bytes=offset,
                        arguments=", ".join(arguments), manifest=_manifest(contract))
