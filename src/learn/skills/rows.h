// The two atomic skills as rows of one JSONL file, which TRL, verl, OpenRLHF, slime and SkyRL read as it is:
//   from scratch:  a task -> an implementation
//   from feedback: an implementation and what the Verifier said of it -> a better one
// Every row has every field, of the same type: readers that infer a schema get one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "gpu/gpu_spec.h"
#include "learn/synthesis/canonical.h"
#include "rubric/evidence.h"
#include "store/run_store.h"

namespace stitch::learn {

struct SkillRow {
  rubric::Skill skill = rubric::Skill::from_scratch;
  std::string task_id;             // opaque to the engines: the reward service knows it
  std::string task;                // the model's text; of a run its graph, or its name where it kept none
  std::string prompt;              // what the user says
  std::string completion;          // a known answer; may be empty
  std::string before;              // of the second skill: the program, as the reward service takes it
  std::string before_outcome;      // what the Verifier made of it: "passed", "wrong" …
  double reward = 0;               // of that answer; 0 where there is none
  double speedup = 0;              // over the implementation before; 0: not known
  std::string outcome;             // of that answer, in the ledger's words
  std::string feedback;            // the Verifier's, of the second skill
  std::string graph_hash, sketch;  // for leakage checks
  std::string provenance;          // "synth seed 1", "run 1116-kmtz step 3"
  std::string split;
  std::string gpu, numerics;
};
Json to_json(const SkillRow& row, int64_t index);
// What a row needs to be trained on, and what engines read: an error names the field.
Result<void> check_row(const Json& row);

// Of a folder that stitchcuda synth wrote.
Result<std::vector<SkillRow>> rows_of_tasks(const fs::path& folder, const GpuSpec& gpu);
// Of runs: each step that was kept, from the program before it and what was said of that; and repairs of
// tries that failed.
Result<std::vector<SkillRow>> rows_of_runs(const store::RunStore& store);

// Rows of a file; a line that is no row is named.
Result<std::vector<Json>> read_rows(const fs::path& file);

// Is a training set clean of a benchmark? By graph: the same one, or one that has too much in common.
struct KnownGraph {
  std::string name, hash;
  Sketch sketch;
};
struct Leak {
  std::string training, benchmark;
  double similarity = 0;  // 1: the same graph
};
// Benchmarks that are known by their sketches alone have no hash.
std::vector<Leak> leaks(const std::vector<KnownGraph>& training, const std::vector<KnownGraph>& benchmark,
                        double most_similar);

}  // namespace stitch::learn
