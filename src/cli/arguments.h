// What the arguments of many commands mean: a device, baselines, a model, a plan, the place of a result, how
// a program is judged; and warnings about the model.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/output_folder.h"
#include "base/result.h"
#include "cli/console.h"
#include "gpu/gpu_detect.h"
#include "graph/mode.h"
#include "import/task.h"
#include "plan/document/document.h"
#include "plan/precision/rounding.h"
#include "reference/torch_lender.h"
#include "verify/session.h"

namespace stitch {

class Progress;

// cuda, emulated, or auto: the GPU if there is one.
Result<runner::Device> choose_device(const std::string& name);

// eager, eager-graph, compile, compile-graph by name: all, none, or a list.
Result<std::vector<std::string>> baselines_named(const std::string& names);

// Opened while the console says so.
Result<std::shared_ptr<const Task>> load_model(const fs::path& path, const TaskOptions& options,
                                               Console& console);

// --plan FILE: the document as it stands, not checked against a graph yet.
Result<Json> load_plan_file(const std::string& path);

// read_given_plan with errors that name the file.
Result<plan::GivenPlan> read_plan_file(const std::string& path, const Task& task, const GpuSpec& gpu,
                                       Numerics numerics);

// Where a command's result goes: what may be overwritten, and what is said of files that were in the way.
inline Overwrite overwrite_if(bool force) { return force ? Overwrite::force : Overwrite::refuse; }

// The folder as the user wrote it, or the one beside it.
std::string place_of(const Published& published, const std::string& asked);
// Lines for people; nothing if all went where it should.
std::string said_of(const Published& published, const std::string& asked);
void add_place(Json& json, const char* key, const Published& published, const std::string& asked);

// For a program that is judged at many sizes: PyTorch imported once for all the processes that do so. Nothing
// where it can't be lent.
std::optional<verifier::TorchLender> lend_for_ranges(const fs::path& task, const std::string& python,
                                                     Progress& progress);
bool declares_sizes(const fs::path& task);  // does the file have get_dynamic_shapes()?

// "is a folder: …" for what exists but is no .py task.
Result<void> check_task_file(const std::string& path);

// How a program is judged, as the flags of many commands say it.
struct JudgingFlags {
  std::string numerics = "default";
  std::string device = "auto";
  std::string baselines = "auto";
  std::string compatible;  // kernelbench
  bool quick = false, no_timing = false;
};
// On that device; `beside`: the baselines where none are named and times are measured.
Result<void> read_judging(const JudgingFlags& flags, runner::Device device, const std::string& beside,
                          verifier::VerifyOptions& out);

// --compat: another evaluator that must accept the program. Empty: none.
Result<void> check_compatible(const std::string& with);
// What a plan then assumes about PyTorch, without running it.
Result<plan::ReferenceFacts> facts_for(const std::string& compatible, Numerics numerics);

// Each is said once: on stderr, or in the JSON document.
class Warnings {
 public:
  explicit Warnings(Console& console) : console_(console) {}
  void say(const std::string& text) { take(text, nullptr); }
  // About a model, if there is something to say.
  void say_mode(const TaskFacts& facts);
  // For as long as a progress line is drawn: above it.
  std::function<void(std::string_view)> above(Progress& progress);
  void add_to(Json& document) const;  // "warnings", if there were any

 private:
  void take(const std::string& text, Progress* progress);

  Console& console_;
  std::vector<std::string> said_;
};

}  // namespace stitch
