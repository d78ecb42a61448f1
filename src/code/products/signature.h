// The text around a region's kernels: its parameters with their shapes, and the comments that say them.
#pragma once

#include <string>
#include <vector>

#include "code/names.h"
#include "code/region_code.h"
#include "plan/technique.h"

namespace stitch::code {

// Lines with trailing comments, aligned as clang-format has them.
class Lines {
 public:
  void add(std::string code, std::string comment = {});
  std::string text() const;

 private:
  struct Line {
    std::string code, comment;
  };
  std::vector<Line> lines_;
};

// What enqueue_NAME takes: what it reads, packed weights, members, what it writes, the workspace, the stream.
class Signature {
 public:
  explicit Signature(std::string function) : function_(std::move(function)) {}
  // A place that is there already isn't added again.
  void read(const Place& place);
  void write(const Place& place);
  void packed(const Packed& packed, std::string comment);
  void member(const Member& member);
  void workspace();
  enum Kind : uint8_t { reads, packs, members, writes, scratch };
  void add(Kind kind, std::string type, std::string name, std::string comment = {});

  std::string declaration() const { return head() + ";\n"; }
  std::string head() const;
  std::vector<std::string> arguments() const;

 private:
  struct Parameter {
    Kind kind;
    std::string type, name, comment;
  };
  std::string function_;
  std::vector<Parameter> parameters_;
};

// The knob of techniques that call a library.
plan::Knob proposal_knob();
// Which of the library's proposals a member takes, as a setting: the line of its spec.
std::string proposal_spec(RegionCode& code, const plan::Region& region, const std::string& member,
                          int shipped = 0);

}  // namespace stitch::code
