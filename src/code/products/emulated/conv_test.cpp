// Every way of convolving, on odd sizes.
#include "code/products/emulated/cases.h"

namespace stitch::code {
namespace {

struct Form {
  const char* name;
  const char* graph;
};
const Form forms[] = {
    {"conv2d",
     "input %x : f32[2,5,11,9]\nparameter %w : f32[18,5,3,3]\nparameter %b : f32[18]\n"
     "%y = conv(%x, %w, %b) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[2,18,11,9]\noutput %y\n"},
    {"conv2d_relu",
     "input %x : f32[2,8,10,9]\nparameter %w : f32[6,8,3,2]\nparameter %b : f32[6]\n"
     "%y = conv(%x, %w, %b) stride=[2,1] padding=[0,1] dilation=[1,2] : f32[2,6,4,9]\n%z = relu(%y) : "
     "f32[2,6,4,9]\n"
     "output %z\n"},
    {"conv2d_no_bias",
     "input %x : f32[1,3,7,7]\nparameter %w : f32[4,3,7,7]\n"
     "%y = conv(%x, %w) stride=[2,2] padding=[3,3] dilation=[1,1] : f32[1,4,4,4]\noutput %y\n"},
    {"conv2d_silu",
     "input %x : f32[2,4,6,5]\nparameter %w : f32[3,4,1,1]\nparameter %b : f32[3]\n"
     "%y = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,3,6,5]\n%z = silu(%y) : "
     "f32[2,3,6,5]\n"
     "output %z\n"},
    {"conv2d_groups",
     "input %x : f32[2,6,8,7]\nparameter %w : f32[9,2,3,3]\n"
     "%y = conv(%x, %w) stride=[1,1] padding=[1,1] dilation=[1,1] groups=3 : f32[2,9,8,7]\noutput %y\n"},
    {"conv1d",
     "input %x : f32[3,4,20]\nparameter %w : f32[17,4,5]\nparameter %b : f32[17]\n"
     "%y = conv(%x, %w, %b) stride=[3] padding=[2] dilation=[2] : f32[3,17,6]\noutput %y\n"},
    {"conv3d",
     "input %x : f32[2,3,5,6,7]\nparameter %w : f32[4,3,3,2,3]\nparameter %b : f32[4]\n"
     "%y = conv(%x, %w, %b) stride=[1,2,1] padding=[1,0,1] dilation=[1,1,1] : f32[2,4,5,3,7]\noutput %y\n"},
    {"transpose2d",
     "input %x : f32[2,6,5,4]\nparameter %w : f32[6,5,3,4]\nparameter %b : f32[5]\n"
     "%y = conv_transpose(%x, %w, %b) stride=[2,3] padding=[1,2] dilation=[1,1] output_padding=[1,2] : "
     "f32[2,5,10,11]\noutput %y\n"},
    {"transpose2d_groups",
     "input %x : f32[2,6,5,4]\nparameter %w : f32[6,2,3,3]\n"
     "%y = conv_transpose(%x, %w) stride=[1,2] padding=[0,1] dilation=[2,1] groups=2 output_padding=[0,0] : "
     "f32[2,4,9,7]\n%z = relu(%y) : f32[2,4,9,7]\noutput %z\n"},
    {"transpose1d",
     "input %x : f32[2,3,7]\nparameter %w : f32[3,4,5]\nparameter %b : f32[4]\n"
     "%y = conv_transpose(%x, %w, %b) stride=[2] padding=[1] dilation=[3] output_padding=[0] : f32[2,4,23]\n"
     "output %y\n"},
    {"transpose3d",
     "input %x : f32[1,3,3,4,2]\nparameter %w : f32[3,2,2,3,3]\n"
     "%y = conv_transpose(%x, %w) stride=[2,1,2] padding=[0,1,1] dilation=[1,1,1] output_padding=[1,0,1] : "
     "f32[1,2,7,4,4]\noutput %y\n"},
};
// Transposed ones as one convolution for all phases: fewer taps in some, results of no phase at the edges.
const Form strided_forms[] = {
    {"even",
     "input %x : f32[2,8,5,6]\nparameter %w : f32[8,16,4,4]\nparameter %b : f32[16]\n"
     "%y = conv_transpose(%x, %w, %b) stride=[2,2] padding=[0,1] dilation=[1,1] output_padding=[0,0] : "
     "f32[2,16,12,12]\n%z = silu(%y) : f32[2,16,12,12]\noutput %z\n"},
    {"odd",
     "input %x : f32[1,12,4,7]\nparameter %w : f32[12,9,3,5]\nparameter %b : f32[9]\n"
     "%y = conv_transpose(%x, %w, %b) stride=[2,3] padding=[1,0] dilation=[1,1] output_padding=[1,2] : "
     "f32[1,9,8,25]\noutput %y\n"},
    {"one_tap",
     "input %x : f32[2,16,3,5]\nparameter %w : f32[16,6,2,2]\nparameter %b : f32[6]\n"
     "%y = conv_transpose(%x, %w, %b) stride=[2,2] padding=[0,0] dilation=[1,1] output_padding=[0,0] : "
     "f32[2,6,6,10]\noutput %y\n"},
    {"no_tap",
     "input %x : f32[1,8,6,3]\nparameter %w : f32[8,4,2,1]\n"
     "%y = conv_transpose(%x, %w) stride=[3,2] padding=[0,0] dilation=[1,1] output_padding=[2,0] : "
     "f32[1,4,19,5]\noutput %y\n"},
    {"line",
     "input %x : f32[2,8,9]\nparameter %w : f32[8,5,7]\nparameter %b : f32[5]\n"
     "%y = conv_transpose(%x, %w, %b) stride=[3] padding=[4] dilation=[1] output_padding=[1] : f32[2,5,24]\n"
     "output %y\n"},
    {"volume",
     "input %x : f32[2,6,3,4,2]\nparameter %w : f32[6,10,3,3,2]\nparameter %b : f32[10]\n"
     "%y = conv_transpose(%x, %w, %b) stride=[2,2,1] padding=[1,1,0] dilation=[1,1,1] "
     "output_padding=[0,1,0] : f32[2,10,5,8,3]\n%z = relu(%y) : f32[2,10,5,8,3]\noutput %z\n"},
};
const char* depthwise =
    "input %x : f32[2,6,9,8]\nparameter %w : f32[6,1,3,3]\nparameter %b : f32[6]\n"
    "%y = conv(%x, %w, %b) stride=[1,1] padding=[1,1] dilation=[1,1] groups=6 : f32[2,6,9,8]\n"
    "%z = relu(%y) : f32[2,6,9,8]\noutput %z\n";

const Form depthwise_forms[] = {
    {"same", depthwise},
    {"strided",
     "input %x : f32[1,4,37,41]\nparameter %w : f32[4,1,5,3]\n"
     "%y = conv(%x, %w) stride=[2,2] padding=[2,1] dilation=[1,1] groups=4 : f32[1,4,19,21]\noutput %y\n"},
    {"two_rows",
     "input %x : f32[1,8,61,59]\nparameter %w : f32[8,1,5,5]\n"
     "%y = conv(%x, %w) stride=[2,2] padding=[2,2] dilation=[1,1] groups=8 : f32[1,8,31,30]\noutput %y\n"},
    {"large",
     "input %x : f32[2,12,14,15]\nparameter %w : f32[12,1,7,7]\nparameter %b : f32[12]\n"
     "%y = conv(%x, %w, %b) stride=[1,1] padding=[3,3] dilation=[1,1] groups=12 : "
     "f32[2,12,14,15]\noutput %y\n"},
    {"dilated",
     "input %x : f32[2,8,35,9]\nparameter %w : f32[8,1,3,3]\nparameter %b : f32[8]\n"
     "%y = conv(%x, %w, %b) stride=[1,1] padding=[2,0] dilation=[2,3] groups=8 : f32[2,8,35,3]\noutput %y\n"},
    {"multiplied",
     "input %x : f32[2,3,9,9]\nparameter %w : f32[6,1,3,3]\nparameter %b : f32[6]\n"
     "%y = conv(%x, %w, %b) stride=[1,1] padding=[1,1] dilation=[1,1] groups=3 : f32[2,6,9,9]\noutput %y\n"},
    {"line",
     "input %x : f32[2,4,150]\nparameter %w : f32[4,1,4]\nparameter %b : f32[4]\n"
     "%y = conv(%x, %w, %b) stride=[1] padding=[3] dilation=[1] groups=4 : f32[2,4,153]\noutput %y\n"},
};
// So long that threads make two outputs each.
const char* depthwise_long_line =
    "input %x : f32[1,2,262400]\nparameter %w : f32[2,1,3]\n"
    "%y = conv(%x, %w) stride=[1] padding=[1] dilation=[1] groups=2 : f32[1,2,262400]\noutput %y\n";

// Several tiles and slices, the last ones not full; pixels by fours and not; groups; what follows.
const Form pointwise_forms[] = {
    {"tiles",
     "input %x : f32[3,21,6,14]\nparameter %w : f32[37,21,1,1]\n"
     "%y = conv(%x, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[3,37,6,14]\noutput %y\n"},
    {"slices",
     "input %x : f32[2,72,8,8]\nparameter %w : f32[200,72,1,1]\nparameter %b : f32[200]\n"
     "%y = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,200,8,8]\noutput %y\n"},
    {"odd_plane",
     "input %x : f32[2,40,7,7]\nparameter %w : f32[24,40,1,1]\nparameter %b : f32[24]\n"
     "%y = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,24,7,7]\n"
     "%z = silu(%y) : f32[2,24,7,7]\noutput %z\n"},
    {"groups",
     "input %x : f32[2,60,4,9]\nparameter %w : f32[120,20,1,1]\n"
     "%y = conv(%x, %w) stride=[1,1] padding=[0,0] dilation=[1,1] groups=3 : f32[2,120,4,9]\n"
     "%z = relu(%y) : f32[2,120,4,9]\noutput %z\n"},
    {"line",
     "input %x : f32[5,98,32]\nparameter %w : f32[98,49,1]\nparameter %b : f32[98]\n"
     "%y = conv(%x, %w, %b) stride=[1] padding=[0] dilation=[1] groups=2 : f32[5,98,32]\n"
     "%r = reshape(%y) shape=[5,2,49,32] : f32[5,2,49,32]\n"
     "%p = permute(%r) dims=[0,2,1,3] : f32[5,49,2,32]\n"
     "%z = reshape(%p) shape=[5,49,64] : f32[5,49,64]\noutput %z\n"},
    {"line_added",
     "input %x : f32[4,98,20]\ninput %o : f32[4,20,98]\nparameter %w : f32[98,49,1]\nparameter %b : "
     "f32[98]\n"
     "%y = conv(%x, %w, %b) stride=[1] padding=[0] dilation=[1] groups=2 : f32[4,98,20]\n"
     "%p = permute(%y) dims=[0,2,1] : f32[4,20,98]\n"
     "%z = add(%o, %p) : f32[4,20,98]\noutput %z\n"},
    {"volume",
     "input %x : f32[2,17,3,4,5]\nparameter %w : f32[9,17,1,1,1]\nparameter %b : f32[9]\n"
     "%y = conv(%x, %w, %b) stride=[1,1,1] padding=[0,0,0] dilation=[2,1,1] : f32[2,9,3,4,5]\noutput %y\n"},
};

const Form vector_forms[] = {
    {"one_pixel",
     "input %x : f32[2,96,1,1]\nparameter %w : f32[37,96,1,1]\nparameter %b : f32[37]\n"
     "%y = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,37,1,1]\n"
     "%z = sigmoid(%y) : f32[2,37,1,1]\noutput %z\n"},
    {"long",
     "input %x : f32[1,1500,1]\nparameter %w : f32[9,1500,1]\n"
     "%y = conv(%x, %w) stride=[1] padding=[0] dilation=[1] : f32[1,9,1]\noutput %y\n"},
    {"odd",
     "input %x : f32[5,21,1,1,1]\nparameter %w : f32[6,21,1,1,1]\n"
     "%y = conv(%x, %w) stride=[1,1,1] padding=[0,0,0] dilation=[1,1,1] : f32[5,6,1,1,1]\noutput %y\n"},
    {"pixels",
     "input %x : f32[2,32,3,4]\nparameter %w : f32[10,32,1,1]\nparameter %b : f32[10]\n"
     "%y = conv(%x, %w, %b) stride=[2,2] padding=[0,0] dilation=[1,1] : f32[2,10,2,2]\n"
     "%z = relu(%y) : f32[2,10,2,2]\noutput %z\n"},
};

// Several tiles in every direction, the last ones not full.
const Form halo_forms[] = {
    {"tiles",
     "input %x : f32[2,8,19,37]\nparameter %w : f32[50,8,3,3]\nparameter %b : f32[50]\n"
     "%y = conv(%x, %w, %b) stride=[1,1] padding=[1,0] dilation=[1,1] : f32[2,50,19,35]\n"
     "%z = silu(%y) : f32[2,50,19,35]\noutput %z\n"},
    {"slices",
     "input %x : f32[1,12,9,33]\nparameter %w : f32[70,12,2,3]\n"
     "%y = conv(%x, %w) stride=[1,2] padding=[0,1] dilation=[2,1] : f32[1,70,7,17]\noutput %y\n"},
    {"volume",
     "input %x : f32[2,3,5,12,35]\nparameter %w : f32[24,3,3,3,3]\nparameter %b : f32[24]\n"
     "%y = conv(%x, %w, %b) stride=[1,1,1] padding=[0,0,0] dilation=[1,1,1] : f32[2,24,3,10,33]\n"
     "%z = relu(%y) : f32[2,24,3,10,33]\noutput %z\n"},
    {"long",
     "input %x : f32[1,3,4,9,40]\nparameter %w : f32[34,3,3,5,7]\n"
     "%y = conv(%x, %w) stride=[1,1,1] padding=[1,0,0] dilation=[1,1,1] : f32[1,34,4,5,34]\noutput %y\n"},
    {"short_rows",
     "input %x : f32[2,3,9,11,5]\nparameter %w : f32[20,3,3,3,1]\nparameter %b : f32[20]\n"
     "%y = conv(%x, %w, %b) stride=[1,1,1] padding=[0,0,0] dilation=[1,1,1] : f32[2,20,7,9,5]\n"
     "%z = relu(%y) : f32[2,20,7,9,5]\noutput %z\n"},
    {"short_rows_padded",
     "input %x : f32[1,5,8,13,3]\nparameter %w : f32[9,5,2,3,1]\nparameter %s : f32[1,9,7,13,3]\n"
     "%y = conv(%x, %w) stride=[2,1,1] padding=[3,2,0] dilation=[1,2,1] : f32[1,9,7,13,3]\n"
     "%z = add(%y, %s) : f32[1,9,7,13,3]\noutput %z\n"},
    {"short_rows_strided",  // along y: rows that follow each other don't
     "input %x : f32[1,3,6,9,4]\nparameter %w : f32[8,3,3,3,1]\n"
     "%y = conv(%x, %w) stride=[1,2,1] padding=[0,1,0] dilation=[1,1,1] : f32[1,8,4,5,4]\noutput %y\n"},
};

// Phases of all kinds: with more taps and fewer, with none, several tiles in every direction, chunks of
// channels, more filters than a block has.
const Form transposed_forms[] = {
    {"few",
     "input %x : f32[2,3,5,9,32]\nparameter %w : f32[3,16,3,3,3]\nparameter %b : f32[16]\n"
     "%y = conv_transpose(%x, %w, %b) stride=[2,2,2] padding=[1,1,1] dilation=[1,1,1] "
     "output_padding=[0,0,0] : f32[2,16,9,17,63]\n%z = silu(%y) : f32[2,16,9,17,63]\noutput %z\n"},
    {"volume_groups",
     "input %x : f32[1,8,3,5,24]\nparameter %w : f32[8,3,3,5,7]\n"
     "%y = conv_transpose(%x, %w) stride=[2,2,2] padding=[1,2,3] dilation=[1,1,1] groups=2 "
     "output_padding=[1,1,1] : f32[1,6,6,10,48]\noutput %y\n"},
    {"no_taps",
     "input %x : f32[2,8,9,43]\nparameter %w : f32[8,10,3,5]\nparameter %b : f32[20]\n"
     "%y = conv_transpose(%x, %w, %b) stride=[2,3] padding=[1,2] dilation=[2,1] groups=2 "
     "output_padding=[0,0] : f32[2,20,19,127]\noutput %y\n"},
    {"chunks",
     "input %x : f32[1,70,4,5]\nparameter %w : f32[70,37,5,4]\nparameter %b : f32[37]\n"
     "%y = conv_transpose(%x, %w, %b) stride=[2,2] padding=[2,0] dilation=[1,3] output_padding=[1,1] : "
     "f32[1,37,8,19]\n%z = relu(%y) : f32[1,37,8,19]\noutput %z\n"},
    {"dense",
     "input %x : f32[2,6,11,70]\nparameter %w : f32[6,9,3,3]\n"
     "%y = conv_transpose(%x, %w) stride=[1,1] padding=[1,0] dilation=[1,2] output_padding=[0,0] : "
     "f32[2,9,11,74]\noutput %y\n"},
    {"added_bias",
     "input %x : f32[2,3,5,9]\nparameter %w : f32[3,16,3,3]\nparameter %b : f32[16]\n"
     "%p = conv_transpose(%x, %w) stride=[2,2] padding=[1,1] dilation=[1,1] output_padding=[0,0] : "
     "f32[2,16,9,17]\n%v = reshape(%b) shape=[1,16,1,1] : f32[1,16,1,1]\n"
     "%y = add(%p, %v) : f32[2,16,9,17]\n%z = silu(%y) : f32[2,16,9,17]\noutput %z\n"},
    {"added_row",  // as many as channels, but along x
     "input %x : f32[1,3,5,9]\nparameter %w : f32[3,17,3,3]\nparameter %b : f32[17]\n"
     "%p = conv_transpose(%x, %w) stride=[2,2] padding=[1,1] dilation=[1,1] output_padding=[0,0] : "
     "f32[1,17,9,17]\n%y = add(%b, %p) : f32[1,17,9,17]\noutput %y\n"},
    {"spread",
     "input %x : f32[1,4,3,9]\nparameter %w : f32[4,5,2,3]\n"
     "%y = conv_transpose(%x, %w) stride=[3,6] padding=[0,2] dilation=[1,2] output_padding=[2,5] : "
     "f32[1,5,10,54]\noutput %y\n"},
    {"turned",
     "input %x : f32[2,3,4,5]\nparameter %w : f32[3,6,4,4]\n"
     "%y = conv_transpose(%x, %w) stride=[2,2] padding=[1,1] dilation=[1,1] output_padding=[0,0] : "
     "f32[2,6,8,10]\n%z = reshape(%y) shape=[2,2,3,80] : f32[2,2,3,80]\n"
     "%t = permute(%z) dims=[0,2,1,3] : f32[2,3,2,80]\noutput %t\n"},
};

std::vector<Case> conv_cases() {
  std::vector<Case> all;
  for (const Form& form : forms) {
    all.push_back({format("plain_{}", form.name), "conv.plain", form.graph});
    all.push_back({.name = format("strict_{}", form.name),
                   .technique = "conv.cudnn",
                   .graph = form.graph,
                   .numerics = Numerics::strict});
    all.push_back({.name = format("half_{}", form.name),
                   .technique = "conv.cudnn",
                   .graph = form.graph,
                   .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                   .tolerance = 2e-3});
    all.push_back({.name = format("last_{}", form.name),
                   .technique = "conv.cudnn",
                   .graph = form.graph,
                   .offer = {plan::Arithmetic::by_class, plan::Order::channels_last},
                   .tolerance = 2e-3});
    all.push_back({format("split_{}", form.name), "conv.split_half", form.graph});
    if (std::string_view(form.name).starts_with("transpose"))
      all.push_back({format("phases_{}", form.name), "conv.transposed", form.graph, Numerics::strict});
  }
  plan::Storage last{DType::f32, {0, 2, 3, 1}}, half_last{DType::f16, {0, 2, 3, 1}};
  for (const Form& form : strided_forms)
    for (plan::Arithmetic arithmetic : {plan::Arithmetic::half, plan::Arithmetic::by_class})
      all.push_back({.name = format("{}_strided_{}", plan::name(arithmetic), form.name),
                     .technique = "conv.cudnn",
                     .graph = form.graph,
                     .offer = {arithmetic, plan::Order::channels_last},
                     .tolerance = 2e-3});
  all.push_back({.name = "half_strided_stored",
                 .technique = "conv.cudnn",
                 .graph = strided_forms[0].graph,
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .storage = {{"x", half_last}, {"z", half_last}},
                 .tolerance = 2e-3});
  all.push_back({.name = "split_once",
                 .technique = "conv.split_half",
                 .graph = forms[10].graph,
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .tolerance = 2e-3});
  all.push_back({.name = "split_half_storage",
                 .technique = "conv.split_half",
                 .graph = forms[1].graph,
                 .storage = {{"x", half_last}, {"z", half_last}},
                 .tolerance = 1e-3});
  for (const Form& form : transposed_forms)
    all.push_back({.name = format("phases_{}", form.name),
                   .technique = "conv.transposed",
                   .graph = form.graph,
                   .numerics = Numerics::strict,
                   .tolerance = 1e-6});
  all.push_back({.name = "phases_half_storage",
                 .technique = "conv.transposed",
                 .graph = transposed_forms[3].graph,
                 .storage = {{"x", half_last}, {"z", half_last}},
                 .tolerance = 1e-3});
  all.push_back({.name = "phases_two_fours",
                 .technique = "conv.transposed",
                 .graph = transposed_forms[2].graph,
                 .choices = {{"fours", 2}},
                 .tolerance = 1e-6});
  for (const Form& form : vector_forms)
    all.push_back({.name = format("vector_{}", form.name),
                   .technique = "conv.vector",
                   .graph = form.graph,
                   .numerics = Numerics::strict,
                   .tolerance = 1e-6});
  for (const Form& form : halo_forms)
    if (&form != &halo_forms[1])  // implicit_slices has that
      all.push_back({.name = format("halo_{}", form.name),
                     .technique = "conv.split_half",
                     .graph = form.graph,
                     .tolerance = 2e-6});
  all.push_back({.name = "halo_once",
                 .technique = "conv.split_half",
                 .graph = halo_forms[0].graph,
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .tolerance = 2e-3});
  all.push_back({.name = "halo_last",
                 .technique = "conv.split_half",
                 .graph = halo_forms[0].graph,
                 .storage = {{"x", last}, {"z", last}},
                 .tolerance = 2e-6});
  // Implicit GEMMs: few channels by taps and many by chunks, phases, more filters than a block has, lines,
  // results that scatter; stages that are full and not.
  for (const Form* form : {&halo_forms[0], &halo_forms[1], &halo_forms[2], &forms[2], &forms[5]})
    all.push_back({.name = format("implicit_{}", form->name),
                   .technique = "conv.implicit",
                   .graph = form->graph,
                   .tolerance = 2e-6});
  const char* const chunks =
      "input %x : f32[1,70,6,18]\nparameter %w : f32[150,70,3,3]\nparameter %b : f32[150]\n"
      "%y = conv(%x, %w, %b) stride=[1,2] padding=[1,1] dilation=[1,1] : f32[1,150,6,9]\n"
      "%z = silu(%y) : f32[1,150,6,9]\noutput %z\n";
  const char* const no_tap_chunks =
      "input %x : f32[1,80,4,3]\nparameter %w : f32[80,4,2,1]\n"
      "%y = conv_transpose(%x, %w) stride=[3,2] padding=[0,0] dilation=[1,1] output_padding=[2,0] : "
      "f32[1,4,13,5]\noutput %y\n";
  for (const Form& form :
       {Form{"chunks", chunks}, Form{"no_tap_chunks", no_tap_chunks}, transposed_forms[0],
        transposed_forms[4], transposed_forms[8], strided_forms[1], strided_forms[3], strided_forms[4]})
    all.push_back({.name = format("implicit_half_{}", form.name),
                   .technique = "conv.implicit",
                   .graph = form.graph,
                   .offer = {plan::Arithmetic::half, plan::Order::row_major},
                   .tolerance = 2e-3});
  const Form pooled_forms[] = {
      {"max_pool",
       "input %x : f32[2,8,19,37]\nparameter %w : f32[50,8,3,3]\nparameter %b : f32[50]\n"
       "%y = conv(%x, %w, %b) stride=[1,1] padding=[1,0] dilation=[1,1] : f32[2,50,19,35]\n"
       "%s = silu(%y) : f32[2,50,19,35]\n%z = max_pool(%s) kernel=[4,4] stride=[4,4] padding=[0,0] "
       "dilation=[1,1] : f32[2,50,4,8]\noutput %z\n"},
      {"avg_pool",
       "input %x : f32[1,9,7,70]\nparameter %w : f32[70,9,3,3]\n"
       "%y = conv(%x, %w) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[1,70,7,70]\n"
       "%z = avg_pool(%y) kernel=[2,2] stride=[2,2] padding=[0,0] : f32[1,70,3,35]\noutput %z\n"},
      {"row_pool",
       "input %x : f32[1,5,3,5,34]\nparameter %w : f32[12,5,1,2,3]\n"
       "%y = conv(%x, %w) stride=[1,1,1] padding=[0,0,0] dilation=[1,1,1] : f32[1,12,3,4,32]\n"
       "%z = avg_pool(%y) kernel=[1,1,8] stride=[1,1,8] padding=[0,0,0] : f32[1,12,3,4,4]\noutput %z\n"}};
  for (const Form& form : pooled_forms)
    all.push_back({.name = format("implicit_{}", form.name),
                   .technique = "conv.implicit",
                   .graph = form.graph,
                   .tolerance = 2e-6});
  all.push_back({.name = "implicit_half_storage",
                 .technique = "conv.implicit",
                 .graph = strided_forms[0].graph,
                 .offer = {plan::Arithmetic::half, plan::Order::row_major},
                 .storage = {{"x", {DType::f16, {}}}, {"z", half_last}},
                 .tolerance = 2e-3});
  all.push_back({.name = "pointwise_library",
                 .technique = "conv.pointwise",
                 .graph = "input %x : f32[3,9,5,7]\nparameter %w : f32[20,9,1,1]\n"
                          "%y = conv(%x, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[3,20,5,7]\n"
                          "output %y\n",
                 .choices = {{"library", 1}},
                 .tolerance = 2e-3});
  for (const Form& form : pointwise_forms) {
    all.push_back({.name = format("pointwise_{}", form.name),
                   .technique = "conv.pointwise",
                   .graph = form.graph,
                   .tolerance = 1e-3});
    all.push_back({.name = format("strict_pointwise_{}", form.name),
                   .technique = "conv.pointwise",
                   .graph = form.graph,
                   .numerics = Numerics::strict,
                   .tolerance = 1e-6});
  }
  for (size_t form : {1u, 4u})
    all.push_back({.name = format("pointwise_{}_together", pointwise_forms[form].name),
                   .technique = "conv.pointwise",
                   .graph = pointwise_forms[form].graph,
                   .choices = {{"together", 1}},
                   .tolerance = 1e-3});
  // Channels last: by cuBLASLt, unless what follows or only one side is like that.
  for (size_t form : {1u, 2u, 3u})
    for (const plan::Storage& storage : {last, half_last}) {
      std::string out = form == 1 ? "y" : "z";
      all.push_back({.name = format("pointwise_{}_{}last", pointwise_forms[form].name,
                                    storage.dtype == DType::f16 ? "half_" : ""),
                     .technique = "conv.pointwise",
                     .graph = pointwise_forms[form].graph,
                     .storage = {{"x", storage}, {out, storage}},
                     .tolerance = 2e-3});
    }
  // Channels that aren't multiples of eight: of an odd number and of pairs, more steps than a round.
  const char* const wide =
      "input %x : f32[2,154,5,7]\nparameter %w : f32[116,154,1,1]\nparameter %b : f32[116]\n"
      "%y = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,116,5,7]\n"
      "%z = silu(%y) : f32[2,116,5,7]\noutput %z\n";
  for (const plan::Storage& storage : {last, half_last})
    for (bool pairs : {false, true})
      all.push_back({.name = format("pointwise_odd_{}{}", pairs ? "pairs_" : "",
                                    storage.dtype == DType::f16 ? "half" : "float"),
                     .technique = "conv.pointwise_odd",
                     .graph = pairs ? wide : pointwise_forms[0].graph,
                     .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                     .storage = {{"x", storage}, {pairs ? "z" : "y", storage}},
                     .tolerance = 2e-3});
  all.push_back({.name = "pointwise_odd_bf16",
                 .technique = "conv.pointwise_odd",
                 .graph = "input %x : bf16[3,21,5,7]\nparameter %w : bf16[37,21,1,1]\n"
                          "%y = conv(%x, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : bf16[3,37,5,7]\n"
                          "output %y\n",
                 .offer = {plan::Arithmetic::by_class, plan::Order::channels_last},
                 .storage = {{"x", {DType::bf16, last.order}}, {"y", {DType::bf16, last.order}}},
                 .tolerance = 1e-2});
  // NHWC in small tiles: every way of sharing the channels, channels by fours and not, a residual, a gate.
  const char* const residual =
      "input %x : f32[2,72,5,7]\ninput %r : f32[2,40,5,7]\nparameter %w : f32[40,72,1,1]\nparameter %b : "
      "f32[40]\n%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,40,5,7]\n"
      "%z = add(%c, %r) : f32[2,40,5,7]\noutput %z\n";
  const char* const gated =
      "input %x : f32[3,36,3,5]\ninput %g : f32[3,36,1,1]\nparameter %w : f32[24,36,1,1]\n"
      "%m = mul(%x, %g) : f32[3,36,3,5]\n"
      "%y = conv(%m, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[3,24,3,5]\noutput %y\n";
  // Nine steps of channels for four warps: three, three, three and none.
  const char* const shared =
      "input %x : f32[1,144,3,4]\nparameter %w : f32[16,144,1,1]\n"
      "%y = conv(%x, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[1,16,3,4]\noutput %y\n";
  struct Nhwc {
    const char *name, *graph, *out;
    plan::Arithmetic arithmetic;
    int64_t pixel_tiles, filter_tiles, depth_warps;
  };
  using plan::Arithmetic;
  for (const Nhwc& each : {Nhwc{"silu", wide, "z", Arithmetic::by_class, 2, 4, 1},
                           Nhwc{"silu_half", wide, "z", Arithmetic::half, 1, 8, 2},
                           Nhwc{"residual", residual, "z", Arithmetic::exact, 1, 3, 4},
                           Nhwc{"residual_half", residual, "z", Arithmetic::half_exact_bias, 2, 2, 2},
                           Nhwc{"shared", shared, "y", Arithmetic::exact, 1, 2, 4},
                           Nhwc{"gated", gated, "y", Arithmetic::by_class, 1, 2, 2},
                           Nhwc{"gated_half", gated, "y", Arithmetic::half, 2, 3, 1},
                           Nhwc{"odd", pointwise_forms[0].graph, "y", Arithmetic::exact, 1, 5, 1}}) {
    const plan::Storage& storage = each.arithmetic >= Arithmetic::half ? half_last : last;
    all.push_back({.name = format("pointwise_nhwc_{}", each.name),
                   .technique = "conv.pointwise_nhwc",
                   .graph = each.graph,
                   .offer = {each.arithmetic, plan::Order::channels_last},
                   .choices = {{"pixel_tiles", each.pixel_tiles},
                               {"filter_tiles", each.filter_tiles},
                               {"depth_warps", each.depth_warps}},
                   .storage = {{"x", storage}, {"r", storage}, {each.out, storage}},
                   .tolerance = each.arithmetic == Arithmetic::exact ? 2e-6 : 2e-3});
  }
  for (const char* stored : {"x", "y"})
    all.push_back({.name = format("pointwise_nhwc_{}", *stored == 'x' ? "to_nchw" : "from_nchw"),
                   .technique = "conv.pointwise_nhwc",
                   .graph = gated,
                   .offer = {Arithmetic::by_class, plan::Order::channels_last},
                   .storage = {{stored, last}},
                   .tolerance = 2e-3});
  all.push_back({.name = "pointwise_exact_last",
                 .technique = "conv.pointwise",
                 .graph = pointwise_forms[1].graph,
                 .offer = {plan::Arithmetic::exact, plan::Order::row_major},
                 .storage = {{"x", last}, {"y", last}},
                 .tolerance = 1e-6});
  all.push_back({.name = "pointwise_from_last",
                 .technique = "conv.pointwise",
                 .graph = pointwise_forms[3].graph,
                 .storage = {{"x", half_last}},
                 .tolerance = 2e-3});
  // More pixels and channels than a tile of those that turn images: of 16, 32 and 64 channels.
  all.push_back({.name = "half_wide_tiles",
                 .technique = "conv.cudnn",
                 .graph =
                     "input %x : f32[2,16,19,17]\nparameter %w : f32[24,16,1,1]\nparameter %b : f32[24]\n"
                     "%y = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,24,19,17]\n"
                     "%z = gelu(%y) : f32[2,24,19,17]\noutput %z\n",
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .tolerance = 2e-3});
  all.push_back({.name = "half_tiles",
                 .technique = "conv.cudnn",
                 .graph = "input %x : f32[2,72,9,15]\nparameter %w : f32[80,72,1,1]\nparameter %b : f32[80]\n"
                          "%y = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,80,9,15]\n"
                          "%z = silu(%y) : f32[2,80,9,15]\noutput %z\n",
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .tolerance = 2e-3});
  all.push_back({"plain_depthwise", "conv.plain", depthwise});
  all.push_back({.name = "plain_channels_last",
                 .technique = "conv.plain",
                 .graph = forms[0].graph,
                 .storage = {{"x", last}, {"y", last}}});
  all.push_back({.name = "plain_half",
                 .technique = "conv.plain",
                 .graph = forms[1].graph,
                 .storage = {{"x", half_last}, {"z", half_last}},
                 .tolerance = 1e-3});
  all.push_back({.name = "tf32_search",
                 .technique = "conv.cudnn",
                 .graph = forms[1].graph,
                 .choices = {{"search", 1}},
                 .tolerance = 2e-3});
  all.push_back({.name = "tf32_second_proposal",
                 .technique = "conv.cudnn",
                 .graph = forms[1].graph,
                 .choices = {{"algorithm", 1}},
                 .tolerance = 2e-3});
  all.push_back({.name = "strict_channels_last",
                 .technique = "conv.cudnn",
                 .graph = forms[0].graph,
                 .numerics = Numerics::strict,
                 .storage = {{"x", last}, {"y", last}}});
  all.push_back({.name = "strict_to_channels_last",
                 .technique = "conv.cudnn",
                 .graph = forms[1].graph,
                 .numerics = Numerics::strict,
                 .storage = {{"z", last}}});
  all.push_back({.name = "half_storage",
                 .technique = "conv.cudnn",
                 .graph = forms[1].graph,
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .storage = {{"x", half_last}, {"z", half_last}},
                 .tolerance = 2e-3});
  all.push_back({.name = "half_storage_exact_bias",
                 .technique = "conv.cudnn",
                 .graph = forms[1].graph,
                 .offer = {plan::Arithmetic::half_exact_bias, plan::Order::channels_last},
                 .storage = {{"x", half_last}, {"z", half_last}},
                 .tolerance = 2e-3});
  all.push_back({.name = "strict_depthwise",
                 .technique = "conv.cudnn",
                 .graph = depthwise,
                 .numerics = Numerics::strict});
  all.push_back({.name = "half_depthwise",
                 .technique = "conv.cudnn",
                 .graph = depthwise,
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .tolerance = 2e-3});
  // So many pixels that a warp makes several tiles; and four tiles of a quad that are stored at once.
  auto with_residual = [](int samples, const char* plane, int filters) {
    return format(
        "input %x : f32[{0},8,{1}]\ninput %r : f32[{0},{2},{1}]\nparameter %w : f32[{2},8,1,1]\n"
        "parameter %b : f32[{2}]\n%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : "
        "f32[{0},{2},{1}]\n%s = add(%c, %r) : f32[{0},{2},{1}]\n%y = relu(%s) : f32[{0},{2},{1}]\n"
        "output %y\n",
        samples, plane, filters);
  };
  for (bool many : {true, false})
    all.push_back({.name = many ? "nhwc_many_pixels" : "nhwc_quads",
                   .technique = "conv.pointwise_nhwc",
                   .graph = many ? with_residual(1, "260,263", 8) : with_residual(2, "9,11", 40),
                   .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                   .choices = {{"filter_tiles", many ? 1 : 5}},
                   .storage = {{"x", half_last}, {"r", half_last}, {"y", half_last}},
                   .tolerance = 2e-3});
  // Strides folded into channels, and a rest of the image that no window takes.
  for (bool half : {true, false})
    all.push_back(
        {.name = half ? "folded_half" : "folded_tf32",
         .technique = "conv.cudnn",
         .graph = half ? "input %x : f32[2,3,23,30]\nparameter %w : f32[8,3,8,6]\n"
                         "parameter %b : f32[8]\n%c = conv(%x, %w, %b) stride=[4,3] padding=[2,0] "
                         "dilation=[1,1] : f32[2,8,5,9]\n%y = relu(%c) : f32[2,8,5,9]\noutput %y\n"
                       : "input %x : f32[2,2,21,19]\nparameter %w : f32[8,2,8,8]\n"
                         "%y = conv(%x, %w) stride=[4,4] padding=[1,1] dilation=[1,1] : "
                         "f32[2,8,4,4]\noutput %y\n",
         .offer = {half ? plan::Arithmetic::half : plan::Arithmetic::by_class, plan::Order::channels_last},
         .tolerance = 2e-3});
  // The same with zeros behind the filters: no output has pixels.
  all.push_back({.name = "folded_zeros",
                 .technique = "conv.cudnn",
                 .graph = "input %x : f32[2,3,23,30]\nparameter %w : f32[8,3,11,7]\nparameter %b : f32[8]\n"
                          "%c = conv(%x, %w, %b) stride=[4,3] padding=[2,0] dilation=[1,1] : f32[2,8,5,8]\n"
                          "%y = reshape(%c) shape=[2,320] : f32[2,320]\noutput %y\n",
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .tolerance = 2e-3});
  all.push_back({"concat", "conv.concat",
                 "input %x : f32[2,6,9,37]\nparameter %v : f32[20,6,1,1]\nparameter %a : f32[20]\n"
                 "parameter %w : f32[7,6,3,3]\n"
                 "%c = conv(%x, %v, %a) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,20,9,37]\n"
                 "%r = relu(%c) : f32[2,20,9,37]\n"
                 "%d = conv(%x, %w) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[2,7,9,37]\n"
                 "%y = concat(%r, %d) dim=1 : f32[2,27,9,37]\noutput %y\n"});
  // Images that share a block, tiles past the end, channels last.
  const char* direct =
      "input %x : f32[5,2,13,11]\nparameter %w : f32[6,2,3,5]\nparameter %b : f32[6]\n"
      "%c = conv(%x, %w, %b) stride=[1,2] padding=[1,0] dilation=[2,1] : f32[5,6,11,4]\n"
      "%y = relu(%c) : f32[5,6,11,4]\noutput %y\n";
  all.push_back({"direct", "conv.direct", direct});
  all.push_back({.name = "direct_half_last",
                 .technique = "conv.direct",
                 .graph = direct,
                 .storage = {{"x", half_last}, {"y", half_last}},
                 .tolerance = 2e-3});
  all.push_back(
      {"direct_tiles", "conv.direct",
       "input %x : f32[1,3,40,90]\nparameter %w : f32[9,3,3,3]\n"
       "%y = conv(%x, %w) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[1,9,40,90]\noutput %y\n"});
  // Pixels of a linear layer's, read and written as they lie.
  all.push_back({"depthwise_pixels", "conv.depthwise",
                 "input %t : f32[2,30,8]\nparameter %w : f32[8,1,5,5]\nparameter %b : f32[8]\n"
                 "%p = permute(%t) dims=[0,2,1] : f32[2,8,30]\n"
                 "%x = reshape(%p) shape=[2,8,5,6] : f32[2,8,5,6]\n"
                 "%y = conv(%x, %w, %b) stride=[1,1] padding=[2,2] dilation=[1,1] groups=8 : f32[2,8,5,6]\n"
                 "%g = gelu(%y) : f32[2,8,5,6]\n%f = reshape(%g) shape=[2,8,30] : f32[2,8,30]\n"
                 "%z = permute(%f) dims=[0,2,1] : f32[2,30,8]\noutput %z\n"});
  all.push_back({"depthwise_long_line", "conv.depthwise", depthwise_long_line});
  for (const Form& form : depthwise_forms) {
    all.push_back({format("depthwise_{}", form.name), "conv.depthwise", form.graph});
    std::vector<int64_t> order =
        form.name == std::string("line") ? std::vector<int64_t>{0, 2, 1} : std::vector<int64_t>{0, 2, 3, 1};
    std::string out = form.name == std::string("same") ? "z" : "y";
    all.push_back({.name = format("depthwise_{}_last", form.name),
                   .technique = "conv.depthwise",
                   .graph = form.graph,
                   .storage = {{"x", {DType::f32, order}}, {out, {DType::f32, order}}}});
    all.push_back({.name = format("depthwise_{}_half", form.name),
                   .technique = "conv.depthwise",
                   .graph = form.graph,
                   .storage = {{"x", {DType::f16, order}}, {out, {DType::f16, order}}},
                   .tolerance = 1e-3});
  }
  // Epilogues in cuDNN's graphs; it has no engine for the last one here.
  const std::string image =
                        "input %x : f32[2,16,7,5]\nparameter %w : f32[24,16,3,3]\nparameter %b : f32[24]\n",
                    product =
                        "%c = conv(%x, %w, %b) stride=[2,1] padding=[1,1] dilation=[1,1] : f32[2,24,4,5]\n";
  const Form graphs[] = {
      {"relu", "%y = relu(%c) : f32[2,24,4,5]\noutput %y\n"},
      {"residual", "%s = add(%r, %c) : f32[2,24,4,5]\n%y = relu(%s) : f32[2,24,4,5]\noutput %y\n"},
      {"gate", "%h = hardswish(%c) : f32[2,24,4,5]\n%y = mul(%h, %g) : f32[2,24,4,5]\noutput %y\n"},
      {"sigmoid", "%h = sigmoid(%c) : f32[2,24,4,5]\n%y = mul(%c, %h) : f32[2,24,4,5]\noutput %y\n"},
      {"clamp",
       "%h = clamp(%c) low=0.0 high=0.5 : f32[2,24,4,5]\n%y = silu(%h) : f32[2,24,4,5]\noutput %y\n"},
      {"gelu", "%h = gelu(%c) : f32[2,24,4,5]\n%y = sub(%h, %r) : f32[2,24,4,5]\noutput %y\n"},
  };
  for (const Form& form : graphs) {
    std::string inputs = image;
    if (std::string(form.graph).find("%r") != std::string::npos)
      inputs = "input %r : f32[2,24,4,5]\n" + inputs;
    if (std::string(form.graph).find("%g") != std::string::npos)
      inputs = "input %g : f32[2,24,1,1]\n" + inputs;
    const std::string text = inputs + product + form.graph;
    all.push_back({.name = format("graph_{}_half", form.name),
                   .technique = "conv.cudnn_graph",
                   .graph = text,
                   .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                   .storage = {{"x", half_last}, {"r", half_last}, {"y", half_last}},
                   .tolerance = 2e-3});
    if (form.name == std::string("residual"))
      for (bool half : {true, false})
        all.push_back({.name = half ? "library_residual_half" : "library_residual_tf32",
                       .technique = "conv.cudnn",
                       .graph = text,
                       .offer = {half ? plan::Arithmetic::half : plan::Arithmetic::by_class,
                                 plan::Order::channels_last},
                       .storage = {{"x", half ? half_last : last},
                                   {"r", half ? half_last : last},
                                   {"y", half ? half_last : last}},
                       .tolerance = 2e-3});
    all.push_back({.name = format("graph_{}_tf32", form.name),
                   .technique = "conv.cudnn_graph",
                   .graph = text,
                   .offer = {plan::Arithmetic::by_class, plan::Order::channels_last},
                   .storage = {{"x", last}, {"r", last}, {"y", last}},
                   .tolerance = 2e-3});
  }
  all.push_back({.name = "graph_first_layer",
                 .technique = "conv.cudnn_graph",
                 .graph = "input %x : f32[2,3,9,8]\nparameter %w : f32[16,3,3,3]\nparameter %b : f32[16]\n"
                          "%c = conv(%x, %w, %b) stride=[2,2] padding=[1,1] dilation=[1,1] : f32[2,16,5,4]\n"
                          "%y = hardswish(%c) : f32[2,16,5,4]\noutput %y\n",
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .storage = {{"y", half_last}},
                 .tolerance = 2e-3});
  const char* pixel =
      "input %x : f32[6,37,1,1]\nparameter %w : f32[10,37,1,1]\nparameter %b : f32[10]\n"
      "%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[6,10,1,1]\n"
      "%y = hardsigmoid(%c) : f32[6,10,1,1]\noutput %y\n";
  all.push_back({"pixel", "conv.pixel", pixel, Numerics::strict});
  all.push_back({.name = "pixel_half",
                 .technique = "conv.pixel",
                 .graph = pixel,
                 .storage = {{"x", half_last}, {"y", half_last}},
                 .tolerance = 2e-3});
  all.push_back({"plain_double", "conv.plain",
                 "input %x : f64[1,2,4]\nparameter %w : f64[3,2,2]\n"
                 "%y = conv(%x, %w) stride=[1] padding=[0] dilation=[1] : f64[1,3,3]\noutput %y\n"});
  all.push_back({"plain_no_samples", "conv.plain",
                 "input %x : f32[0,2,4]\nparameter %w : f32[3,2,2]\n"
                 "%y = conv(%x, %w) stride=[1] padding=[0] dilation=[1] : f32[0,3,3]\noutput %y\n"});
  return all;
}

PRODUCT_CASES(Conv, conv_cases());

}  // namespace
}  // namespace stitch::code
