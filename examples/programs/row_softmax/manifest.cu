// What this program is; the tensors of the ABI, in order.
#include "stitch/program.h"

const char* stitch_manifest(void) {
  return R"manifest({
  "stitch": 1,
  "name": "row_softmax",
  "class": "default",
  "parameters": [],
  "inputs": [
    {"name":"x","role":"input","dtype":"f32","shape":[64,1000]}
  ],
  "outputs": [
    {"name":"softmax","role":"output","dtype":"f32","shape":[64,1000]}
  ],
  "regions": [
    {
      "name": "row_softmax",
      "file": "regions/row_softmax.cu",
      "technique": "a block a row, the row in registers",
      "nodes": ["softmax"],
      "reads": [
        {"value":"x","dtype":"f32","shape":[64,1000]}
      ],
      "writes": [
        {"value":"softmax","dtype":"f32","shape":[64,1000]}
      ]
    }
  ],
  "libraries": []
}
)manifest";
}
