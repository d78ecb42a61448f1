// Recurrent networks: descriptors, weight space, and argument checks of the forward pass.
#include "cudnn/rnn.h"

#include <numeric>

#include "cudnn/descriptors.h"

using namespace stitch_emulated;

int64_t cudnnRNNDataStruct::offset(int64_t time, int64_t sequence) const {
  switch (layout) {
    case CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED: return (time * batch + sequence) * vector;
    case CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED: return (sequence * longest + time) * vector;
    default: break;
  }
  int64_t before = 0;  // sequences are sorted, longest first
  for (int length : lengths) before += std::min<int64_t>(length, time);
  return (before + sequence) * vector;
}
int64_t cudnnRNNDataStruct::elements() const {
  if (layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED) return longest * batch * vector;
  return std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) * vector;
}

namespace stitch_emulated {

namespace {

int64_t layer_matrices(const cudnnRNNStruct& rnn, int64_t layer) {
  return rnn.gates() * rnn.hidden * (rnn.layer_input(layer) + rnn.hidden);
}
bool has_bias(const cudnnRNNStruct& rnn, bool recurrent) {
  if (rnn.bias == CUDNN_RNN_DOUBLE_BIAS) return true;
  return rnn.bias == (recurrent ? CUDNN_RNN_SINGLE_REC_BIAS : CUDNN_RNN_SINGLE_INP_BIAS);
}
int64_t biases_of_layer(const cudnnRNNStruct& rnn) {
  return rnn.gates() * rnn.hidden * (has_bias(rnn, false) + has_bias(rnn, true));
}
int64_t all_matrices(const cudnnRNNStruct& rnn) {
  int64_t out = 0;
  for (int64_t layer = 0; layer < rnn.layers; ++layer) out += rnn.directions * layer_matrices(rnn, layer);
  return out;
}

}  // namespace

int64_t matrix_place(const cudnnRNNStruct& rnn, int64_t pseudo_layer, int64_t gate) {
  int64_t out = 0;
  for (int64_t i = 0; i < pseudo_layer; ++i) out += layer_matrices(rnn, i / rnn.directions);
  const int64_t input = rnn.layer_input(pseudo_layer / rnn.directions), gates = rnn.gates();
  out += std::min(gate, gates) * rnn.hidden * input;
  return out + std::max<int64_t>(0, gate - gates) * rnn.hidden * rnn.hidden;
}
int64_t bias_place(const cudnnRNNStruct& rnn, int64_t pseudo_layer, int64_t gate) {
  const bool recurrent = gate >= rnn.gates();
  if (!has_bias(rnn, recurrent)) return -1;
  const int64_t row = recurrent && !has_bias(rnn, false) ? gate - rnn.gates() : gate;
  return all_matrices(rnn) + pseudo_layer * biases_of_layer(rnn) + row * rnn.hidden;
}
int64_t weight_count(const cudnnRNNStruct& rnn) {
  return all_matrices(rnn) + rnn.layers * rnn.directions * biases_of_layer(rnn);
}

}  // namespace stitch_emulated

namespace {

size_t workspace_bytes_of(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x) {
  return static_cast<size_t>(x.longest * x.batch * rnn.hidden * rnn.directions) * sizeof(float);
}
// Reserve space for gradients, which aren't computed here; programs must still allocate it.
size_t reserve_bytes_of(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x) {
  return workspace_bytes_of(rnn, x) * static_cast<size_t>(rnn.gates() * rnn.layers);
}
bool is_state(const cudnnTensorStruct* desc, const cudnnRNNStruct& rnn, int64_t batch) {
  return desc && desc->type == rnn.type &&
         desc->dims == std::vector<int64_t>{rnn.layers * rnn.directions, batch, rnn.hidden};
}

}  // namespace

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* rnn) {
  *rnn = new cudnnRNNStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t rnn) {
  delete rnn;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t, cudnnRNNMode_t cell,
                                       cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                                       cudnnRNNInputMode_t input, cudnnDataType_t type,
                                       cudnnDataType_t math_precision, cudnnMathType_t math,
                                       int32_t input_size, int32_t hidden_size, int32_t projection_size,
                                       int32_t layers, cudnnDropoutDescriptor_t dropout, uint32_t flags) {
  Element element;
  if (!rnn || cell > CUDNN_GRU || bias > CUDNN_RNN_SINGLE_REC_BIAS || !element_of(type, element))
    return refuse(CUDNN_STATUS_BAD_PARAM, "no such network");
  if (input_size <= 0 || hidden_size <= 0 || layers <= 0)
    return refuse(CUDNN_STATUS_BAD_PARAM, "a size is not positive");
  if (projection_size <= 0) return refuse(CUDNN_STATUS_BAD_PARAM, "the projection is not positive");
  if (projection_size != hidden_size)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "projections are not emulated");
  if (input != CUDNN_LINEAR_INPUT)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "CUDNN_SKIP_INPUT is not emulated");
  if ((type == CUDNN_DATA_DOUBLE) != (math_precision == CUDNN_DATA_DOUBLE) || element == Element::i8 ||
      element == Element::i32)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "the math precision does not go with the data type");
  rnn->cell = cell;
  rnn->bias = bias;
  rnn->type = type;
  rnn->math = math;
  rnn->input = input_size;
  rnn->hidden = hidden_size;
  rnn->layers = layers;
  rnn->directions = direction == CUDNN_BIDIRECTIONAL ? 2 : 1;
  rnn->padded = flags & CUDNN_RNN_PADDED_IO_ENABLED;
  rnn->dropout = dropout ? dropout->probability : 0;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* data) {
  *data = new cudnnRNNDataStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t data) {
  delete data;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t layout, int longest, int batch, int vector_size,
                                        const int lengths[], void* padding) {
  Element element;
  if (!data || !element_of(type, element) || longest <= 0 || batch <= 0 || vector_size <= 0 || !lengths)
    return refuse(CUDNN_STATUS_BAD_PARAM, "a size is not positive, or an argument null");
  for (int i = 0; i < batch; ++i) {
    if (lengths[i] < 0 || lengths[i] > longest)
      return refuse(CUDNN_STATUS_BAD_PARAM, "a sequence is longer than the longest");
    if (layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED && i && lengths[i] > lengths[i - 1])
      return refuse(CUDNN_STATUS_BAD_PARAM, "packed sequences are sorted, the longest first");
  }
  data->type = type;
  data->layout = layout;
  data->longest = longest;
  data->batch = batch;
  data->vector = vector_size;
  data->lengths.assign(lengths, lengths + batch);
  data->fills = padding != nullptr;
  data->fill = padding ? read_one(element, padding) : 0;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                        cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x,
                                        size_t* workspace_bytes, size_t* reserve_bytes) {
  if (!handle || !rnn || !x) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  if (workspace_bytes) *workspace_bytes = workspace_bytes_of(*rnn, *x);
  if (reserve_bytes) *reserve_bytes = mode == CUDNN_FWD_MODE_TRAINING ? reserve_bytes_of(*rnn, *x) : 0;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, size_t* bytes) {
  if (!handle || !rnn || !bytes) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  Element element;
  element_of(rnn->type, element);
  *bytes = static_cast<size_t>(weight_count(*rnn)) * bytes_of(element);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int32_t pseudo_layer,
                                      size_t weight_bytes, const void* weights, int32_t gate,
                                      cudnnTensorDescriptor_t matrix, void** matrix_address,
                                      cudnnTensorDescriptor_t bias, void** bias_address) {
  if (!handle || !rnn || !matrix || !bias) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  size_t needed = 0;
  cudnnGetRNNWeightSpaceSize(handle, rnn, &needed);
  if (pseudo_layer < 0 || pseudo_layer >= rnn->layers * rnn->directions || gate < 0 ||
      gate >= 2 * rnn->gates() || weight_bytes < needed)
    return refuse(CUDNN_STATUS_BAD_PARAM, "no such layer or gate, or the weight space is too small");
  Element element;
  element_of(rnn->type, element);
  auto address = [&](int64_t place) {
    return const_cast<char*>(static_cast<const char*>(weights)) +
           static_cast<size_t>(place) * bytes_of(element);
  };
  const auto hidden = static_cast<int>(rnn->hidden);
  const auto columns =
      gate < rnn->gates() ? static_cast<int>(rnn->layer_input(pseudo_layer / rnn->directions)) : hidden;
  const int shape[] = {1, hidden, columns}, bias_shape[] = {1, hidden, 1};
  cudnnSetTensorNdDescriptorEx(matrix, CUDNN_TENSOR_NCHW, rnn->type, 3, shape);
  if (matrix_address) *matrix_address = address(matrix_place(*rnn, pseudo_layer, gate));
  const int64_t place = bias_place(*rnn, pseudo_layer, gate);
  if (place >= 0) cudnnSetTensorNdDescriptorEx(bias, CUDNN_TENSOR_NCHW, rnn->type, 3, bias_shape);
  if (bias_address) *bias_address = place < 0 ? nullptr : address(place);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnForwardMode_t mode,
                              const int32_t device_lengths[], cudnnRNNDataDescriptor_t x_desc, const void* x,
                              cudnnRNNDataDescriptor_t y_desc, void* y, cudnnTensorDescriptor_t h_desc,
                              const void* hx, void* hy, cudnnTensorDescriptor_t c_desc, const void* cx,
                              void* cy, size_t weight_bytes, const void* weights, size_t workspace_bytes,
                              void* workspace, size_t reserve_bytes, void* reserve) {
  if (!handle || !rnn || !x_desc || !y_desc || !x || !y || !weights)
    return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  if (x_desc->type != rnn->type || y_desc->type != rnn->type || x_desc->vector != rnn->input ||
      y_desc->vector != rnn->hidden * rnn->directions || x_desc->batch != y_desc->batch ||
      x_desc->longest != y_desc->longest || x_desc->lengths != y_desc->lengths ||
      x_desc->layout != y_desc->layout)
    return refuse(CUDNN_STATUS_BAD_PARAM, "x and y don't fit the network or each other");
  const std::vector<int>& lengths = x_desc->lengths;
  const bool ragged =
      std::any_of(lengths.begin(), lengths.end(), [&](int n) { return n != x_desc->longest; });
  if (!rnn->padded && (x_desc->layout == CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED ||
                       (x_desc->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED && ragged)))
    return refuse(CUDNN_STATUS_BAD_PARAM, "unpacked sequences want CUDNN_RNN_PADDED_IO_ENABLED");
  if (rnn->cell != CUDNN_LSTM) cx = nullptr, cy = nullptr;
  if ((hx || hy) && !is_state(h_desc, *rnn, x_desc->batch))
    return refuse(CUDNN_STATUS_BAD_PARAM, "h is not (layers times directions, batch, hidden)");
  if ((cx || cy) && !is_state(c_desc, *rnn, x_desc->batch))
    return refuse(CUDNN_STATUS_BAD_PARAM, "c is not (layers times directions, batch, hidden)");
  size_t needed = 0;
  cudnnGetRNNWeightSpaceSize(handle, rnn, &needed);
  if (weight_bytes < needed || workspace_bytes < workspace_bytes_of(*rnn, *x_desc) || !workspace)
    return refuse(CUDNN_STATUS_BAD_PARAM, "the weight space or the workspace is too small");
  const bool training = mode == CUDNN_FWD_MODE_TRAINING;
  if (training && (reserve_bytes < reserve_bytes_of(*rnn, *x_desc) || !reserve))
    return refuse(CUDNN_STATUS_BAD_PARAM, "the reserve space is too small");
  if (training && rnn->dropout > 0)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "dropout in training is not emulated");
  RnnCall run{*rnn, *x_desc, *y_desc, {}, x, weights, hx, cx, y, hy, cy};
  element_of(rnn->type, run.element);
  const size_t bytes = bytes_of(run.element);
  const size_t state =
      static_cast<size_t>(rnn->layers * rnn->directions * x_desc->batch * rnn->hidden) * bytes;
  LibraryOperation call;
  constexpr const char* cells[] = {"ReLU", "tanh", "LSTM", "GRU"};
  call.name = std::string("cudnnRNNForward ") + cells[rnn->cell] + " " + std::to_string(x_desc->longest) +
              "x" + std::to_string(x_desc->batch) + "x" + std::to_string(rnn->input) + " to " +
              std::to_string(rnn->hidden) + " layers " + std::to_string(rnn->layers);
  call.operands = {{"x", x, static_cast<size_t>(x_desc->elements()) * bytes},
                   {"y", y, static_cast<size_t>(y_desc->elements()) * bytes},
                   {"weights", weights, needed},
                   {"workspace", workspace, workspace_bytes},
                   {"hx", hx, hx ? state : 0},
                   {"hy", hy, hy ? state : 0},
                   {"cx", cx, cx ? state : 0},
                   {"cy", cy, cy ? state : 0},
                   {"sequence lengths", device_lengths,
                    device_lengths ? static_cast<size_t>(x_desc->batch) * sizeof(int32_t) : 0}};
  if (training) call.operands.push_back({"reserve", reserve, reserve_bytes});
  call.work = [=, run = std::move(run)] {
    spoil(workspace, workspace_bytes);
    run_rnn(run);
  };
  return submit(handle, std::move(call));
}

// Dropout descriptors for recurrent networks; no effect in inference.
using namespace stitch_emulated;

cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* dropout) {
  *dropout = new cudnnDropoutStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t dropout) {
  delete dropout;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t* bytes) {
  if (!handle || !bytes) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  *bytes = 4096;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropout, cudnnHandle_t handle,
                                        float probability, void* states, size_t state_bytes,
                                        unsigned long long) {
  if (!dropout || !handle) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  if (!(probability >= 0 && probability <= 1))
    return refuse(CUDNN_STATUS_BAD_PARAM, "the probability is outside 0 to 1");
  if (states && state_bytes < 4096) return refuse(CUDNN_STATUS_BAD_PARAM, "the states are too small");
  dropout->probability = probability;
  return CUDNN_STATUS_SUCCESS;
}
