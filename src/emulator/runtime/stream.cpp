#include "stream.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "error.h"
#include "memory.h"
#include "stitch/graph_api.h"

namespace stitch_emulated {

namespace {

// One lock for all handles: captures are rare and host threads few.
std::recursive_mutex mutex;
std::set<CUstream_st*> streams;
std::set<CUevent_st*> events;
std::vector<std::weak_ptr<Capture>> captures;
unsigned long long capture_count = 0;

template <class F>
void for_captures(F&& f) {
  std::erase_if(captures, [](const auto& weak) {
    auto capture = weak.lock();
    return !capture || capture->ended;
  });
  for (const auto& weak : captures)
    if (auto capture = weak.lock()) f(*capture);
}

void leave_capture(Capture& capture) {
  capture.ended = true;
  for (cudaStream_t handle : capture.streams) {
    if (!streams.contains(handle)) continue;
    handle->capture = nullptr;
    handle->last.clear();
  }
}

bool reaches(const std::vector<CUgraphNode_st*>& ends, const Capture& capture) {
  std::set<CUgraphNode_st*> seen(ends.begin(), ends.end());
  std::vector<CUgraphNode_st*> open = ends;
  while (!open.empty()) {
    CUgraphNode_st* node = open.back();
    open.pop_back();
    for (CUgraphNode_st* before : node->dependencies)
      if (seen.insert(before).second) open.push_back(before);
  }
  return seen.size() == capture.graph->nodes.size();
}

}  // namespace

CUstream_st* stream_of(cudaStream_t handle) {
  static CUstream_st legacy, per_thread;
  if (handle == nullptr || handle == reinterpret_cast<cudaStream_t>(1)) return &legacy;
  if (handle == cudaStreamPerThread) return &per_thread;
  std::lock_guard lock(mutex);
  return streams.contains(handle) ? handle : nullptr;
}

bool is_stream(cudaStream_t handle) { return stream_of(handle) != nullptr; }

bool is_capturing(cudaStream_t handle) {
  std::lock_guard lock(mutex);
  CUstream_st* stream = stream_of(handle);
  return stream && stream->capture;
}

void add_dependencies(std::vector<CUgraphNode_st*>& to, const std::vector<CUgraphNode_st*>& from) {
  for (CUgraphNode_st* node : from)
    if (std::find(to.begin(), to.end(), node) == to.end()) to.push_back(node);
}

cudaError_t check_not_captured(cudaStream_t handle) {
  std::lock_guard lock(mutex);
  if (handle) {
    CUstream_st* stream = stream_of(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (!stream->capture) return cudaSuccess;
    stream->capture->invalid = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  cudaError_t error = cudaSuccess;
  for_captures([&](Capture& capture) {
    const bool forbids =
        capture.mode == cudaStreamCaptureModeGlobal ||
        (capture.mode == cudaStreamCaptureModeThreadLocal && capture.thread == std::this_thread::get_id());
    if (!forbids) return;
    capture.invalid = true;
    error = cudaErrorStreamCaptureUnsupported;
  });
  return error;
}

cudaError_t check_legacy_stream(cudaStream_t handle) {
  if (handle) return cudaSuccess;
  std::lock_guard lock(mutex);
  cudaError_t error = cudaSuccess;
  for_captures([&](Capture& capture) {
    if (stream_of(capture.origin)->flags & cudaStreamNonBlocking) return;
    capture.invalid = true;
    error = cudaErrorStreamCaptureImplicit;
  });
  return error;
}

cudaError_t enqueue(cudaStream_t handle, Operation operation) {
  std::lock_guard lock(mutex);
  CUstream_st* stream = stream_of(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (cudaError_t error = check_legacy_stream(handle)) return error;
  if (!stream->capture) return run(operation);
  if (stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
  stream->last = {stream->capture->graph->add(std::move(operation), stream->last)};
  return cudaSuccess;
}

void stamp(cudaEvent_t event) {
  std::lock_guard lock(mutex);
  if (!events.contains(event)) return;
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
}

size_t count_handles() {
  std::lock_guard lock(mutex);
  return streams.size() + events.size();
}

}  // namespace stitch_emulated

using namespace stitch_emulated;

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  STITCH_API();
  if (!stream || flags > cudaStreamNonBlocking) return remember(cudaErrorInvalidValue);
  std::lock_guard lock(mutex);
  *stream = new CUstream_st{flags, std::clamp(priority, -5, 0), nullptr, {}};
  streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  STITCH_API();
  std::lock_guard lock(mutex);
  if (!streams.erase(stream)) return remember(cudaErrorInvalidResourceHandle);
  if (stream->capture) leave_capture(*stream->capture);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  STITCH_API();
  if (!is_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
  if (stream)
    if (cudaError_t error = check_not_captured(stream)) return remember(error);
  return remember(check_guards_at_sync());
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  STITCH_API();
  if (!is_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
  return stream ? remember(check_not_captured(stream)) : cudaSuccess;
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  STITCH_API();
  if (!is_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
  *flags = stream_of(stream)->flags;
  return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  STITCH_API();
  if (!is_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
  *priority = stream_of(stream)->priority;
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  STITCH_API();
  return remember(enqueue(stream, HostOperation{function, data}));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  STITCH_API();
  if (!event) return remember(cudaErrorInvalidValue);
  std::lock_guard lock(mutex);
  *event = new CUevent_st;
  (*event)->flags = flags;
  events.insert(*event);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) {
  return cudaEventCreateWithFlags(event, flags);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  STITCH_API();
  std::lock_guard lock(mutex);
  if (!events.erase(event)) return remember(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned flags) {
  STITCH_API();
  std::lock_guard lock(mutex);
  CUstream_st* stream = stream_of(handle);
  if (!stream || !events.contains(event)) return remember(cudaErrorInvalidResourceHandle);
  if (cudaError_t error = check_legacy_stream(handle)) return remember(error);
  if (stream->capture && (flags & cudaEventRecordExternal))
    return remember(enqueue(handle, EventOperation{event}));
  event->capture = stream->capture;
  event->last = stream->last;
  if (!stream->capture) stamp(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  STITCH_API();
  std::lock_guard lock(mutex);
  if (!events.contains(event)) return remember(cudaErrorInvalidResourceHandle);
  if (event->capture && !event->capture->ended) {
    event->capture->invalid = true;
    return remember(cudaErrorCapturedEvent);
  }
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (cudaError_t error = cudaEventQuery(event)) return error;
  return remember(check_guards_at_sync());
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  STITCH_API();
  std::lock_guard lock(mutex);
  if (!events.contains(start) || !events.contains(end) || !start->recorded || !end->recorded ||
      ((start->flags | end->flags) & cudaEventDisableTiming))
    return remember(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  STITCH_API();
  std::lock_guard lock(mutex);
  CUstream_st* stream = stream_of(handle);
  if (!stream || !events.contains(event)) return remember(cudaErrorInvalidResourceHandle);
  auto captured = event->capture;
  if (captured && captured->ended) captured = nullptr;
  if (!captured) {
    if (!stream->capture) return cudaSuccess;
    if (!event->recorded) return cudaSuccess;
    stream->capture->invalid = true;
    return remember(cudaErrorStreamCaptureIsolation);
  }
  if (stream->capture && stream->capture != captured) {
    stream->capture->invalid = captured->invalid = true;
    return remember(cudaErrorStreamCaptureMerge);
  }
  if (!stream->capture) {  // the fork: this stream joins the capture
    if (!handle) return remember(cudaErrorStreamCaptureImplicit);
    stream->capture = captured;
    captured->streams.push_back(handle);
  }
  add_dependencies(stream->last, event->last);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  STITCH_API();
  std::lock_guard lock(mutex);
  CUstream_st* stream = stream_of(handle);
  if (!stream) return remember(cudaErrorInvalidResourceHandle);
  if (!handle) return remember(cudaErrorStreamCaptureUnsupported);  // the legacy stream can't be captured
  if (stream->capture) return remember(cudaErrorIllegalState);
  auto capture = std::make_shared<Capture>();
  capture->origin = handle;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->streams = {handle};
  capture->id = ++capture_count;
  stream->capture = capture;
  stream->last.clear();
  captures.push_back(capture);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  STITCH_API();
  std::lock_guard lock(mutex);
  *graph = nullptr;
  CUstream_st* stream = stream_of(handle);
  if (!stream) return remember(cudaErrorInvalidResourceHandle);
  auto capture = stream->capture;
  if (!capture) return remember(cudaErrorIllegalState);
  if (capture->origin != handle) {
    capture->invalid = true;
    return remember(cudaErrorStreamCaptureUnmatched);
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
    return remember(cudaErrorStreamCaptureWrongThread);
  const bool joined = reaches(stream->last, *capture);
  leave_capture(*capture);
  if (capture->invalid) return remember(cudaErrorStreamCaptureInvalidated);
  if (!joined) return remember(cudaErrorStreamCaptureUnjoined);
  *graph = capture->graph.release();
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(stream, status, nullptr, nullptr, nullptr, nullptr);
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies, size_t* count) {
  STITCH_API();
  std::lock_guard lock(mutex);
  CUstream_st* stream = stream_of(handle);
  if (!stream) return remember(cudaErrorInvalidResourceHandle);
  *status = !stream->capture           ? cudaStreamCaptureStatusNone
            : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
  if (!stream->capture) return cudaSuccess;
  if (id) *id = stream->capture->id;
  if (graph) *graph = stream->capture->graph.get();
  if (dependencies) *dependencies = stream->last.data();
  if (count) *count = stream->last.size();
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode now = cudaStreamCaptureModeGlobal;
  std::swap(now, *mode);
  return cudaSuccess;
}
