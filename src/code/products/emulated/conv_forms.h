// Convolutions of odd sizes for tests of several techniques.
#pragma once

#include "code/products/emulated/cases.h"

namespace stitch::code {

struct ConvForm {
  const char* name;
  const char* graph;
};
inline const plan::Storage last{DType::f32, {0, 2, 3, 1}}, half_last{DType::f16, {0, 2, 3, 1}};
inline const ConvForm conv_forms[] = {
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
// Transposed ones as one convolution for all phases: fewer taps in some, unused outputs at the edges.
inline const ConvForm strided_forms[] = {
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
inline const char* const depthwise =
    "input %x : f32[2,6,9,8]\nparameter %w : f32[6,1,3,3]\nparameter %b : f32[6]\n"
    "%y = conv(%x, %w, %b) stride=[1,1] padding=[1,1] dilation=[1,1] groups=6 : f32[2,6,9,8]\n"
    "%z = relu(%y) : f32[2,6,9,8]\noutput %z\n";

// Several tiles and slices, the last ones partial; pixels by fours and not; groups; epilogues.
inline const ConvForm pointwise_forms[] = {
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

// Several tiles in every direction, the last ones partial.
inline const ConvForm halo_forms[] = {
    {"tiles",
     "input %x : f32[1,8,19,37]\nparameter %w : f32[50,8,3,3]\nparameter %b : f32[50]\n"
     "%y = conv(%x, %w, %b) stride=[1,1] padding=[1,0] dilation=[1,1] : f32[1,50,19,35]\n"
     "%z = silu(%y) : f32[1,50,19,35]\noutput %z\n"},
    {"slices",
     "input %x : f32[1,12,9,33]\nparameter %w : f32[70,12,2,3]\n"
     "%y = conv(%x, %w) stride=[1,2] padding=[0,1] dilation=[2,1] : f32[1,70,7,17]\noutput %y\n"},
    {"volume",
     "input %x : f32[1,3,5,8,35]\nparameter %w : f32[24,3,3,3,3]\nparameter %b : f32[24]\n"
     "%y = conv(%x, %w, %b) stride=[1,1,1] padding=[0,0,0] dilation=[1,1,1] : f32[1,24,3,6,33]\n"
     "%z = relu(%y) : f32[1,24,3,6,33]\noutput %z\n"},
    {"long",
     "input %x : f32[1,3,2,9,40]\nparameter %w : f32[34,3,3,5,7]\n"
     "%y = conv(%x, %w) stride=[1,1,1] padding=[1,0,0] dilation=[1,1,1] : f32[1,34,2,5,34]\noutput %y\n"},
    {"short_rows",
     "input %x : f32[2,3,9,11,5]\nparameter %w : f32[20,3,3,3,1]\nparameter %b : f32[20]\n"
     "%y = conv(%x, %w, %b) stride=[1,1,1] padding=[0,0,0] dilation=[1,1,1] : f32[2,20,7,9,5]\n"
     "%z = relu(%y) : f32[2,20,7,9,5]\noutput %z\n"},
    {"short_rows_padded",
     "input %x : f32[1,5,8,13,3]\nparameter %w : f32[9,5,2,3,1]\nparameter %s : f32[1,9,7,13,3]\n"
     "%y = conv(%x, %w) stride=[2,1,1] padding=[3,2,0] dilation=[1,2,1] : f32[1,9,7,13,3]\n"
     "%z = add(%y, %s) : f32[1,9,7,13,3]\noutput %z\n"},
    {"short_rows_strided",  // along y: consecutive rows aren't adjacent
     "input %x : f32[1,3,6,9,4]\nparameter %w : f32[8,3,3,3,1]\n"
     "%y = conv(%x, %w) stride=[1,2,1] padding=[0,1,0] dilation=[1,1,1] : f32[1,8,4,5,4]\noutput %y\n"},
};

// All kinds of phases: with more taps, fewer, none; several tiles in every direction, chunks of channels,
// more filters than a block has.
inline const ConvForm transposed_forms[] = {
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

}  // namespace stitch::code
