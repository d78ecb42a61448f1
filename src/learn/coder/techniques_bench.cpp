// Times every technique that takes a region, with its knobs, on this machine's GPU: cold calls, by the
// profiler's clock, of the kernels that programs ship. One line per choice, the Planner's first:
// microseconds, TB/s and TFLOP/s of what the region has to move and multiply, and the share of the GPU's
// floor.
//   techniques_bench [--numerics CLASS] [--choices N] [--list GPU] [PART OF A LABEL]...
// --list names what would be timed on a GPU, without one.
#include <algorithm>
#include <cstdio>

#include "base/format.h"
#include "gpu/gpu_detect.h"
#include "graph/text.h"
#include "learn/coder/choices.h"
#include "learn/coder/measure.h"
#include "plan/cost/estimate.h"

namespace stitch::learn {
namespace {

struct Case {
  const char *label, *inputs, *nodes, *output;
};

// Named for KernelBench's level and task where it is one of them.
constexpr Case cases[] = {
    {"L2-57 conv 3x3, 8 channels",
     "input %x : f32[128,8,128,128]\nparameter %w : f32[64,8,3,3]\nparameter %b : f32[64]",
     "%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[128,64,126,126]\n%y = relu(%c) : "
     "f32[128,64,126,126]",
     "%y"},
    {"L2-48 conv 3x3x3, 3 channels",
     "input %x : f32[128,3,16,64,64]\nparameter %w : f32[16,3,3,3,3]\nparameter %b : f32[16]",
     "%c = conv(%x, %w, %b) stride=[1,1,1] padding=[0,0,0] dilation=[1,1,1] : f32[128,16,14,62,62]\n%y = "
     "relu(%c) : f32[128,16,14,62,62]",
     "%y"},
    {"L2-65 conv 3x3 and a pool",
     "input %x : f32[128,8,384,384]\nparameter %w : f32[64,8,3,3]\nparameter %b : f32[64]",
     "%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[128,64,382,382]\n%y = "
     "avg_pool(%c) kernel=[4,4] stride=[4,4] padding=[0,0] : f32[128,64,95,95]",
     "%y"},
    {"L2-1 conv 3x3, 64 channels",
     "input %x : f32[128,64,128,128]\nparameter %w : f32[128,64,3,3]\nparameter %b : f32[128]",
     "%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[128,128,126,126]\n%y = relu(%c) "
     ": f32[128,128,126,126]",
     "%y"},
    {"L1-60 conv 3x5x7, 3 channels",
     "input %x : f32[16,3,64,64,64]\nparameter %w : f32[64,3,3,5,7]\nparameter %b : f32[64]",
     "%c = conv(%x, %w, %b) stride=[1,1,1] padding=[0,0,0] dilation=[1,1,1] : f32[16,64,62,60,58]", "%c"},
    {"L1-59 conv 3x3x1 of short rows",
     "input %x : f32[16,3,256,256,10]\nparameter %w : f32[64,3,3,3,1]\nparameter %b : f32[64]",
     "%c = conv(%x, %w, %b) stride=[1,1,1] padding=[0,0,0] dilation=[1,1,1] : f32[16,64,254,254,10]", "%c"},
    {"L1-76 conv 1d, stride 3, dilation 4",
     "input %x : f32[16,64,524280]\nparameter %w : f32[128,64,3]\nparameter %b : f32[128]",
     "%c = conv(%x, %w, %b) stride=[3] padding=[0] dilation=[4] : f32[16,128,174758]", "%c"},
    {"ResNet's first layer",
     "input %x : f32[32,3,224,224]\nparameter %w : f32[64,3,7,7]\nparameter %b : f32[64]",
     "%c = conv(%x, %w, %b) stride=[2,2] padding=[3,3] dilation=[1,1] : f32[32,64,112,112]\n%y = relu(%c) : "
     "f32[32,64,112,112]",
     "%y"},
    {"LeNet's first layer",
     "input %x : f32[4096,1,32,32]\nparameter %w : f32[6,1,5,5]\nparameter %b : f32[6]",
     "%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[4096,6,28,28]\n%y = relu(%c) : "
     "f32[4096,6,28,28]",
     "%y"},
    {"L1-82 depthwise 3x3",
     "input %x : f32[16,64,512,512]\nparameter %w : f32[64,1,3,3]\nparameter %b : f32[64]",
     "%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] groups=64 : f32[16,64,510,510]", "%c"},
    {"ConvNeXt depthwise 7x7",
     "input %x : f32[32,96,56,56]\nparameter %w : f32[96,1,7,7]\nparameter %b : f32[96]",
     "%c = conv(%x, %w, %b) stride=[1,1] padding=[3,3] dilation=[1,1] groups=96 : f32[32,96,56,56]", "%c"},
    {"L1-87 conv 1x1, 64 to 128",
     "input %x : f32[16,64,1024,1024]\nparameter %w : f32[128,64,1,1]\nparameter %b : f32[128]",
     "%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[16,128,1024,1024]", "%c"},
    {"L3-6 conv 1x1, 480 to 192",
     "input %x : f32[10,480,224,224]\nparameter %w : f32[192,480,1,1]\nparameter %b : f32[192]",
     "%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[10,192,224,224]\n%y = relu(%c) : "
     "f32[10,192,224,224]",
     "%y"},
    {"L3-25 conv 1x1 in 3 groups",
     "input %x : f32[10,240,224,224]\nparameter %w : f32[120,80,1,1]\nparameter %b : f32[120]",
     "%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] groups=3 : f32[10,120,224,224]", "%c"},
    {"MobileNet conv 1x1, 960 to 160",
     "input %x : f32[16,960,7,7]\nparameter %w : f32[160,960,1,1]\nparameter %b : f32[160]",
     "%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[16,160,7,7]\n%y = relu(%c) : "
     "f32[16,160,7,7]",
     "%y"},
    {"ShuffleNet conv 1x1, 58 to 58, fp16",
     "input %x : f16[16,58,28,28]\nparameter %w : f16[58,58,1,1]\nparameter %b : f16[58]",
     "%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f16[16,58,28,28]\n%y = relu(%c) : "
     "f16[16,58,28,28]",
     "%y"},
    {"conv 1x1 over one pixel",
     "input %x : f32[64,960,1,1]\nparameter %w : f32[240,960,1,1]\nparameter %b : f32[240]",
     "%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[64,240,1,1]\n%y = relu(%c) : "
     "f32[64,240,1,1]",
     "%y"},
    {"L2-58 transposed 3x3x3, stride 2",
     "input %x : f32[128,3,16,32,32]\nparameter %w : f32[3,16,3,3,3]\nparameter %b : f32[16]",
     "%c = conv_transpose(%x, %w, %b) stride=[2,2,2] padding=[1,1,1] dilation=[1,1,1] output_padding=[0,0,0] "
     ": f32[128,16,31,63,63]",
     "%c"},
    {"L2-78 transposed 5x5x5, stride 2",
     "input %x : f32[16,32,32,32,32]\nparameter %w : f32[32,64,5,5,5]\nparameter %b : f32[64]",
     "%c = conv_transpose(%x, %w, %b) stride=[2,2,2] padding=[2,2,2] dilation=[1,1,1] output_padding=[0,0,0] "
     ": f32[16,64,63,63,63]",
     "%c"},
    {"L1-75 transposed 3x5 in 4 groups",
     "input %x : f32[16,32,128,256]\nparameter %w : f32[32,16,3,5]\nparameter %b : f32[64]",
     "%c = conv_transpose(%x, %w, %b) stride=[2,3] padding=[1,2] dilation=[2,1] output_padding=[0,0] "
     "groups=4 : f32[16,64,257,766]",
     "%c"},
    {"L1-81 transposed 3x3, stride 5, dilation 2",
     "input %x : f32[16,32,64,128]\nparameter %w : f32[32,64,3,3]\nparameter %b : f32[64]",
     "%c = conv_transpose(%x, %w, %b) stride=[5,5] padding=[1,1] dilation=[2,2] output_padding=[0,0] : "
     "f32[16,64,318,638]",
     "%c"},
    {"L2-93 transposed 4x4, stride 2",
     "input %x : f32[128,64,64,64]\nparameter %w : f32[64,128,4,4]\nparameter %b : f32[128]",
     "%c = conv_transpose(%x, %w, %b) stride=[2,2] padding=[0,0] dilation=[1,1] output_padding=[0,0] : "
     "f32[128,128,130,130]",
     "%c"},
    {"L1-1 4096 cubed", "input %x : f32[4096,4096]\ninput %w : f32[4096,4096]",
     "%y = matmul(%x, %w) : f32[4096,4096]", "%y"},
    {"linear 1024 x 8192 x 8192",
     "input %x : f32[1024,8192]\nparameter %w : f32[8192,8192]\nparameter %b : f32[8192]",
     "%y = linear(%x, %w, %b) : f32[1024,8192]", "%y"},
    {"linear 128 x 16384 x 16384",
     "input %x : f32[128,16384]\nparameter %w : f32[16384,16384]\nparameter %b : f32[16384]",
     "%y = linear(%x, %w, %b) : f32[128,16384]", "%y"},
    {"linear 16384 x 4096 x 768",
     "input %x : f32[16384,768]\nparameter %w : f32[4096,768]\nparameter %b : f32[4096]",
     "%y = linear(%x, %w, %b) : f32[16384,4096]", "%y"},
    {"linear 32 x 1000 x 1280",
     "input %x : f32[32,1280]\nparameter %w : f32[1000,1280]\nparameter %b : f32[1000]",
     "%y = linear(%x, %w, %b) : f32[32,1000]", "%y"},
    {"linear 4 x 8192 x 8192",
     "input %x : f32[4,8192]\nparameter %w : f32[8192,8192]\nparameter %b : f32[8192]",
     "%y = linear(%x, %w, %b) : f32[4,8192]", "%y"},
    {"L1-6 depth 524288", "input %x : f32[256,524288]\ninput %w : f32[524288,256]",
     "%y = matmul(%x, %w) : f32[256,256]", "%y"},
    {"L1-4 matrix times vector", "input %x : f32[2048,1048576]\ninput %w : f32[1048576,1]",
     "%y = matmul(%x, %w) : f32[2048,1]", "%y"},
    {"L1-3 batch of 128", "input %x : f32[128,512,1024]\ninput %w : f32[128,1024,2048]",
     "%y = matmul(%x, %w) : f32[128,512,2048]", "%y"},
    {"NetVLAD assign", "input %x : f32[204800,512]\ninput %w : f32[512,48]",
     "%y = matmul(%x, %w) : f32[204800,48]", "%y"},
    {"Mamba2 diagonal", "input %x : f32[32768,64,64]\ninput %w : f32[32768,64,64]",
     "%y = matmul(%x, %w) : f32[32768,64,64]", "%y"},
    {"L3-43 attention, causal",
     "input %q : f32[128,8,512,96]\ninput %k : f32[128,8,512,96]\ninput %v : f32[128,8,512,96]",
     "%y = attention(%q, %k, %v) scale=0.102062 causal=true : f32[128,8,512,96]", "%y"},
    {"L3-31 attention, 16384 tokens",
     "input %q : f32[2,4,16384,32]\ninput %k : f32[2,4,16384,32]\ninput %v : f32[2,4,16384,32]",
     "%y = attention(%q, %k, %v) scale=0.176777 : f32[2,4,16384,32]", "%y"},
    {"Swin attention, windows of 49",
     "input %q : f32[640,3,49,32]\ninput %k : f32[640,3,49,32]\ninput %v : f32[640,3,49,32]",
     "%y = attention(%q, %k, %v) scale=0.176777 : f32[640,3,49,32]", "%y"},
    {"L1-97 attention, heads of 1024",
     "input %q : f32[8,32,512,1024]\ninput %k : f32[8,32,512,1024]\ninput %v : f32[8,32,512,1024]",
     "%y = attention(%q, %k, %v) scale=0.03125 : f32[8,32,512,1024]", "%y"},
    {"decoding, 4096 keys",
     "input %q : f32[8,32,1,128]\ninput %k : f32[8,8,4096,128]\ninput %v : f32[8,8,4096,128]",
     "%y = attention(%q, %k, %v) scale=0.0883883 : f32[8,32,1,128]", "%y"},
    {"DETR, 100 queries",
     "input %q : f32[2,8,100,32]\ninput %k : f32[2,8,850,32]\ninput %v : f32[2,8,850,32]",
     "%y = attention(%q, %k, %v) scale=0.176777 : f32[2,8,100,32]", "%y"},
    {"ViT-B/16 attention, fp16",
     "input %q : f16[16,12,197,64]\ninput %k : f16[16,12,197,64]\ninput %v : f16[16,12,197,64]",
     "%y = attention(%q, %k, %v) scale=0.125 : f16[16,12,197,64]", "%y"},
    {"Llama attention, bf16, causal",
     "input %q : bf16[1,16,4096,128]\ninput %k : bf16[1,16,4096,128]\ninput %v : bf16[1,16,4096,128]",
     "%y = attention(%q, %k, %v) scale=0.0883883 causal=true : bf16[1,16,4096,128]", "%y"},
    {"decoding, bf16, 4096 keys",
     "input %q : bf16[8,32,1,128]\ninput %k : bf16[8,8,4096,128]\ninput %v : bf16[8,8,4096,128]",
     "%y = attention(%q, %k, %v) scale=0.0883883 : bf16[8,32,1,128]", "%y"},
    {"L3-35 LSTM, 2 layers",
     "input %x : f32[512,10,128]\ninput %h : f32[2,10,256]\nparameter %wi_0 : f32[1024,128]\nparameter %wh_0 "
     ": f32[1024,256]\nparameter %bi_0 : f32[1024]\nparameter %bh_0 : f32[1024]\nparameter %wi_1 : "
     "f32[1024,256]\nparameter %wh_1 : f32[1024,256]\nparameter %bi_1 : f32[1024]\nparameter %bh_1 : "
     "f32[1024]",
     "%y, %hn, %cn = rnn(%x, %h, %h, %wi_0, %wh_0, %bi_0, %bh_0, %wi_1, %wh_1, %bi_1, %bh_1) kind=\"lstm\" "
     "layers=2 bidirectional=false batch_first=false biases=true projection=0 : f32[512,10,256], "
     "f32[2,10,256], f32[2,10,256]",
     "%y"},
    {"L3-38 LSTM both ways, 2 layers",
     "input %x : f32[512,10,128]\ninput %h : f32[4,10,256]\nparameter %wi_0 : f32[1024,128]\nparameter %wh_0 "
     ": f32[1024,256]\nparameter %bi_0 : f32[1024]\nparameter %bh_0 : f32[1024]\nparameter %wi_0r : "
     "f32[1024,128]\nparameter %wh_0r : f32[1024,256]\nparameter %bi_0r : f32[1024]\nparameter %bh_0r : "
     "f32[1024]\nparameter %wi_1 : f32[1024,512]\nparameter %wh_1 : f32[1024,256]\nparameter %bi_1 : "
     "f32[1024]\nparameter %bh_1 : f32[1024]\nparameter %wi_1r : f32[1024,512]\nparameter %wh_1r : "
     "f32[1024,256]\nparameter %bi_1r : f32[1024]\nparameter %bh_1r : f32[1024]",
     "%y, %hn, %cn = rnn(%x, %h, %h, %wi_0, %wh_0, %bi_0, %bh_0, %wi_0r, %wh_0r, %bi_0r, %bh_0r, %wi_1, "
     "%wh_1, %bi_1, %bh_1, %wi_1r, %wh_1r, %bi_1r, %bh_1r) kind=\"lstm\" layers=2 bidirectional=true "
     "batch_first=false biases=true projection=0 : f32[512,10,512], f32[4,10,256], f32[4,10,256]",
     "%y"},
    {"L3-41 GRU both ways, 2 layers",
     "input %x : f32[512,10,128]\ninput %h : f32[4,10,256]\nparameter %wi_0 : f32[768,128]\nparameter %wh_0 "
     ": f32[768,256]\nparameter %bi_0 : f32[768]\nparameter %bh_0 : f32[768]\nparameter %wi_0r : "
     "f32[768,128]\nparameter %wh_0r : f32[768,256]\nparameter %bi_0r : f32[768]\nparameter %bh_0r : "
     "f32[768]\nparameter %wi_1 : f32[768,512]\nparameter %wh_1 : f32[768,256]\nparameter %bi_1 : "
     "f32[768]\nparameter %bh_1 : f32[768]\nparameter %wi_1r : f32[768,512]\nparameter %wh_1r : "
     "f32[768,256]\nparameter %bi_1r : f32[768]\nparameter %bh_1r : f32[768]",
     "%y, %hn = rnn(%x, %h, none, %wi_0, %wh_0, %bi_0, %bh_0, %wi_0r, %wh_0r, %bi_0r, %bh_0r, %wi_1, %wh_1, "
     "%bi_1, %bh_1, %wi_1r, %wh_1r, %bi_1r, %bh_1r) kind=\"gru\" layers=2 bidirectional=true "
     "batch_first=false biases=true projection=0 : f32[512,10,512], f32[4,10,256]",
     "%y"},
    {"L3-33 RNN",
     "input %x : f32[256,8,1024]\ninput %h : f32[1,8,256]\nparameter %wi_0 : f32[256,1024]\nparameter %wh_0 "
     ": f32[256,256]\nparameter %bi_0 : f32[256]\nparameter %bh_0 : f32[256]",
     "%y, %hn = rnn(%x, %h, none, %wi_0, %wh_0, %bi_0, %bh_0) kind=\"tanh\" layers=1 bidirectional=false "
     "batch_first=false biases=true projection=0 : f32[256,8,256], f32[1,8,256]",
     "%y"},
    {"batch norm of 10 x 16 x 112 x 112",
     "input %x : f32[10,16,112,112]\nparameter %w : f32[16]\nparameter %b : f32[16]\nbuffer %m : "
     "f32[16]\nbuffer %v : f32[16]",
     "%y, %mean, %var = batch_norm(%x, %w, %b, %m, %v) training=true : f32[10,16,112,112], f32[16], f32[16]",
     "%y"},
    {"rows added by target", "input %x : f32[20000,64]\ninput %i : i64[200000,64]\ninput %s : f32[200000,64]",
     "%y = scatter(%x, %i, %s) dim=0 reduce=\"sum\" : f32[20000,64]", "%y"},
    {"copy by neg", "input %x : f32[4096,98304]", "%y = neg(%x) : f32[4096,98304]", "%y"},
    {"gelu", "input %x : f32[4096,98304]", "%y = gelu(%x) : f32[4096,98304]", "%y"},
    {"softplus", "input %x : f32[4096,98304]", "%y = softplus(%x) : f32[4096,98304]", "%y"},
    {"tanh", "input %x : f32[4096,98304]", "%y = tanh(%x) : f32[4096,98304]", "%y"},
    {"softmax, rows of 1.5 MB", "input %x : f32[1024,393216]", "%y = softmax(%x) dim=1 : f32[1024,393216]",
     "%y"},
    {"softmax, rows of 16 KB", "input %x : f32[65536,4096]", "%y = softmax(%x) dim=1 : f32[65536,4096]",
     "%y"},
    {"rms_norm, odd rows of 256 KB", "input %x : f32[8192,65535]",
     "%y = rms_norm(%x) dims=1 : f32[8192,65535]", "%y"},
    {"instance norm", "input %x : f32[28,64,512,512]", "%y = group_norm(%x) groups=64 : f32[28,64,512,512]",
     "%y"},
    {"group norm, rows of 8 MB", "input %x : f32[28,64,512,512]",
     "%y = group_norm(%x) groups=8 : f32[28,64,512,512]", "%y"},
    {"layer norm, 16 rows of 16 MB", "input %x : f32[16,64,256,256]",
     "%y = layer_norm(%x) dims=3 : f32[16,64,256,256]", "%y"},
    {"softmax over channels", "input %x : f32[32,64,512,512]", "%y = softmax(%x) dim=1 : f32[32,64,512,512]",
     "%y"},
    {"sum of everything", "input %x : f32[32768,16384]", "%y = sum(%x) : f32[]", "%y"},
    {"sum of rows", "input %x : f32[32768,16384]", "%y = sum(%x) dims=[1] : f32[32768]", "%y"},
    {"sum over the middle", "input %x : f32[64,4096,4095]", "%y = sum(%x) dims=[1] : f32[64,4095]", "%y"},
    {"argmax over the middle", "input %x : f32[64,4096,4095]", "%y = argmax(%x) dims=[1] : i64[64,4095]",
     "%y"},
    {"largest over the middle", "input %x : f32[64,4096,4095]", "%y = amax(%x) dims=[1] : f32[64,4095]",
     "%y"},
    {"max_pool 1d, dilated", "input %x : f32[64,64,65536]",
     "%y = max_pool(%x) kernel=[8] stride=[1] padding=[4] dilation=[3] : f32[64,64,65523]", "%y"},
    {"max_pool 2d 4x4", "input %x : f32[32,64,512,512]",
     "%y = max_pool(%x) kernel=[4,4] stride=[1,1] padding=[1,1] dilation=[1,1] : f32[32,64,511,511]", "%y"},
    {"avg_pool 2d 11x11", "input %x : f32[16,32,2048,2048]",
     "%y = avg_pool(%x) kernel=[11,11] stride=[11,11] padding=[0,0] : f32[16,32,186,186]", "%y"},
    {"avg_pool 3d 3x3x3", "input %x : f32[8,32,128,128,256]",
     "%y = avg_pool(%x) kernel=[3,3,3] stride=[2,2,2] padding=[1,1,1] : f32[8,32,64,64,128]", "%y"},
    {"cumsum", "input %x : f32[16384,32768]", "%y = cumsum(%x) dim=1 : f32[16384,32768]", "%y"},
    {"cumsum from the end", "input %x : f32[16384,32768]",
     "%f = flip(%x) dims=[1] : f32[16384,32768]\n%c = cumsum(%f) dim=1 : f32[16384,32768]\n"
     "%y = flip(%c) dims=[1] : f32[16384,32768]",
     "%y"},
};

struct Options {
  Numerics numerics = Numerics::standard;
  size_t choices = 12;    // of a region
  std::string_view list;  // for this GPU, without timing; empty: time on the one here
  std::vector<std::string_view> labels;
  bool wants(std::string_view label) const {
    return labels.empty() ||
           std::ranges::any_of(labels, [&](std::string_view part) { return label.find(part) != label.npos; });
  }
};

Result<Options> read_options(std::span<char*> arguments) {
  Options out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const bool has_value = i + 1 < arguments.size();
    if (argument == "--numerics" && has_value) {
      STITCH_TRY(out.numerics, parse_numerics(arguments[++i]));
    } else if (argument == "--choices" && has_value) {
      out.choices = std::max<size_t>(1, std::strtoul(arguments[++i], nullptr, 10));
    } else if (argument == "--list" && has_value) {
      out.list = arguments[++i];
    } else {
      out.labels.push_back(argument);
    }
  }
  return out;
}

Result<void> time_region(const RegionProblem& problem, const Options& options) {
  const std::vector<plan::Region> variants = candidate_choices(problem, options.choices);
  std::printf("%s, region %s\n", problem.task->name.c_str(), problem.now().name.c_str());
  if (!options.list.empty()) {
    for (const plan::Region& variant : variants) std::printf("  %s\n", choice_text(variant).c_str());
    return {};
  }
  STITCH_TRY(const Measured measured, measure(problem, variants, {}));
  const plan::Work work = plan::work_of(problem.context().graph, problem.plan(), problem.now());
  const double floor = plan::floor_of(problem.context(), problem.plan(), problem.now());
  for (size_t i = 0; i < variants.size(); ++i) {
    const std::string choice = choice_text(variants[i]);
    const Timed& timed = measured.timed[i];
    if (timed.kind != Timed::Kind::timed)
      std::printf("  %-64s failed: %s\n", choice.c_str(), measured.trouble.c_str());
    else
      std::printf("  %-64s %10.1f us  %5.2f TB/s  %6.1f TFLOP/s  %3.0f %% of the floor's speed\n",
                  choice.c_str(), timed.seconds * 1e6, work.bytes / timed.seconds * 1e-12,
                  work.flops / timed.seconds * 1e-12, 100 * floor / timed.seconds);
  }
  std::fflush(stdout);
  return {};
}

Result<GpuSpec> gpu_here() {
  STITCH_TRY(const Driver driver, detect_gpus());
  return spec_of(driver.gpus.at(0));
}

Result<void> run(std::span<char*> arguments) {
  STITCH_TRY(const Options options, read_options(arguments));
  STITCH_TRY(const GpuSpec gpu, options.list.empty() ? gpu_here() : find_gpu(options.list));
  for (const Case& each : cases) {
    if (!options.wants(each.label)) continue;
    STITCH_TRY(Graph graph, parse_graph(format("graph \"bench\"\n{}\n{}\noutput {}\nend\n", each.inputs,
                                               each.nodes, each.output)));
    STITCH_TRY(const auto task, plan_task(each.label, std::move(graph), gpu, options.numerics));
    for (const RegionProblem& problem : problems_of(task)) STITCH_CHECK(time_region(problem, options));
  }
  return {};
}

}  // namespace
}  // namespace stitch::learn

int main(int count, char** arguments) {
  auto done = stitch::learn::run({arguments + 1, static_cast<size_t>(count - 1)});
  if (!done) std::fprintf(stderr, "%s\n", done.error().text().c_str());
  return done ? 0 : 1;
}
