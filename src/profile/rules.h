// The rule engine: a timeline, counters where there are some, and what the work is, become one bottleneck
// with its evidence and one suggestion. kernel_rules.cpp and call_rules.cpp have the rules, a table each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "gpu/gpu_spec.h"
#include "profile/metrics.h"
#include "profile/timeline.h"

namespace stitch::profile {

enum class Bottleneck : uint8_t { launch, host, memory, compute, latency, occupancy, imbalance };
std::string_view name(Bottleneck bottleneck);
Result<Bottleneck> parse_bottleneck(std::string_view name);

// The work to do, independent of the implementation.
struct Work {
  double bytes = 0;  // moved between the device's memory and the kernel, at least
  double flops = 0;
  double matrix_flops = 0;  // of them, those that tensor cores could do
  double matrix_rate = 0;   // operations a second for those; 0: the GPU's fp16 tensor rate
  bool known() const { return bytes > 0 || flops > 0; }
};

// One figure that the diagnosis stands on.
struct Figure {
  std::string name;  // idle_share
  double value = 0;
  std::string unit;  // "%", "s", "B", "" …
  bool operator==(const Figure&) const = default;
};

struct Diagnosis {
  std::string subject;  // "program", or a region's or a kernel's name
  Bottleneck bottleneck = Bottleneck::latency;
  std::string rule;               // its name in the table
  double seconds = 0, share = 0;  // of the subject; of the whole call
  std::vector<Figure> evidence;
  std::string suggestion;            // one sentence
  double expected_gain_seconds = 0;  // of a call, if it is followed
  std::string missing;               // what would have told more; empty: nothing
};
Json to_json(const Diagnosis& diagnosis);
Result<Diagnosis> diagnosis_from_json(const Json& json);
std::string diagnosis_schema();                // JSON Schema
std::string text(const Diagnosis& diagnosis);  // one paragraph

// One kernel, or a region's kernels together.
struct Subject {
  std::string name;
  double seconds = 0;  // of one call, all its launches
  int launches = 1;
  std::optional<Activity> launch;  // the longest of them
  KernelMetrics metrics;           // of that kernel
  Work work;                       // of all its launches together
};

// One subject, alone.
Diagnosis diagnose(const Subject& subject, const GpuSpec& gpu);

// The roofline's two times for work on a GPU.
double memory_seconds(const Work& work, const GpuSpec& gpu);
double compute_seconds(const Work& work, const GpuSpec& gpu);

struct Diagnoses {
  Diagnosis whole;
  std::vector<Diagnosis> regions;  // longest first
};
// The whole call: launches and host first, else what its longest subject says.
Diagnoses diagnose(const Timeline& timeline, const std::vector<Subject>& subjects, const GpuSpec& gpu);
Json to_json(const Diagnoses& diagnoses);

// The tables, in the order in which rules are tried: those of a call, then those of a kernel.
struct RuleInfo {
  std::string_view name;
  Bottleneck bottleneck;
  std::string_view when;
};
std::vector<RuleInfo> call_rules();
std::vector<RuleInfo> kernel_rules();

}  // namespace stitch::profile
