#include "runner/child/profiler.h"

#if defined(STITCH_HAVE_CUPTI) && __has_include(<cupti_range_profiler.h>)
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cmath>
#include <memory>

#include "runner/child/cupti_library.h"

namespace stitch::runner {

namespace {

#define STITCH_RANGE_API(each)                                                                           \
  each(ProfilerInitialize) each(DeviceGetChipName) each(ProfilerGetCounterAvailability)                  \
      each(ProfilerHostInitialize) each(ProfilerHostDeinitialize) each(ProfilerHostConfigAddMetrics)     \
          each(ProfilerHostGetConfigImageSize) each(ProfilerHostGetConfigImage)                          \
              each(ProfilerHostEvaluateToGpuValues) each(RangeProfilerEnable) each(RangeProfilerDisable) \
                  each(RangeProfilerGetCounterDataSize) each(RangeProfilerCounterDataImageInitialize)    \
                      each(RangeProfilerSetConfig) each(RangeProfilerStart) each(RangeProfilerStop)      \
                          each(RangeProfilerDecodeData) each(RangeProfilerGetCounterDataInfo)            \
                              each(GetResultString)

struct RangeApi {
#define STITCH_DECLARE(function) decltype(&cupti##function) function = nullptr;
  STITCH_RANGE_API(STITCH_DECLARE)
#undef STITCH_DECLARE
  std::string trouble = cupti_library().trouble;

  RangeApi() {
    if (!trouble.empty()) return;
#define STITCH_FIND(function) find_in_cupti(function, "cupti" #function, trouble);
    STITCH_RANGE_API(STITCH_FIND)
#undef STITCH_FIND
  }
};
#undef STITCH_RANGE_API

RangeApi& api() {
  static RangeApi one;
  return one;
}

Result<void> said(CUptiResult code, std::string_view doing) {
  if (code == CUPTI_SUCCESS) return {};
  if (code == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
    return work_error("no_counters", "this user may not read the GPU's performance counters (CUPTI)",
                      "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0");
  const char* text = nullptr;
  api().GetResultString(code, &text);
  return work_error("no_counters",
                    format("CUPTI, {}: {}", doing, text ? text : format("error {}", static_cast<int>(code))));
}

#define STITCH_CUPTI_DO(function, parameters, doing) STITCH_CHECK(said(api().function(&(parameters)), doing))

class Ranges {
 public:
  Ranges() = default;
  Ranges(const Ranges&) = delete;
  Ranges& operator=(const Ranges&) = delete;
  ~Ranges() {
    if (profiler_) {
      CUpti_RangeProfiler_Disable_Params disable{CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE};
      disable.pRangeProfilerObject = profiler_;
      (void)api().RangeProfilerDisable(&disable);
    }
    if (host_) {
      CUpti_Profiler_Host_Deinitialize_Params end{CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE};
      end.pHostObject = host_;
      (void)api().ProfilerHostDeinitialize(&end);
    }
  }

  Result<void> start(CUcontext context, std::span<const std::string> counters, int most_launches) {
    STITCH_CHECK(know_gpu(context));
    STITCH_CHECK(choose(counters));
    CUpti_RangeProfiler_Enable_Params enable{CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE};
    enable.ctx = context;
    STITCH_CUPTI_DO(RangeProfilerEnable, enable, "enabling the range profiler");
    profiler_ = enable.pRangeProfilerObject;
    STITCH_CHECK(make_room(static_cast<size_t>(most_launches)));
    CUpti_RangeProfiler_SetConfig_Params config{CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE};
    config.pRangeProfilerObject = profiler_;
    config.configSize = config_.size();
    config.pConfig = config_.data();
    config.counterDataImageSize = data_.size();
    config.pCounterDataImage = data_.data();
    config.range = CUPTI_AutoRange;
    config.replayMode = CUPTI_KernelReplay;
    config.maxRangesPerPass = static_cast<size_t>(most_launches);
    config.numNestingLevels = config.minNestingLevel = 1;
    config.targetNestingLevel = 0;  // only for user replay
    STITCH_CUPTI_DO(RangeProfilerSetConfig, config, "setting what to count");
    CUpti_RangeProfiler_Start_Params start{CUpti_RangeProfiler_Start_Params_STRUCT_SIZE};
    start.pRangeProfilerObject = profiler_;
    STITCH_CUPTI_DO(RangeProfilerStart, start, "starting");
    return {};
  }

  Result<std::vector<Counts>> end() {
    CUpti_RangeProfiler_Stop_Params stop{CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE};
    stop.pRangeProfilerObject = profiler_;
    STITCH_CUPTI_DO(RangeProfilerStop, stop, "stopping");
    CUpti_RangeProfiler_DecodeData_Params decode{CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE};
    decode.pRangeProfilerObject = profiler_;
    STITCH_CUPTI_DO(RangeProfilerDecodeData, decode, "reading the counters");
    CUpti_RangeProfiler_GetCounterDataInfo_Params info{
        CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE};
    info.pCounterDataImage = data_.data();
    info.counterDataImageSize = data_.size();
    STITCH_CUPTI_DO(RangeProfilerGetCounterDataInfo, info, "counting the launches");
    if (decode.numOfRangeDropped > 0)
      return work_error("no_counters", format("the call launches more than {} kernels", info.numTotalRanges));
    std::vector<Counts> out;
    std::vector<double> values(names_.size());
    for (size_t range = 0; range < info.numTotalRanges; ++range) {
      CUpti_Profiler_Host_EvaluateToGpuValues_Params evaluate{
          CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE};
      evaluate.pHostObject = host_;
      evaluate.pCounterDataImage = data_.data();
      evaluate.counterDataImageSize = data_.size();
      evaluate.rangeIndex = range;
      evaluate.ppMetricNames = names_.data();
      evaluate.numMetrics = names_.size();
      evaluate.pMetricValues = values.data();
      STITCH_CUPTI_DO(ProfilerHostEvaluateToGpuValues, evaluate, "evaluating the counters");
      Counts& launch = out.emplace_back();
      for (size_t i = 0; i < values.size(); ++i)
        if (std::isfinite(values[i])) launch[chosen_[i]] = values[i];
    }
    return out;
  }

 private:
  // Determines the chip and which counters this user may read.
  Result<void> know_gpu(CUcontext context) {
    CUpti_Profiler_Initialize_Params initialize{CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
    STITCH_CUPTI_DO(ProfilerInitialize, initialize, "initialising");
    CUpti_Device_GetChipName_Params chip{CUpti_Device_GetChipName_Params_STRUCT_SIZE};
    STITCH_CUPTI_DO(DeviceGetChipName, chip, "asking which chip this is");
    CUpti_Profiler_GetCounterAvailability_Params available{
        CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE};
    available.ctx = context;
    STITCH_CUPTI_DO(ProfilerGetCounterAvailability, available, "asking which counters there are");
    available_.resize(available.counterAvailabilityImageSize);
    available.pCounterAvailabilityImage = available_.data();
    STITCH_CUPTI_DO(ProfilerGetCounterAvailability, available, "asking which counters there are");
    CUpti_Profiler_Host_Initialize_Params host{CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE};
    host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    host.pChipName = chip.pChipName;
    host.pCounterAvailabilityImage = available_.data();
    STITCH_CUPTI_DO(ProfilerHostInitialize, host, "preparing the counters of this chip");
    host_ = host.pHostObject;
    return {};
  }

  // One at a time, so that an unknown name doesn't lose the others.
  Result<void> choose(std::span<const std::string> counters) {
    for (const std::string& counter : counters) {
      const char* name = counter.c_str();
      CUpti_Profiler_Host_ConfigAddMetrics_Params add{
          CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE};
      add.pHostObject = host_;
      add.ppMetricNames = &name;
      add.numMetrics = 1;
      if (api().ProfilerHostConfigAddMetrics(&add) == CUPTI_SUCCESS) chosen_.push_back(counter);
    }
    if (chosen_.empty()) return work_error("no_counters", "CUPTI knows none of the counters for this GPU");
    for (const std::string& counter : chosen_) names_.push_back(counter.c_str());
    CUpti_Profiler_Host_GetConfigImageSize_Params size{
        CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE};
    size.pHostObject = host_;
    STITCH_CUPTI_DO(ProfilerHostGetConfigImageSize, size, "planning the passes");
    config_.resize(size.configImageSize);
    CUpti_Profiler_Host_GetConfigImage_Params image{CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE};
    image.pHostObject = host_;
    image.configImageSize = config_.size();
    image.pConfigImage = config_.data();
    STITCH_CUPTI_DO(ProfilerHostGetConfigImage, image, "planning the passes");
    return {};
  }

  Result<void> make_room(size_t launches) {
    CUpti_RangeProfiler_GetCounterDataSize_Params size{
        CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE};
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = names_.data();
    size.numMetrics = names_.size();
    size.maxNumOfRanges = launches;
    size.maxNumRangeTreeNodes = static_cast<uint32_t>(launches);
    STITCH_CUPTI_DO(RangeProfilerGetCounterDataSize, size, "making room for the counters");
    data_.resize(size.counterDataSize);
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params image{
        CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE};
    image.pRangeProfilerObject = profiler_;
    image.counterDataSize = data_.size();
    image.pCounterData = data_.data();
    STITCH_CUPTI_DO(RangeProfilerCounterDataImageInitialize, image, "making room for the counters");
    return {};
  }

  CUpti_Profiler_Host_Object* host_ = nullptr;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  std::vector<uint8_t> available_, config_, data_;
  std::vector<std::string> chosen_;
  std::vector<const char*> names_;  // of chosen_
};

#undef STITCH_CUPTI_DO

std::unique_ptr<Ranges> ranges;

}  // namespace

Result<void> start_cuda_counters(void* context, std::span<const std::string> counters, int most_launches) {
  if (!api().trouble.empty()) return work_error("no_counters", api().trouble);
  ranges = std::make_unique<Ranges>();
  auto started = ranges->start(static_cast<CUcontext>(context), counters, most_launches);
  if (!started) ranges.reset();
  return started;
}

Result<std::vector<Counts>> end_cuda_counters() {
  if (!ranges) return work_error("no_counters", "nothing is being counted");
  auto out = ranges->end();
  ranges.reset();
  return out;
}

}  // namespace stitch::runner
#else
namespace stitch::runner {

Result<void> start_cuda_counters(void*, std::span<const std::string>, int) {
  return work_error("no_counters", "StitchCUDA was built without the headers of CUPTI's range profiler");
}
Result<std::vector<Counts>> end_cuda_counters() { return std::vector<Counts>{}; }

}  // namespace stitch::runner
#endif
