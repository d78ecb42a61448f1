// What this program is; the tensors of the ABI, in order.
#include "stitch/program.h"

const char* stitch_manifest(void) {
  return R"manifest({
  "stitch": 1,
  "name": "mlp",
  "class": "default",
  "parameters": [
    {"name":"fc1.weight","role":"parameter","dtype":"f32","shape":[500,256],"data":"fc1.weight"},
    {"name":"fc1.bias","role":"parameter","dtype":"f32","shape":[500],"data":"fc1.bias"},
    {"name":"fc2.weight","role":"parameter","dtype":"f32","shape":[100,500],"data":"fc2.weight"},
    {"name":"fc2.bias","role":"parameter","dtype":"f32","shape":[100],"data":"fc2.bias"}
  ],
  "inputs": [
    {"name":"x","role":"input","dtype":"f32","shape":[60,256]}
  ],
  "outputs": [
    {"name":"linear_1","role":"output","dtype":"f32","shape":[60,100]}
  ],
  "regions": [
    {
      "name": "fc1",
      "file": "program.cu",
      "technique": "cuBLASLt with bias and ReLU in the epilogue",
      "nodes": ["linear","relu"],
      "reads": [
        {"value":"x","dtype":"f32","shape":[60,256]}
      ],
      "writes": [
        {"value":"relu","dtype":"f32","shape":[60,500]}
      ]
    },
    {
      "name": "fc2",
      "file": "program.cu",
      "technique": "cuBLASLt with bias in the epilogue",
      "nodes": ["linear_1"],
      "reads": [
        {"value":"relu","dtype":"f32","shape":[60,500]}
      ],
      "writes": [
        {"value":"linear_1","dtype":"f32","shape":[60,100]}
      ]
    }
  ],
  "libraries": ["cublasLt"]
}
)manifest";
}
