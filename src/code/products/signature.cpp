#include "code/products/signature.h"

#include <algorithm>

#include "base/text.h"
#include "code/products/epilogue.h"
#include "program/fold.h"

namespace stitch::code {

void Signature::read(const Place& place) {
  add(reads, format("const {}*", element_type(place.dtype)), place.pointer, layout_comment(place));
}
void Signature::write(const Place& place) {
  add(writes, format("{}*", element_type(place.dtype)), place.pointer, layout_comment(place));
}
void Signature::packed(const Packed& packed, std::string comment) {
  add(packs, format("const {}*", packed.type), packed.name, std::move(comment));
}
void Signature::member(const Member& member) { add(members, format("const {}&", member.type), member.name); }
void Signature::workspace() { add(scratch, "void*", std::string(workspace_argument)); }

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
  const std::string start = format("StitchStatus {}(", function_);
  auto written = [&](const std::string& first, size_t indent) {
    Lines lines;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& each = parameters_[i];
      lines.add(format("{}{} {},", i == 0 ? first : std::string(indent, ' '), each.type, each.name),
                each.comment);
    }
    lines.add((parameters_.empty() ? first : std::string(indent, ' ')) + "cudaStream_t stream)");
    return lines;
  };
  Lines lines = written(start, start.size());
  // After a long name the parameters begin on the next line.
  if (lines.widest() + 2 > generated_columns) lines = written(start + "\n    ", 4);
  std::string out = lines.text();
  out.pop_back();
  return out;
}

namespace {

const std::vector<int64_t> proposals = {0, 1, 2, 3, 4, 5, 6, 7};

}  // namespace

plan::Knob proposal_knob() {
  return {"algorithm", "index into the library's heuristic proposals, best first", proposals, false};
}

std::string proposal_spec(RegionCode& code, const plan::Region& region, const std::string& member,
                          int shipped) {
  return format("  spec.algorithm = {};\n",
                add_setting(code, region, member, "algorithm", "stitch::Proposal", proposals, shipped));
}

bool is_from_caller(const Graph& graph, ValueId value) {
  return graph[value].role == Role::input ||
         std::ranges::any_of(graph.updates, [&](const Update& each) { return each.value == value; }) ||
         std::ranges::find(graph.outputs, value) != graph.outputs.end();
}

std::string DenseTensors::read(const Place* place) {
  if (!place) return "nullptr";
  signature_.read(*place);
  if (!is_from_caller(request_.graph, place->value)) return place->pointer;
  std::string name = copy(*place);
  before += format(
      "  const float* {0}_at = {1};\n  if (!stitch::is_aligned({1}, 16)) {{\n    {0}_at = {0};\n"
      "    STITCH_CUDA(cudaMemcpyAsync({0}, {1}, {2} * sizeof(float), cudaMemcpyDeviceToDevice, "
      "stream));\n  }}\n",
      name, place->pointer, element_count(place->shape));
  return name + "_at";
}

std::string DenseTensors::write(const Place* place, const char* unused, int64_t elements) {
  if (!place) {
    if (!unused) return "nullptr";
    reserve(unused, elements);
    return unused;
  }
  signature_.write(*place);
  if (!is_from_caller(request_.graph, place->value)) return place->pointer;
  std::string name = copy(*place);
  before += format("  float* {0}_at = stitch::is_aligned({1}, 16) ? {1} : {0};\n", name, place->pointer);
  after += format(
      "  if ({0}_at != {1})\n    STITCH_CUDA(cudaMemcpyAsync({1}, {0}, {2} * sizeof(float), "
      "cudaMemcpyDeviceToDevice, "
      "stream));\n",
      name, place->pointer, element_count(place->shape));
  return name + "_at";
}

std::string DenseTensors::copy(const Place& place) {
  std::string name = place.pointer + "_aligned";
  reserve(name, element_count(place.shape));
  return name;
}

void DenseTensors::reserve(const std::string& name, int64_t elements) {
  signature_.workspace();
  before +=
      format("  auto* {} = reinterpret_cast<float*>(static_cast<char*>(workspace) + {});\n", name, bytes);
  bytes += (elements * 4 + 255) / 256 * 256;
}

}  // namespace stitch::code
