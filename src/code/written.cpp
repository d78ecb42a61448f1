#include "code/written.h"

#include <algorithm>

#include "base/terminal/terminal.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/names.h"
#include "code/products/signature.h"
#include "code/sharing.h"
#include "emulator/tokens.h"

namespace stitch::code {

namespace {

Signature signature_of(const RegionRequest& request, const std::string& function, int64_t workspace_bytes) {
  Signature out(function);
  for (const auto* places : {&request.reads, &request.weights})
    for (const Place& place : *places) out.read(place);
  for (const Place& place : request.writes) out.write(place);
  if (workspace_bytes > 0) out.workspace();
  return out;
}

std::vector<size_t> positions_of(std::string_view text, std::string_view word) {
  std::vector<size_t> out;
  for (const emulated::Token& token : emulated::tokenize(text))
    if (token.kind == emulated::Token::word && text.substr(token.begin, token.end - token.begin) == word)
      out.push_back(token.begin);
  return out;
}

std::string renamed(std::string text, const std::string& from, const std::string& to) {
  if (from == to) return text;
  const std::vector<size_t> positions = positions_of(text, from);
  for (size_t i = positions.size(); i-- > 0;) text.replace(positions[i], from.size(), to);
  return text;
}

class Written final : public Technique {
 public:
  std::string_view name() const override { return "written"; }
  std::string_view idea() const override { return "user- or LLM-written CUDA"; }
  plan::Kind kind() const override { return plan::Kind::any; }
  plan::Entry entry() const override { return plan::Entry::given; }
  bool takes_source() const override { return true; }

  Result<void> accepts(const plan::Context&, const plan::Region& region) const override {
    auto refuse = [&](std::string why) -> Error {
      return work_error("technique", format("{}: {}", region.name, why));
    };
    if (!region.source) return refuse("the technique 'written' needs a source");
    const plan::Source& source = *region.source;
    if (source.function != identifier(source.function))
      return refuse("the source's function name is not a C++ identifier");
    if (positions_of(source.text, source.function).empty())
      return refuse(format("the source doesn't define {}", source.function));
    constexpr int64_t most = int64_t{1} << 40;
    if (source.workspace_bytes < 0 || source.workspace_bytes > most)
      return refuse(format("the workspace must have 0 to {} bytes", most));
    return {};
  }

  // Unknown: assumed to reach the GPU's peak until it is measured.
  plan::Rate rate(const plan::Context& context, const plan::Region&) const override {
    return {context.gpu.tensor_fp16, 1, 1};
  }

  Result<RegionCode> write(const RegionRequest& request) const override {
    const plan::Source& source = *request.region.source;
    const Signature signature = signature_of(request, required_name(request), source.workspace_bytes);
    RegionCode code;
    code.includes = "#include \"stitch/runtime/launch.h\"\n";
    code.declaration = signature.declaration();
    // The declaration enforces the signature. #line restores the author's line numbers.
    code.source = code.declaration + format("\n#line 1 {}\n", quote(request.name + ".cu")) +
                  renamed(source.text, source.function, required_name(request));
    if (!code.source.ends_with('\n')) code.source += '\n';
    code.verbatim = true;
    code.waits = false;
    code.arguments = signature.arguments();
    code.workspace_bytes = source.workspace_bytes;
    return code;
  }
};

}  // namespace

std::string required_name(const RegionRequest& request) { return "enqueue_" + request.name; }

std::string required_function(const RegionRequest& request, int64_t workspace_bytes) {
  return signature_of(request, required_name(request), workspace_bytes).head();
}

std::string_view contract_of_written() {
  return "It enqueues its kernels on `stream` and returns STITCH_OK, or STITCH_DEVICE_ERROR if a launch "
         "failed:\n"
         "    kernel<<<grid, block, 0, stream>>>(…);\n"
         "    return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;\n"
         "or, with stitch/runtime/launch.h, which is included:\n"
         "    STITCH_OK_OR_RETURN(stitch::launch(\"kernel\", kernel, stitch::Geometry{grid, block}, stream, "
         "…));\n"
         "    return STITCH_OK;\n"
         "No allocation, no synchronisation, no other stream, nothing kept between calls. Every element of "
         "what it "
         "writes is written in every call. A line `// workspace: BYTES` adds `void* workspace` before the "
         "stream.\n";
}

std::string describe_places(const RegionRequest& request) {
  std::string out;
  auto describe = [&](const char* what, const std::vector<Place>& places) {
    for (const Place& place : places)
      out += format("{} {}: {} {}, strides in elements ({})\n", what, place.pointer, name(place.dtype),
                    shape_comment(place.shape), join(place.strides, ", "));
  };
  describe("reads", request.reads);
  describe("weight", request.weights);
  describe("writes", request.writes);
  return out;
}

Result<plan::Plan> with_source(const plan::Context& context, const plan::Plan& plan,
                               const std::string& region, plan::Source source) {
  auto found = std::ranges::find(plan.regions, region, &plan::Region::name);
  if (found == plan.regions.end())
    return user_error("plan", format("there is no region '{}'", shorten(printable(region), 60)));
  STITCH_TRY(std::vector<RegionRequest> requests, requests_of(context, plan));
  const std::string structure = structure_of(requests[static_cast<size_t>(found - plan.regions.begin())]);
  auto shared = std::make_shared<const plan::Source>(std::move(source));
  plan::Plan out = plan;
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    if (structure_of(requests[r]) != structure) continue;
    plan::Region& given = out.regions[r];
    given.technique = &written();
    given.offer = {};
    given.choices.clear();
    given.source = shared;
    STITCH_CHECK(written().accepts(context, given));
  }
  return out;
}

const Technique& written() {
  static const Written technique;
  return technique;
}

}  // namespace stitch::code
