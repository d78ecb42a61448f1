// The text around a region's kernels: parameters with their shapes, and comments.
#pragma once

#include <string>
#include <vector>

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

// Tensors as cuDNN takes them: dense, f32, 16-byte aligned. Other memory of the caller is copied.

// Whether the value is in the caller's memory, at any address.
bool is_from_caller(const Graph& graph, ValueId value);

class DenseTensors {
 public:
  DenseTensors(const RegionRequest& request, Signature& signature)
      : request_(request), signature_(signature) {}

  // The argument for it; null: nullptr.
  std::string read(const Place* place);
  // Unused results go to the workspace, or are not written.
  std::string write(const Place* place, const char* unused, int64_t elements);

  std::string before, after;  // statements around the call
  int64_t bytes = 0;          // of the workspace

 private:
  std::string copy(const Place& place);
  void reserve(const std::string& name, int64_t elements);

  const RegionRequest& request_;
  Signature& signature_;
};

}  // namespace stitch::code
