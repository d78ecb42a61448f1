#include "code/products/signature.h"

#include <algorithm>

#include "base/text.h"
#include "code/products/epilogue.h"

namespace stitch::code {

void Lines::add(std::string code, std::string comment) {
  lines_.push_back({std::move(code), std::move(comment)});
}

std::string Lines::text() const {
  size_t widest = 0;
  for (const Line& line : lines_)
    if (!line.comment.empty()) widest = std::max(widest, line.code.size());
  std::string out;
  for (const Line& line : lines_) {
    out += line.code;
    if (!line.comment.empty()) out += std::string(widest - line.code.size() + 2, ' ') + "// " + line.comment;
    out += '\n';
  }
  return out;
}

void Signature::read(const Place& place) {
  add(reads, format("const {}*", element_type(place.dtype)), place.pointer, shape_comment(place.shape));
}
void Signature::write(const Place& place) {
  add(writes, format("{}*", element_type(place.dtype)), place.pointer, shape_comment(place.shape));
}
void Signature::packed(const Packed& packed, std::string comment) {
  add(packs, format("const {}*", packed.type), packed.name, std::move(comment));
}
void Signature::member(const Member& member) { add(members, format("const {}&", member.type), member.name); }
void Signature::workspace() { add(scratch, "void*", "workspace"); }

void Signature::add(Kind kind, std::string type, std::string name, std::string comment) {
  if (std::ranges::find(parameters_, name, &Parameter::name) != parameters_.end()) return;
  auto at = std::ranges::upper_bound(parameters_, kind, {}, &Parameter::kind);
  parameters_.insert(at, {kind, std::move(type), std::move(name), std::move(comment)});
}

std::vector<std::string> Signature::arguments() const {
  std::vector<std::string> names;
  for (const Parameter& each : parameters_) names.push_back(each.name);
  return names;
}

std::string Signature::head() const {
  std::string start = format("StitchStatus {}(", function_);
  Lines lines;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& each = parameters_[i];
    std::string indent = i == 0 ? start : std::string(start.size(), ' ');
    lines.add(format("{}{} {},", indent, each.type, each.name), each.comment);
  }
  lines.add(format("{}cudaStream_t stream)", parameters_.empty() ? start : std::string(start.size(), ' ')));
  std::string out = lines.text();
  out.pop_back();
  return out;
}

namespace {

const std::vector<int64_t> proposals = {0, 1, 2, 3, 4, 5, 6, 7};

}  // namespace

plan::Knob proposal_knob() {
  return {"algorithm", "which of the library's proposals, best first by its own heuristics", proposals,
          false};
}

std::string proposal_spec(RegionCode& code, const plan::Region& region, const std::string& member,
                          int shipped) {
  return format("  spec.algorithm = {};\n",
                add_setting(code, region, member, "algorithm", "stitch::Proposal", proposals, shipped));
}

}  // namespace stitch::code
