// StitchProgram::enqueue, one forward pass, and run, which replays it.
#include "code/model_lines.h"
#include "code/names.h"
#include "code/scaffold/scaffold.h"

namespace stitch::code {

namespace {

const char* const start =
    R"(  StitchStatus run(const StitchTensor* in, const StitchTensor* out, cudaStream_t caller) {
    return enqueue(in, out, caller);
  }
)";

const char* const replay =
    R"(  StitchStatus run(const StitchTensor* in, const StitchTensor* out, cudaStream_t caller) {
    return graphs.run(in, static_cast<int>(inputs.size()), out, static_cast<int>(outputs.size()), caller,
                      [&](cudaStream_t stream) { return enqueue(in, out, stream); });
  }
)";

// A value's location during a pass.
std::string at_home(const ProgramParts& parts, const std::string& name) {
  for (const auto& [id, resident] : parts.residents) {
    if (resident.name != name) continue;
    std::string_view type = element_type(resident.place.dtype);
    if (resident.home == Home::input) return format("stitch::data<const {}>(in[{}])", type, resident.index);
    if (resident.home == Home::output) return format("stitch::data<{}>(out[{}])", type, resident.index);
  }
  return name;
}

std::string enqueue_regions(const ProgramParts& parts) {
  std::string out, last_line;
  const std::vector<plan::Section> sections = plan::sections_of(parts.plan);
  auto next = sections.begin();
  for (size_t r = 0; r < parts.regions.size(); ++r) {
    const plan::Region& region = parts.plan.regions[r];
    if (next != sections.end() && r == next->first)
      out += format("    STITCH_OK_OR_RETURN(branches.fork(stream, {}));\n", next->branches);
    if (!parts.constant[r]) {
      if (std::string line = model_line(parts.graph, region); line != last_line) {
        if (!line.empty()) out += "    // " + line + "\n";
        last_line = std::move(line);
      }
      auto locate = [&](const std::string& name) { return at_home(parts, name); };
      const std::string stream = region.branch == 0 ? "stream" : format("branches[{}]", region.branch);
      for (const std::string& call : preparing_calls(parts, r, locate, stream, false))
        out += format("    STITCH_OK_OR_RETURN({});\n", call);
      out += format("    STITCH_OK_OR_RETURN({});\n", region_call(parts, r, locate, stream));
    }
    if (next == sections.end() || r + 1 != next->end) continue;
    out += format("    STITCH_OK_OR_RETURN(branches.join(stream, {}));\n", next->branches);
    ++next;
  }
  return out;
}

}  // namespace

std::string region_call(const ProgramParts& parts, size_t region, const Locate& locate,
                        const std::string& stream) {
  std::string out = "enqueue_" + parts.source_name(region) + "(";
  for (const std::string& argument : parts.regions[region].arguments)
    out += locate(argument == workspace_argument ? workspace_name(parts, region) : argument) + ", ";
  return out + stream + ")";
}

std::vector<std::string> preparing_calls(const ProgramParts& parts, size_t region, const Locate& locate,
                                         const std::string& stream, bool all) {
  std::vector<std::string> out;
  for (const Prepared& prepared : parts.regions[region].prepared) {
    if (prepared.made_earlier && !all) continue;
    std::string call = prepared.make.function + "(";
    for (const std::string& argument : prepared.make.arguments) call += locate(argument) + ", ";
    out.push_back(call + stream + ")");
  }
  return out;
}

std::string enqueue_section(const ProgramParts& parts) {
  std::string out =
      "  // One forward pass.\n  StitchStatus enqueue(const StitchTensor* in, const StitchTensor* out, "
      "cudaStream_t stream) {\n    (void)in, (void)out, (void)stream;\n";
  if (parts.offers_programmatic_launches())
    out += format("    const stitch::ProgrammaticLaunches launches({} != 0);\n", programmatic_launches);
  out += enqueue_regions(parts);
  for (auto [id, index] : parts.copies) {
    const Resident& resident = parts.residents.at(id);
    out +=
        format("    STITCH_CUDA(cudaMemcpyAsync(out[{}].data, {}, {}, cudaMemcpyDeviceToDevice, stream));\n",
               index, at_home(parts, resident.name), resident.bytes);
  }
  out += "    return STITCH_OK;\n  }\n\n";
  return out + (parts.takes_sizes() ? "" : parts.starts_kernels_itself() ? start : replay);
}

}  // namespace stitch::code
