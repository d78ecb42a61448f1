// What this program is; the tensors of the ABI, in order.
#include "stitch/program.h"

const char* stitch_manifest(void) {
  return R"manifest({
  "stitch": 1,
  "name": "matmul_bias_gelu",
  "class": "default",
  "parameters": [
    {"name":"linear.weight","role":"parameter","dtype":"f32","shape":[180,260],"data":"linear.weight"},
    {"name":"linear.bias","role":"parameter","dtype":"f32","shape":[180],"data":"linear.bias"}
  ],
  "inputs": [
    {"name":"x","role":"input","dtype":"f32","shape":[100,260]}
  ],
  "outputs": [
    {"name":"gelu","role":"output","dtype":"f32","shape":[100,180]}
  ],
  "regions": [
    {
      "name": "linear_gelu",
      "file": "regions/linear_gelu.cu",
      "technique": "tiled product on CUDA cores, bias and GELU in the epilogue",
      "nodes": ["linear","gelu"],
      "reads": [
        {"value":"x","dtype":"f32","shape":[100,260]}
      ],
      "writes": [
        {"value":"gelu","dtype":"f32","shape":[100,180]}
      ]
    }
  ],
  "libraries": []
}
)manifest";
}
