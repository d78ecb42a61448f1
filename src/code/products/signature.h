// The text around a region's kernels: parameters with their shapes, and comments.
#pragma once

#include <string>
#include <vector>

#include "code/lines.h"
#include "code/names.h"
#include "code/region_code.h"
#include "plan/technique.h"

namespace stitch::code {

// The parameters of enqueue_NAME: reads, packed weights, members, writes, workspace, stream.
class Signature {
 public:
  explicit Signature(std::string function) : function_(std::move(function)) {}
  // Adds each place once.
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

// For techniques that call a library.
plan::Knob proposal_knob();
// Which of the library's proposals a member uses, as a setting: the line of its spec.
std::string proposal_spec(RegionCode& code, const plan::Region& region, const std::string& member,
                          int shipped = 0);

}  // namespace stitch::code
