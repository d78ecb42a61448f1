// What this program is; the tensors of the ABI, in order.
#include "stitch/program.h"

const char* stitch_manifest(void) {
  return R"manifest({
  "stitch": 1,
  "name": "conv_batch_norm_relu",
  "class": "default",
  "parameters": [
    {"name":"conv.weight","role":"parameter","dtype":"f32","shape":[10,8,3,3],"data":"conv.weight"},
    {"name":"conv.bias","role":"parameter","dtype":"f32","shape":[10],"data":"conv.bias"},
    {"name":"norm.weight","role":"parameter","dtype":"f32","shape":[10],"data":"norm.weight"},
    {"name":"norm.bias","role":"parameter","dtype":"f32","shape":[10],"data":"norm.bias"}
  ],
  "inputs": [
    {"name":"x","role":"input","dtype":"f32","shape":[4,8,17,15]},
    {"name":"norm.running_mean","role":"state","dtype":"f32","shape":[10],"data":"norm.running_mean"},
    {"name":"norm.running_var","role":"state","dtype":"f32","shape":[10],"data":"norm.running_var"},
    {"name":"norm.num_batches_tracked","role":"state","dtype":"i64","shape":[],
         "data":"norm.num_batches_tracked"}
  ],
  "outputs": [
    {"name":"relu","role":"output","dtype":"f32","shape":[4,10,17,15]},
    {"name":"batch_norm.batch_norm.1","role":"update","dtype":"f32","shape":[10],
         "data":"norm.running_mean","target":"norm.running_mean"},
    {"name":"batch_norm.batch_norm.2","role":"update","dtype":"f32","shape":[10],
         "data":"norm.running_var","target":"norm.running_var"},
    {"name":"add","role":"update","dtype":"i64","shape":[],"data":"norm.num_batches_tracked",
         "target":"norm.num_batches_tracked"}
  ],
  "regions": [
    {
      "name": "conv",
      "file": "regions/conv.cu",
      "technique": "an image in shared memory, exact FP32",
      "nodes": ["conv2d"],
      "reads": [
        {"value":"x","dtype":"f32","shape":[4,8,17,15]}
      ],
      "writes": [
        {"value":"conv2d","dtype":"f32","shape":[4,10,17,15]}
      ]
    },
    {
      "name": "batch_norm_relu",
      "file": "regions/batch_norm_relu.cu",
      "technique": "a block a channel, the channel in registers",
      "nodes": ["add_.full","add","batch_norm","relu"],
      "reads": [
        {"value":"conv2d","dtype":"f32","shape":[4,10,17,15]},
        {"value":"norm.running_mean","dtype":"f32","shape":[10]},
        {"value":"norm.running_var","dtype":"f32","shape":[10]},
        {"value":"norm.num_batches_tracked","dtype":"i64","shape":[]}
      ],
      "writes": [
        {"value":"relu","dtype":"f32","shape":[4,10,17,15]},
        {"value":"batch_norm.batch_norm.1","dtype":"f32","shape":[10]},
        {"value":"batch_norm.batch_norm.2","dtype":"f32","shape":[10]},
        {"value":"add","dtype":"i64","shape":[]}
      ]
    }
  ],
  "libraries": []
}
)manifest";
}
