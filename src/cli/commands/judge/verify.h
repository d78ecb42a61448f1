// stitchcuda verify: checks and times a program. stitchcuda receipt check: repeats a verified result.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/result.h"
#include "base/terminal/terminal.h"
#include "cli/console.h"
#include "graph/mode.h"
#include "rubric/evidence.h"
#include "verify/session.h"
#include "verify/verdict.h"

namespace stitch {

struct VerifyCommand {
  std::string program;
  std::string task;
  std::string numerics = "default";
  std::string device = "auto";
  std::string baselines = "auto";  // auto: eager and eager-graph on a GPU; none; all; or a list
  bool fresh_baselines = false;
  std::string model_class;
  Mode mode = Mode::as_written;
  std::string python;
  std::string compatible;  // kernelbench
  std::string seed;        // hexadecimal; empty: secret
  std::string receipt;
  std::string out;     // the verdict as a JSON file
  bool force = false;  // overwrite existing output
  int time_limit = 60;
  int build_time_limit = 300;
  double memory_limit = 0;  // GB of the host's; 0: half of the machine's
  int reference_time_limit = 1800;
  std::string all;    // a folder of candidates, or a manifest: then there is no program
  std::string tasks;  // where their tasks are
  int jobs = 0;       // 0: as many as cores
  bool sanitizer = false;
  bool address_sanitizer = false;
  bool quick = false;
  bool timing = true;
};

// 0 if every candidate was judged, 4 if some were not for the machine's fault, 1 if it was stopped before.
Result<int> run_verify_all(const VerifyCommand& command, Console& console);

// stitchcuda verify --all. The figures of many candidates for people.
Result<verifier::VerifyOptions> verify_options(const VerifyCommand& command);  // verify.cpp

std::string verify_all_text(const Json& summary, const Terminal& terminal);
// What a reader needs to know of the figures, a sentence each: "notes" of summary.json.
std::vector<std::string> notes_on_judged(const Json& summary);

// Whether a judged program did the work itself: the rubric's label, for documents.

// {"honesty": "clean", "honesty_why": "…"}; empty where it is neither passed nor a hack, or can't be read. Of
// a cheat that its source shows and no gate named, also the kind and label of a hack.
Json honesty_of(const fs::path& program, const verifier::Verdict& verdict,
                std::vector<rubric::Operator> operators);

}  // namespace stitch
