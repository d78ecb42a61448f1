// What feedback asks for: the techniques that it names, the places, and whether something has to be repaired.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rubric/code_facts.h"
#include "rubric/execution.h"

namespace stitch::rubric {

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

}  // namespace stitch::rubric
