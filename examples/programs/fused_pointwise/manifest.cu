// What this program is; the tensors of the ABI, in order.
#include "stitch/program.h"

const char* stitch_manifest(void) {
  return R"manifest({
  "stitch": 1,
  "name": "fused_pointwise",
  "class": "default",
  "parameters": [
    {"name":"scale","role":"parameter","dtype":"f32","shape":[33,1],"data":"scale"},
    {"name":"shift","role":"parameter","dtype":"f32","shape":[33,1],"data":"shift"}
  ],
  "inputs": [
    {"name":"x","role":"input","dtype":"f32","shape":[8,33,100]},
    {"name":"residual","role":"input","dtype":"f32","shape":[8,33,100]}
  ],
  "outputs": [
    {"name":"add_1","role":"output","dtype":"f32","shape":[8,33,100]}
  ],
  "regions": [
    {
      "name": "gated_residual",
      "file": "regions/gated_residual.cu",
      "technique": "pointwise chain in one pass",
      "nodes": ["mul","add","silu","add_1"],
      "reads": [
        {"value":"x","dtype":"f32","shape":[8,33,100]},
        {"value":"residual","dtype":"f32","shape":[8,33,100]}
      ],
      "writes": [
        {"value":"add_1","dtype":"f32","shape":[8,33,100]}
      ]
    }
  ],
  "libraries": []
}
)manifest";
}
