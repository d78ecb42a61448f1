// What a candidate's text says of it, whatever its comments claim: kernels and whether they run, calls of
// libraries and of PyTorch, techniques, hazards, signs of cheating.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "rubric/features.h"

namespace stitch::rubric {

struct Source {
  std::string path;  // as the program has it: regions/fc1.cu
  Language language = Language::cuda;
  std::string text;
  bool own = true;  // else a header that comes with every program
};

struct Place {
  std::string file;
  uint32_t line = 0;
};
std::string text(const Place& place);  // file:line

struct KernelFacts {
  std::string name;
  Place place;
  Work work = Work::move;
  Features features;
  int arithmetic = 0, functions = 0;
  bool own = true;
  bool launched = false;       // from code that a call reaches
  bool used = true;            // what it writes goes somewhere
  std::string idle;            // why it is not launched, or not used
  bool strided = false;        // neighbouring threads read far apart
  bool single_thread = false;  // <<<1, 1>>> or a block of less than a warp
  bool single_block = false;   // <<<1, …>>>: one multiprocessor
  int64_t loops_to = 0;        // the largest number that its code is written with: elements, as a rule
  bool doubles = false;
  size_t hash = 0;  // of its tokens: another one is another kernel

  bool at_work() const { return launched && used; }
};

struct LibraryCall {
  std::string name, library;
  Work work = Work::product;
  std::vector<std::string> operators;  // of the graph, that it can be
  bool fused = false;                  // with an epilogue
  Place place;
};

// A call of PyTorch's own operators that a forward pass reaches.
struct TorchCall {
  std::string name;
  std::vector<std::string> operators;  // of the graph, that it may be: one of them, or all if `every`
  bool every = false;
  bool heavy = false;    // a product, convolution, attention, recurrence
  bool in_loop = false;  // as often as there are such operators
  Place place;
};

enum class Severity : uint8_t { minor, suspicious, major };
std::string_view name(Severity severity);

// Something that honest programs rarely have.
struct Sign {
  std::string name;  // reads_the_stack
  Severity severity = Severity::minor;
  std::string what;  // for people
  Place place;
};

struct Hazard {
  std::string name;  // allocates_in_run
  std::string what;
  Place place;
};

struct CodeFacts {
  bool python = false;
  std::string interface;  // "ModelNew", "stitch_run"; empty: none of both
  std::vector<KernelFacts> kernels;
  std::vector<LibraryCall> libraries;
  std::vector<TorchCall> torch;
  std::vector<Sign> signs;
  std::vector<Hazard> hazards;
  Features features;  // of all that is at work
  int launches = 0;   // places in the code that start a kernel or a library's
  std::string code;   // of its own files, without comments
  size_t code_hash = 0;
  std::vector<std::string> words;  // identifiers of its own files, each once, sorted

  int kernels_at_work() const;
};

CodeFacts facts_of(const std::vector<Source>& sources);

// A program's files as the rubric reads them.

inline constexpr size_t most_source_bytes = size_t{64} << 20;  // of a whole program

// A program folder, a .cu file, or a .py file with ModelNew. Headers that they include come along: the
// program's own, and those under stitch/ that every program has.
Result<std::vector<Source>> read_sources(const fs::path& program);

}  // namespace stitch::rubric
