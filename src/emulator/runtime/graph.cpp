// Graphs: operations stored with their arguments, replayed in any order that dependencies allow.
#include <algorithm>
#include <cstring>
#include <map>

#include "error.h"
#include "launch_log.h"
#include "settings.h"
#include "stitch/graph_api.h"
#include "stream.h"

using namespace stitch_emulated;

// An instantiated graph is a copy, so that the graph may be changed or destroyed. `places` maps a node to its
// copy.
struct CUgraphExec_st {
  std::unique_ptr<CUgraph_st> graph;
  std::map<cudaGraphNode_t, size_t> places;
};

CUgraphNode_st* CUgraph_st::add(Operation operation, std::vector<CUgraphNode_st*> dependencies) {
  nodes.push_back(
      std::make_unique<CUgraphNode_st>(CUgraphNode_st{std::move(operation), std::move(dependencies), this}));
  return nodes.back().get();
}

namespace stitch_emulated {

Arguments::Arguments(const Kernel& kernel, void* const* values) {
  size_t chunks = 0;
  for (unsigned i = 0; i < kernel.count; ++i) {
    offsets_.push_back(chunks);
    chunks += (kernel.sizes[i] + 63) / 64;
  }
  chunks_.resize(chunks);
  point();
  for (unsigned i = 0; i < kernel.count; ++i) std::memcpy(pointers_[i], values[i], kernel.sizes[i]);
}
Arguments::Arguments(const Arguments& other) : chunks_(other.chunks_), offsets_(other.offsets_) { point(); }
Arguments& Arguments::operator=(const Arguments& other) {
  chunks_ = other.chunks_;
  offsets_ = other.offsets_;
  point();
  return *this;
}
void Arguments::point() {
  pointers_.clear();
  for (size_t offset : offsets_) pointers_.push_back(chunks_.data() + offset);
  pointers_.push_back(nullptr);
}

cudaError_t run(Operation& operation) {
  if (auto* kernel = std::get_if<KernelOperation>(&operation))
    return run_launch(kernel->kernel, kernel->config, kernel->arguments.pointers());
  if (auto* copy = std::get_if<CopyOperation>(&operation)) return run_copy(*copy);
  if (auto* fill = std::get_if<FillOperation>(&operation)) return run_fill(*fill);
  if (auto* host = std::get_if<HostOperation>(&operation)) host->function(host->data);
  if (auto* event = std::get_if<EventOperation>(&operation)) stamp(event->event);
  if (auto* child = std::get_if<ChildOperation>(&operation)) return run_graph(*child->graph);
  if (auto* call = std::get_if<LibraryOperation>(&operation)) return run_library(*call);
  return cudaSuccess;
}

namespace {

// A topological order. Among ready nodes it takes the first, in reverse order the last, or a random one, so
// that a missing dependency shows as a different result. Empty if there is a cycle.
std::vector<CUgraphNode_st*> execution_order(CUgraph_st& graph, Order order) {
  std::map<CUgraphNode_st*, size_t> open;
  for (const auto& node : graph.nodes) open[node.get()] = node->dependencies.size();
  std::map<CUgraphNode_st*, std::vector<CUgraphNode_st*>> dependents;
  std::vector<CUgraphNode_st*> ready, out;
  for (const auto& node : graph.nodes) {
    for (CUgraphNode_st* before : node->dependencies) dependents[before].push_back(node.get());
    if (node->dependencies.empty()) ready.push_back(node.get());
  }
  Random random{order.seed};
  while (!ready.empty()) {
    size_t pick = order.kind == Order::reverse   ? ready.size() - 1
                  : order.kind != Order::forward ? random.below(ready.size())
                                                 : 0;
    CUgraphNode_st* node = ready[pick];
    ready.erase(ready.begin() + static_cast<ptrdiff_t>(pick));
    out.push_back(node);
    for (CUgraphNode_st* next : dependents[node])
      if (--open[next] == 0) ready.push_back(next);
  }
  if (out.size() != graph.nodes.size()) out.clear();
  return out;
}

std::unique_ptr<CUgraph_st> copy_of(const CUgraph_st& graph,
                                    std::map<cudaGraphNode_t, size_t>* places = nullptr) {
  auto copy = std::make_unique<CUgraph_st>();
  std::map<const CUgraphNode_st*, CUgraphNode_st*> twin;
  for (const auto& node : graph.nodes) {
    twin[node.get()] = copy->add(node->operation, {});
    if (places) (*places)[node.get()] = copy->nodes.size() - 1;
  }
  for (const auto& node : graph.nodes)
    for (CUgraphNode_st* before : node->dependencies) twin[node.get()]->dependencies.push_back(twin[before]);
  return copy;
}

cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                     size_t count, Operation operation) {
  STITCH_API();
  if (!node || !graph || (count && !dependencies)) return remember(cudaErrorInvalidValue);
  *node = graph->add(std::move(operation), {dependencies, dependencies + count});
  return cudaSuccess;
}

cudaError_t list_nodes(const std::vector<cudaGraphNode_t>& all, cudaGraphNode_t* nodes, size_t* count) {
  if (!count) return remember(cudaErrorInvalidValue);
  if (nodes) {
    for (size_t i = 0; i < *count; ++i) nodes[i] = i < all.size() ? all[i] : nullptr;
    *count = std::min(*count, all.size());
  } else {
    *count = all.size();
  }
  return cudaSuccess;
}

cudaError_t kernel_operation(const cudaKernelNodeParams& p, const Kernel* otherwise, KernelOperation& out) {
  const Kernel* kernel = otherwise && otherwise->function == p.func ? otherwise : find_kernel(p.func);
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  LaunchConfig config{p.gridDim, p.blockDim, p.sharedMemBytes, nullptr};
  if (cudaError_t error = check_launch(*kernel, config)) return error;
  if (kernel->count && !p.kernelParams) return cudaErrorInvalidValue;
  out = {*kernel, config, Arguments(*kernel, p.kernelParams)};
  return cudaSuccess;
}

cudaError_t set_kernel(CUgraphNode_st* node, const cudaKernelNodeParams* parameters) {
  STITCH_API();
  auto* kernel = node && parameters ? std::get_if<KernelOperation>(&node->operation) : nullptr;
  if (!kernel) return remember(cudaErrorInvalidValue);
  KernelOperation fresh;
  if (cudaError_t error = kernel_operation(*parameters, &kernel->kernel, fresh)) return remember(error);
  fresh.config.cooperative = kernel->config.cooperative;
  fresh.config.cluster = kernel->config.cluster;
  *kernel = std::move(fresh);
  return cudaSuccess;
}
template <class T>
cudaError_t set_operation(CUgraphNode_st* node, T operation) {
  STITCH_API();
  if (!node || !std::holds_alternative<T>(node->operation)) return remember(cudaErrorInvalidValue);
  node->operation = std::move(operation);
  return cudaSuccess;
}
FillOperation fill_of(const cudaMemsetParams& p) {
  return {p.dst, p.pitch, p.value, p.elementSize, p.width, p.height};
}

CUgraphNode_st* twin_of(cudaGraphExec_t exec, cudaGraphNode_t node) {
  if (!exec) return nullptr;
  auto at = exec->places.find(node);
  return at == exec->places.end() ? nullptr : exec->graph->nodes[at->second].get();
}

}  // namespace

cudaError_t run_graph(CUgraph_st& graph) {
  InGraph in_graph;
  for (CUgraphNode_st* node : execution_order(graph, settings().order))
    if (cudaError_t error = run(node->operation)) return error;
  return cudaSuccess;
}

}  // namespace stitch_emulated

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  STITCH_API();
  *graph = new CUgraph_st;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  STITCH_API();
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  STITCH_API();
  if (!original) return remember(cudaErrorInvalidValue);
  *clone = copy_of(*original).release();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  STITCH_API();
  if (!exec || !graph) return remember(cudaErrorInvalidValue);
  if (!graph->nodes.empty() && execution_order(*graph, {}).empty()) return remember(cudaErrorInvalidValue);
  auto made = std::make_unique<CUgraphExec_st>();
  made->graph = copy_of(*graph, &made->places);
  *exec = made.release();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphNode_t*, char*, size_t) {
  return cudaGraphInstantiate(exec, graph, 0ull);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  STITCH_API();
  if (!exec) return remember(cudaErrorInvalidValue);
  return remember(enqueue(stream, ChildOperation{{std::shared_ptr<void>(), exec->graph.get()}}));
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t) {
  STITCH_API();
  return exec ? cudaSuccess : remember(cudaErrorInvalidValue);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  STITCH_API();
  delete exec;
  return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  STITCH_API();
  if (!exec || !graph || !info) return remember(cudaErrorInvalidValue);
  *info = {cudaGraphExecUpdateSuccess, nullptr, nullptr};
  auto refuse = [&](cudaGraphExecUpdateResult why, CUgraphNode_st* node) {
    *info = {why, node, nullptr};
    return remember(cudaErrorGraphExecUpdateFailure);
  };
  CUgraph_st& old = *exec->graph;
  if (old.nodes.size() != graph->nodes.size())
    return refuse(cudaGraphExecUpdateErrorTopologyChanged, nullptr);
  auto place = [](const CUgraph_st& in, const CUgraphNode_st* node) {
    return std::find_if(in.nodes.begin(), in.nodes.end(), [&](const auto& n) { return n.get() == node; }) -
           in.nodes.begin();
  };
  for (size_t i = 0; i < old.nodes.size(); ++i) {
    CUgraphNode_st &before = *old.nodes[i], &after = *graph->nodes[i];
    if (before.operation.index() != after.operation.index())
      return refuse(cudaGraphExecUpdateErrorNodeTypeChanged, &after);
    if (before.dependencies.size() != after.dependencies.size())
      return refuse(cudaGraphExecUpdateErrorTopologyChanged, &after);
    for (size_t j = 0; j < before.dependencies.size(); ++j)
      if (place(old, before.dependencies[j]) != place(*graph, after.dependencies[j]))
        return refuse(cudaGraphExecUpdateErrorTopologyChanged, &after);
  }
  exec->places.clear();
  for (size_t i = 0; i < old.nodes.size(); ++i) {
    old.nodes[i]->operation = graph->nodes[i]->operation;
    exec->places[graph->nodes[i].get()] = i;
  }
  return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t* error_node,
                                cudaGraphExecUpdateResult* result) {
  cudaGraphExecUpdateResultInfo info{};
  cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
  if (error_node) *error_node = info.errorNode;
  if (result) *result = info.result;
  return error;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  STITCH_API();
  std::vector<cudaGraphNode_t> all;
  for (const auto& node : graph->nodes) all.push_back(node.get());
  return list_nodes(all, nodes, count);
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  STITCH_API();
  std::vector<cudaGraphNode_t> all;
  for (const auto& node : graph->nodes)
    if (node->dependencies.empty()) all.push_back(node.get());
  return list_nodes(all, nodes, count);
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
  STITCH_API();
  std::vector<cudaGraphNode_t> starts, ends;
  for (const auto& node : graph->nodes)
    for (CUgraphNode_st* before : node->dependencies) {
      starts.push_back(before);
      ends.push_back(node.get());
    }
  size_t same = *count;
  list_nodes(starts, from, &same);
  return list_nodes(ends, to, count);
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  STITCH_API();
  if (!node) return remember(cudaErrorInvalidValue);
  constexpr cudaGraphNodeType types[] = {
      cudaGraphNodeTypeEmpty, cudaGraphNodeTypeKernel,      cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemset,
      cudaGraphNodeTypeHost,  cudaGraphNodeTypeEventRecord, cudaGraphNodeTypeGraph,  cudaGraphNodeTypeKernel};
  *type = types[node->operation.index()];
  return cudaSuccess;
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies, size_t* count) {
  STITCH_API();
  return list_nodes(node->dependencies, dependencies, count);
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, size_t count) {
  STITCH_API();
  for (size_t i = 0; i < count; ++i) {
    if (from[i]->graph != graph || to[i]->graph != graph) return remember(cudaErrorInvalidValue);
    add_dependencies(to[i]->dependencies, {from[i]});
  }
  return cudaSuccess;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaKernelNodeParams* parameters) {
  KernelOperation operation;
  if (cudaError_t error = kernel_operation(*parameters, nullptr, operation)) return remember(error);
  return add_node(node, graph, dependencies, count, std::move(operation));
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemcpy3DParms* p) {
  if (p->extent.depth > 1 || p->srcPos.z || p->dstPos.z) return remember(cudaErrorNotSupported);
  char* to = static_cast<char*>(p->dstPtr.ptr) + p->dstPos.y * p->dstPtr.pitch + p->dstPos.x;
  const char* from = static_cast<const char*>(p->srcPtr.ptr) + p->srcPos.y * p->srcPtr.pitch + p->srcPos.x;
  return add_node(
      node, graph, dependencies, count,
      CopyOperation{to, p->dstPtr.pitch, from, p->srcPtr.pitch, p->extent.width, p->extent.height, p->kind});
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count, void* to,
                                     const void* from, size_t bytes, cudaMemcpyKind kind) {
  return add_node(node, graph, dependencies, count, CopyOperation{to, bytes, from, bytes, bytes, 1, kind});
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemsetParams* parameters) {
  return add_node(node, graph, dependencies, count, fill_of(*parameters));
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies, size_t count,
                                 const cudaHostNodeParams* parameters) {
  return add_node(node, graph, dependencies, count, HostOperation{parameters->fn, parameters->userData});
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, size_t count) {
  return add_node(node, graph, dependencies, count, EmptyOperation{});
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, size_t count, cudaGraph_t child) {
  if (!child) return remember(cudaErrorInvalidValue);
  return add_node(node, graph, dependencies, count, ChildOperation{copy_of(*child)});
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  STITCH_API();
  auto* kernel = node ? std::get_if<KernelOperation>(&node->operation) : nullptr;
  if (!kernel) return remember(cudaErrorInvalidValue);
  *parameters = {
      const_cast<void*>(kernel->kernel.function),         kernel->config.grid,          kernel->config.block,
      static_cast<unsigned>(kernel->config.shared_bytes), kernel->arguments.pointers(), nullptr};
  return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
  return set_kernel(node, parameters);
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  return set_kernel(twin_of(exec, node), parameters);
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                                           cudaMemcpyKind kind) {
  return set_operation(node, CopyOperation{to, bytes, from, bytes, bytes, 1, kind});
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                               const void* from, size_t bytes, cudaMemcpyKind kind) {
  return set_operation(twin_of(exec, node), CopyOperation{to, bytes, from, bytes, bytes, 1, kind});
}
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* parameters) {
  STITCH_API();
  auto* fill = node ? std::get_if<FillOperation>(&node->operation) : nullptr;
  if (!fill) return remember(cudaErrorInvalidValue);
  *parameters = {fill->to, fill->pitch, fill->value, fill->element_bytes, fill->width, fill->height};
  return cudaSuccess;
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* parameters) {
  return set_operation(node, fill_of(*parameters));
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* parameters) {
  return set_operation(twin_of(exec, node), fill_of(*parameters));
}
