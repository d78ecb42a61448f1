// Everything that a judge looks at, gathered once: the verdict, the graph's operators, the code, and for a
// change the code before and the feedback.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/gpu_spec.h"
#include "graph/graph.h"
#include "rubric/code_facts.h"
#include "rubric/execution.h"

namespace stitch::rubric {

// What feedback asks for: the techniques that it names, the places, and whether something has to be repaired.

struct Feedback {
  std::string text;                 // as it was given
  std::vector<std::string> asks;    // names in the table of feedback.cpp, in the order of the text
  std::vector<std::string> places;  // kernels of the code before that it names
  std::string bottleneck;           // its own word, where it is one of the profiler's
  bool repair = false;              // of a candidate that didn't build, crashed, or was wrong
};

// Plain text, or JSON with fields such as bottleneck, suggestion, "optimisation method", minimal_fix_hint:
// then what is asked for is looked for in the suggestion, not in the description.
Feedback read_feedback(std::string_view text, const CodeFacts& before);

struct Side {
  const CodeFacts& code;
  const Execution& run;
};
// Does the code after show what was asked for, where the code before didn't?
struct Done {
  bool done = false;
  std::string why;
};
Done is_done(std::string_view ask, const Side& before, const Side& after);

enum class Skill : uint8_t { from_scratch, from_feedback };
std::string_view name(Skill skill);  // "from scratch", "from feedback"

// An operator of the task's graph that computes or moves something; views are none.
struct Operator {
  std::string name, op;
  double seconds = 0;      // in PyTorch: measured, or by the cost model
  bool heavy = false;      // a product, convolution, attention, recurrence
  bool covered = false;    // by the program's own kernels and libraries' calls
  std::string covered_by;  // or by what else, in words
};

struct Change {
  CodeFacts before;
  Execution before_run;
  Feedback feedback;
  bool identical = false;                         // but for comments and blanks
  int added = 0, removed = 0;                     // lines of code
  std::vector<std::string> changed, fresh, gone;  // kernels, by name
  std::string hottest;                            // kernel before: what took longest, or has most to do
};

struct Evidence {
  Skill skill = Skill::from_scratch;
  std::string task;  // its name
  Execution run;
  CodeFacts code;
  std::vector<Operator> operators;
  bool measured_times = false;      // of operators
  double operator_share = 0;        // of operators that are covered
  double time_share = 0;            // of PyTorch's device time that is covered
  double pytorch_kernel_share = 0;  // of the candidate's own device time, by names of PyTorch's kernels
  std::shared_ptr<const Change> change;

  double coverage() const { return 0.3 * operator_share + 0.7 * time_share; }
};

// By the name of the graph's op.
Operator operator_named(std::string name, std::string op, double seconds);
// The operators of a graph with PyTorch's time for each: measured ones by name, else by the cost model.
std::vector<Operator> operators_of(const Graph& graph, const GpuSpec& gpu,
                                   const std::map<std::string, double>& measured = {});

struct Before {
  std::vector<Source> sources;
  Execution run;
  std::string feedback;
};
Evidence gather(const std::vector<Source>& sources, Execution run, std::vector<Operator> operators,
                const Before* before = nullptr);

// Coverage as the text and the profile show it: fills in Operator::covered and the shares.
void find_coverage(Evidence& evidence);

Json to_json(const Evidence& evidence);

}  // namespace stitch::rubric
