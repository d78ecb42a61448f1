// cuDNN 9's functions with descriptors; its graph API is not emulated.
#pragma once

#include "cudnn_adv.h"
#include "cudnn_cnn.h"
#include "cudnn_graph.h"
#include "cudnn_ops.h"
#include "cudnn_version.h"
