// What this program is; the tensors of the ABI, in order.
#include "stitch/program.h"

const char* stitch_manifest(void) {
  return R"manifest({
  "stitch": 1,
  "name": "layer_norm",
  "class": "default",
  "parameters": [
    {"name":"norm.weight","role":"parameter","dtype":"f32","shape":[772],"data":"norm.weight"},
    {"name":"norm.bias","role":"parameter","dtype":"f32","shape":[772],"data":"norm.bias"}
  ],
  "inputs": [
    {"name":"x","role":"input","dtype":"f32","shape":[50,772]}
  ],
  "outputs": [
    {"name":"layer_norm","role":"output","dtype":"f32","shape":[50,772]}
  ],
  "regions": [
    {
      "name": "layer_norm",
      "file": "regions/layer_norm.cu",
      "technique": "a warp a row, the row in registers",
      "nodes": ["layer_norm"],
      "reads": [
        {"value":"x","dtype":"f32","shape":[50,772]}
      ],
      "writes": [
        {"value":"layer_norm","dtype":"f32","shape":[50,772]}
      ]
    }
  ],
  "libraries": []
}
)manifest";
}
