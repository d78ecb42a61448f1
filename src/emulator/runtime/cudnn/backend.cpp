// The part of cuDNN's backend needed for a convolution or its gradient alone, in any layout, and for a
// convolution followed by pointwise operations: NHWC, channels a multiple of 16 bytes, one group. Every such
// graph has two heuristic engines and one fallback; an exact GELU has none, to exercise programs' fallbacks.
#include <cmath>
#include <map>

#include "cudnn/descriptors.h"

using namespace stitch_emulated;

namespace {

struct Backend {
  cudnnBackendDescriptorType_t type;
  bool final = false;
  std::map<int, std::vector<int64_t>> integers;
  std::map<int, std::vector<double>> numbers;
  std::map<int, std::vector<void*>> pointers;

  int64_t integer(int name, int64_t otherwise = 0) const {
    auto found = integers.find(name);
    return found == integers.end() || found->second.empty() ? otherwise : found->second[0];
  }
  double number(int name, double otherwise) const {
    auto found = numbers.find(name);
    return found == numbers.end() ? otherwise : found->second[0];
  }
  const Backend* part(int name) const {
    auto found = pointers.find(name);
    return found == pointers.end() || found->second.empty() ? nullptr
                                                            : static_cast<const Backend*>(found->second[0]);
  }
  const std::vector<int64_t>& list(int name) const {
    static const std::vector<int64_t> none;
    auto found = integers.find(name);
    return found == integers.end() ? none : found->second;
  }
};

constexpr size_t graph_workspace = 1024;

View tensor_view(const Backend& tensor, void* data) {
  View out;
  element_of(static_cast<cudnnDataType_t>(tensor.integer(CUDNN_ATTR_TENSOR_DATA_TYPE)), out.element);
  out.dims = tensor.list(CUDNN_ATTR_TENSOR_DIMENSIONS);
  out.steps = tensor.list(CUDNN_ATTR_TENSOR_STRIDES);
  out.data = data;
  return out;
}

// The operations of a graph, convolution first.
struct Operations {
  const Backend* convolution = nullptr;
  std::vector<const Backend*> after;
};

cudnnStatus_t operations_of(const Backend& graph, Operations& out) {
  auto found = graph.pointers.find(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  if (found == graph.pointers.end()) return refuse(CUDNN_STATUS_BAD_PARAM, "a graph without operations");
  for (void* each : found->second) {
    const auto* operation = static_cast<const Backend*>(each);
    if (operation->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
      out.after.push_back(operation);
    else if (!out.convolution && out.after.empty())
      out.convolution = operation;
    else
      return refuse(CUDNN_STATUS_NOT_SUPPORTED, "one convolution, then pointwise operations");
  }
  return out.convolution ? CUDNN_STATUS_SUCCESS
                         : refuse(CUDNN_STATUS_NOT_SUPPORTED, "graphs without a convolution");
}

// Operands of the convolution or its gradient.
struct Roles {
  bool backward = false;
  const Backend *source, *filter, *result, *geometry;

  explicit Roles(const Backend& node)
      : backward(node.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR),
        source(node.part(backward ? CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY
                                  : CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X)),
        filter(node.part(backward ? CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W
                                  : CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W)),
        result(node.part(backward ? CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX
                                  : CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y)),
        geometry(node.part(backward ? CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC
                                    : CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC)) {}
};

cudnnStatus_t check_engine(const Backend& graph) {
  Operations operations;
  if (cudnnStatus_t status = operations_of(graph, operations)) return status;
  if (operations.after.empty()) return CUDNN_STATUS_SUCCESS;
  const Roles roles(*operations.convolution);
  if (roles.backward) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "a gradient with an epilogue");
  const View vx = tensor_view(*roles.source, nullptr), vw = tensor_view(*roles.filter, nullptr);
  const int64_t at_once = 16 / static_cast<int64_t>(bytes_of(vx.element));
  if (vx.steps[1] != 1 || vw.steps[1] != 1) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "channels first");
  if (vx.dims[1] != vw.dims[1]) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "several groups");
  if (vx.dims[1] % at_once || vw.dims[0] % at_once)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "channels that are no multiple of 16 bytes");
  for (const Backend* operation : operations.after)
    if (operation->part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)->integer(CUDNN_ATTR_POINTWISE_MODE) ==
        CUDNN_POINTWISE_GELU_FWD)
      return refuse(CUDNN_STATUS_NOT_SUPPORTED, "no engine has an exact GELU here");
  return CUDNN_STATUS_SUCCESS;
}

double pointwise(const Backend& kind, double x, double b) {
  switch (static_cast<cudnnPointwiseMode_t>(kind.integer(CUDNN_ATTR_POINTWISE_MODE))) {
    case CUDNN_POINTWISE_ADD: return x + b;
    case CUDNN_POINTWISE_MUL: return x * b;
    case CUDNN_POINTWISE_SUB: return x - b;
    case CUDNN_POINTWISE_MIN: return std::fmin(x, b);
    case CUDNN_POINTWISE_MAX: return std::fmax(x, b);
    case CUDNN_POINTWISE_RELU_FWD: {
      const double low = kind.number(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0),
                   high = kind.number(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, HUGE_VAL);
      return x < low ? low : x > high ? high : x;
    }
    case CUDNN_POINTWISE_TANH_FWD: return std::tanh(x);
    case CUDNN_POINTWISE_SIGMOID_FWD: return 1 / (1 + std::exp(-x));
    case CUDNN_POINTWISE_SWISH_FWD: return x / (1 + std::exp(-x));
    case CUDNN_POINTWISE_GELU_FWD: break;  // not supported by any engine
    case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  return 0;
}

// Addresses of the graph's tensors: the variant pack's pointers by tensor ID.
class Tensors {
 public:
  explicit Tensors(const Backend& pack) {
    auto found = pack.pointers.find(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    const auto& ids = pack.list(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    for (size_t i = 0; found != pack.pointers.end() && i < ids.size() && i < found->second.size(); ++i)
      data_[ids[i]] = found->second[i];
  }
  void* data(const Backend& tensor) const {
    auto found = data_.find(tensor.integer(CUDNN_ATTR_TENSOR_UNIQUE_ID));
    return found == data_.end() ? nullptr : found->second;
  }

 private:
  std::map<int64_t, void*> data_;
};

// One pointwise operation with its resolved operands.
struct GraphStep {
  Backend kind;
  int first = -1, second = -2;  // a step; -1: the convolution; -2: none, or `operand`
  View operand;
  bool has_operand = false;
  double constant = 0;
  bool is_constant = false;
};

View three_dimensional(View view) {
  if (view.dims.size() == 4) {
    view.dims.insert(view.dims.begin() + 2, 1);
    view.steps.insert(view.steps.begin() + 2, 0);
  }
  return view;
}

struct GraphProblem {
  Convolution convolution;
  std::vector<GraphStep> steps;
  View y;

  void run() {
    std::vector<float> sums(static_cast<size_t>(y.elements()));
    View between = y;
    between.element = Element::f32;
    between.data = sums.data();
    int64_t step = 1;
    for (size_t d = between.dims.size(); d-- > 0;) {
      between.steps[d] = step;
      step *= between.dims[d];
    }
    convolution.target = between;
    convolution.other = between;
    convolve(convolution);
    const Rows rows(y);
    rows.for_each([&](int64_t row) {
      std::vector<double> results(steps.size() + 1);
      const int64_t length = rows.length();
      for (int64_t i = 0; i < length; ++i) {
        results[0] = static_cast<double>(sums[static_cast<size_t>(row * length + i)]);
        for (size_t s = 0; s < steps.size(); ++s) {
          const GraphStep& each = steps[s];
          double b = each.constant;
          if (each.second >= -1) b = results[static_cast<size_t>(each.second + 1)];
          if (each.has_operand) {
            float read_value = 0;
            read(each.operand.element, each.operand.data,
                 rows.offset(each.operand, row) + i * Rows::step(each.operand), 1, 1, &read_value);
            b = static_cast<double>(read_value);
          }
          results[s + 1] = static_cast<double>(
              static_cast<float>(pointwise(each.kind, results[static_cast<size_t>(each.first + 1)], b)));
        }
        const float last = static_cast<float>(results.back());
        write(y.element, y.data, rows.offset(y, row) + i * y.steps.back(), 1, 1, &last);
      }
    });
  }
};

cudnnStatus_t problem_of(const Backend& graph, const Backend& pack, GraphProblem& out,
                         LibraryOperation& call) {
  Operations operations;
  if (cudnnStatus_t status = operations_of(graph, operations)) return status;
  const Tensors tensors(pack);
  const Roles roles(*operations.convolution);
  const Backend &geometry = *roles.geometry, *x = roles.source, *w = roles.filter, *last = roles.result;
  std::map<int64_t, int> steps = {{last->integer(CUDNN_ATTR_TENSOR_UNIQUE_ID), -1}};
  auto add = [&](const char* name, const View& view) {
    call.operands.push_back({name, view.data, view.bytes()});
    return view.data != nullptr;
  };

  Convolution& c = out.convolution;
  c.source = three_dimensional(tensor_view(*x, tensors.data(*x)));
  const View filter = three_dimensional(tensor_view(*w, tensors.data(*w)));
  c.filter_element = filter.element;
  c.filter = filter.data;
  c.backward = roles.backward;
  const View result = tensor_view(*last, nullptr);
  c.groups = (c.backward ? result : c.source).dims[1] / filter.dims[1];
  c.precision = c.source.element == Element::f32 ? precision_of(CUDNN_DEFAULT_MATH) : Precision::full;
  const auto& pad = geometry.list(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const auto& stride = geometry.list(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  const auto& dilation = geometry.list(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  const size_t lead = 3 - pad.size();
  for (size_t i = 0; i < 5; ++i) c.filter_steps[i] = filter.steps[i];
  for (size_t i = 0; i < 3; ++i) {
    c.kernel[i] = filter.dims[i + 2];
    c.pad[i] = i >= lead ? pad[i - lead] : 0;
    c.stride[i] = i >= lead ? stride[i - lead] : 1;
    c.dilation[i] = i >= lead ? dilation[i - lead] : 1;
  }
  if (!add("x", c.source) || !add("w", filter)) return refuse(CUDNN_STATUS_BAD_PARAM, "x or w is missing");

  for (const Backend* operation : operations.after) {
    GraphStep step;
    step.kind = *operation->part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const Backend *first = operation->part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
                  *second = operation->part(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    auto known = [&](const Backend* tensor) {
      return steps.find(tensor->integer(CUDNN_ATTR_TENSOR_UNIQUE_ID));
    };
    if (known(first) == steps.end())
      return refuse(CUDNN_STATUS_NOT_SUPPORTED, "an operation that reads nothing of the graph's");
    step.first = known(first)->second;
    if (second && known(second) != steps.end()) {
      step.second = known(second)->second;
    } else if (second) {
      step.operand = three_dimensional(tensor_view(*second, tensors.data(*second)));
      if (!step.operand.data) return refuse(CUDNN_STATUS_BAD_PARAM, "an operand is missing");
      step.is_constant = second->integer(CUDNN_ATTR_TENSOR_IS_BY_VALUE) != 0;
      step.has_operand = !step.is_constant;
      // Passed by value: read now, on the host.
      if (step.is_constant) step.constant = static_cast<double>(*static_cast<float*>(step.operand.data));
      if (step.has_operand) add("operand", step.operand);
    }
    last = operation->part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    steps[last->integer(CUDNN_ATTR_TENSOR_UNIQUE_ID)] = static_cast<int>(out.steps.size());
    out.steps.push_back(std::move(step));
  }
  out.y = three_dimensional(tensor_view(*last, tensors.data(*last)));
  return add("y", out.y) ? CUDNN_STATUS_SUCCESS : refuse(CUDNN_STATUS_BAD_PARAM, "y is missing");
}

Backend* backend(cudnnBackendDescriptor_t descriptor) { return static_cast<Backend*>(descriptor); }

template <class T>
std::vector<int64_t> integers_from(const void* values, int64_t count) {
  const T* first = static_cast<const T*>(values);
  return {first, first + count};
}

cudnnStatus_t list_engines(Backend& heuristic, int64_t requested, int64_t* count, void** out) {
  const bool fallback = heuristic.integer(CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_FALLBACK;
  *count = std::min<int64_t>(requested, fallback ? 1 : 2);
  for (int64_t i = 0; i < *count; ++i) {
    Backend& configuration = *backend(out[i]);
    configuration.pointers = {{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                               heuristic.pointers.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)}};
    configuration.final = true;
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  *descriptor = new Backend{.type = type};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete backend(descriptor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  if (!descriptor || !values || count < 1) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  Backend& own = *backend(descriptor);
  if (own.final) return refuse(CUDNN_STATUS_BAD_PARAM, "the descriptor is finalized");
  switch (type) {
    case CUDNN_TYPE_INT64: own.integers[name] = integers_from<int64_t>(values, count); break;
    case CUDNN_TYPE_BOOLEAN: own.integers[name] = integers_from<bool>(values, count); break;
    case CUDNN_TYPE_FLOAT:
      own.numbers[name] = {static_cast<double>(*static_cast<const float*>(values))};
      break;
    case CUDNN_TYPE_DOUBLE: own.numbers[name] = {*static_cast<const double*>(values)}; break;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: {
      auto* first = static_cast<void* const*>(values);
      own.pointers[name].assign(first, first + count);
      break;
    }
    default: own.integers[name] = integers_from<int>(values, count); break;
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t requested, int64_t* count,
                                       void* values) {
  if (!descriptor || !count || !values) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  Backend& own = *backend(descriptor);
  if (!own.final && own.type != CUDNN_BACKEND_ENGINE_DESCRIPTOR)
    return refuse(CUDNN_STATUS_BAD_PARAM, "the descriptor is not finalized");
  *count = 1;
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      return list_engines(own, requested, count, static_cast<void**>(values));
    case CUDNN_ATTR_ENGINECFG_ENGINE: return CUDNN_STATUS_SUCCESS;  // all engines are alike
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX: *static_cast<int64_t*>(values) = 0; return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      *static_cast<cudnnBackendNumericalNote_t*>(values) = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      *static_cast<int64_t*>(values) = graph_workspace;
      return CUDNN_STATUS_SUCCESS;
    default: return refuse(CUDNN_STATUS_NOT_SUPPORTED, "the attribute is not emulated");
  }
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  if (!descriptor) return refuse(CUDNN_STATUS_BAD_PARAM, "the descriptor is null");
  Backend& own = *backend(descriptor);
  if (own.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    Operations operations;
    if (cudnnStatus_t status = operations_of(own, operations)) return status;
  }
  if (own.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    const Backend* configuration = own.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    if (!configuration) return refuse(CUDNN_STATUS_BAD_PARAM, "a plan without an engine");
    const Backend* graph = configuration->part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    if (cudnnStatus_t status = check_engine(*graph)) return status;
    own.pointers[CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH] =
        configuration->pointers.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  }
  own.final = true;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  if (!handle || !plan || !pack) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  const Backend* graph = backend(plan)->part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (!graph || !backend(pack)->final) return refuse(CUDNN_STATUS_BAD_PARAM, "a part is not finalized");
  GraphProblem problem;
  LibraryOperation call;
  if (cudnnStatus_t status = problem_of(*graph, *backend(pack), problem, call)) return status;
  auto found = backend(pack)->pointers.find(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  void* workspace = found == backend(pack)->pointers.end() ? nullptr : found->second[0];
  if (!workspace) return refuse(CUDNN_STATUS_BAD_PARAM, "the workspace is missing");
  call.name = "cudnnBackendExecute" + sizes(problem.y.dims);
  call.operands.push_back({"workspace", workspace, graph_workspace});
  call.work = [workspace, problem = std::move(problem)]() mutable {
    spoil(workspace, graph_workspace);
    problem.run();
  };
  return submit(handle, std::move(call));
}
