#include "code/written.h"

#include <algorithm>

#include "base/terminal/terminal.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/kernels_wait.h"
#include "code/names.h"
#include "code/rewritten.h"
#include "code/sharing.h"
#include "code/write_program.h"
#include "code/written_resources.h"
#include "emulator/tokens.h"
#include "graph/text.h"
#include "plan/document/edit.h"

namespace stitch {
extern const std::string_view embedded_written_example;  // generated from written_example.cu
}

namespace stitch::code {

namespace {

Signature signature_of(const RegionRequest& request, const WrittenResources& resources, RegionCode& code) {
  Signature out(required_name(request));
  for (const Place& place : request.reads) out.read(place);
  for (size_t i = 0; i < request.weights.size(); ++i)
    if (!resources.takes(i)) out.read(request.weights[i]);
  for (const Place& place : request.writes) out.write(place);
  add_resources(resources, request, code, out);
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

  Result<void> accepts(const plan::Context& context, const plan::Region& region) const override {
    auto refuse = [&](std::string why) -> Error {
      return work_error("technique", format("{}: {}", region.name, why));
    };
    if (!region.source) return refuse("the technique 'written' needs a source");
    const plan::Source& source = *region.source;
    if (is_graph(source.text)) {
      if (auto said = rewriting_in(source.text, request_alone(context, region)); !said)
        return refuse(said.error().message);
      return {};
    }
    if (source.function != identifier(source.function))
      return refuse("the source's function name is not a C++ identifier");
    if (positions_of(source.text, source.function).empty())
      return refuse(format("the source doesn't define {}", source.function));
    constexpr int64_t most = int64_t{1} << 40;
    if (source.workspace_bytes < 0 || source.workspace_bytes > most)
      return refuse(format("the workspace must have 0 to {} bytes", most));
    if (auto resources = resources_in(source.text, nullptr); !resources)
      return refuse(resources.error().message);
    return {};
  }

  // Unknown: assumed to reach the GPU's peak until it is measured.
  plan::Rate rate(const plan::Context& context, const plan::Region&) const override {
    return {context.gpu.tensor_fp16, 1, 1};
  }

  Result<RegionCode> write(const RegionRequest& request) const override {
    const plan::Source& source = *request.region.source;
    if (is_graph(source.text)) return write_rewriting(source.text, request);
    STITCH_TRY(WrittenResources resources, resources_in(source.text, &request.weights));
    if (resources.workspace_bytes == 0) resources.workspace_bytes = source.workspace_bytes;
    RegionCode code;
    code.includes = "#include \"stitch/runtime/launch.h\"\n";
    const Signature signature = signature_of(request, resources, code);
    code.declaration += signature.declaration();
    std::string text = renamed(source.text, source.function, required_name(request));
    for (size_t i = 0; i < resources.packed.size(); ++i)
      text = renamed(std::move(text), resources.packed[i].function, code.packed[i].fill->function);
    // The declarations enforce the signatures. #line restores the author's line numbers.
    code.source = code.declaration + format("\n#line 1 {}\n", quote(request.name + ".cu")) + text;
    if (!code.source.ends_with('\n')) code.source += '\n';
    code.verbatim = true;
    code.waits = launches_wait(source.text);
    code.arguments = signature.arguments();
    return code;
  }
};

}  // namespace

std::string required_name(const RegionRequest& request) { return "enqueue_" + request.name; }

std::string required_function(const RegionRequest& request, const plan::Source& source) {
  auto resources = resources_in(source.text, &request.weights);
  if (!resources) resources = WrittenResources();
  if (resources->workspace_bytes == 0) resources->workspace_bytes = source.workspace_bytes;
  RegionCode unused;
  return signature_of(request, *resources, unused).head();
}

std::string_view example_of_written() { return embedded_written_example; }

std::string_view graph_of_example() {
  return "graph \"example\"\ninput %x : f32[18,32]\nparameter %weight : f32[24,32]\nparameter %bias : "
         "f32[24]\n"
         "%y = linear(%x, %weight, %bias) : f32[18,24]\n%z = gelu(%y) approximate=\"tanh\" : f32[18,24]\n"
         "output %z\nend\n";
}

std::string contract_of_written(const RegionRequest& request) {
  const bool all =
      !request.weights.empty() || plan::kind_of(request.graph, request.region) != plan::Kind::loop;
  return "It enqueues its kernels on `stream` and returns STITCH_OK, or STITCH_DEVICE_ERROR if a launch "
         "failed:\n"
         "    kernel<<<grid, block, 0, stream>>>(…);\n"
         "    return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;\n"
         "or, with stitch/runtime/launch.h, which is included:\n"
         "    STITCH_OK_OR_RETURN(stitch::launch(\"kernel\", kernel, stitch::Geometry{grid, block}, stream, "
         "…));\n"
         "    return STITCH_OK;\n"
         "No allocation, no synchronisation, no other stream, nothing kept between calls. Every element of "
         "what it writes is written in every call. The caller's tensors are aligned to an element, no more: "
         "kernels with vector loads need another way for those; all other memory is aligned to 256 bytes. A "
         "kernel that is launched by stitch::launch begins with\n"
         "    stitch::wait_for_previous_kernel();\n"
         "so that launches overlap; where one doesn't, they don't in the whole program.\n" +
         resources_in_words(all) +
         (all ? format("An example, of another region: y = F.gelu(F.linear(x, weight, bias), "
                       "approximate='tanh') in "
                       "the class half.\n{}",
                       example_of_written())
              : "") +
         std::string(rewriting_in_words());
}

std::string describe_places(const RegionRequest& request) {
  std::string out;
  const Graph& graph = request.graph;
  auto describe = [&](const std::string& what, const Place& place) {
    const bool callers = graph[place.value].role == Role::input ||
                         std::ranges::find(graph.outputs, place.value) != graph.outputs.end();
    out += format("{} {}: {} {}, strides in elements ({}){}\n", what, place.pointer, name(place.dtype),
                  shape_comment(place.shape), join(place.strides, ", "), callers ? ", the caller's" : "");
  };
  for (const Place& place : request.reads) describe("reads", place);
  for (size_t i = 0; i < request.weights.size(); ++i) describe(format("weight {},", i), request.weights[i]);
  for (const Place& place : request.writes) describe("writes", place);
  return out;
}

Result<plan::Plan> with_source(const plan::Context& context, const plan::Plan& plan,
                               const std::string& region, plan::Source source) {
  auto found = std::ranges::find(plan.regions, region, &plan::Region::name);
  if (found == plan.regions.end())
    return user_error("plan", format("there is no region '{}'", shorten(printable(region), 60)));
  STITCH_TRY(std::vector<RegionRequest> requests, requests_of(context, plan));
  const std::string structure = structure_of(requests[static_cast<size_t>(found - plan.regions.begin())]);
  const std::vector<Place>& weights = requests[static_cast<size_t>(found - plan.regions.begin())].weights;
  if (is_graph(source.text)) {
    auto said = rewriting_in(source.text, requests[static_cast<size_t>(found - plan.regions.begin())]);
    if (!said) return at(region, said.error());
    source.text = print_graph(said->graph);
  } else {
    auto declared = resources_in(source.text, &weights);
    if (!declared) return at(region, declared.error());
    source.text = with_numbered_weights(std::move(source.text), weights);
  }
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
    STITCH_CHECK(written().can_write(context, out, given));
  }
  return out;
}

Result<plan::Plan> plan_of_whole(const plan::Context& context) {
  return plan::as_one_region(context, plan::empty_plan(context.graph, context.numerics),
                             identifier(context.graph.name), catalogue());
}

Result<std::string> function_of_whole(const plan::Context& context) {
  STITCH_TRY(const plan::Plan plan, plan_of_whole(context));
  STITCH_TRY(const std::vector<RegionRequest> requests, requests_of(context, plan));
  return required_name(requests[0]);
}

Result<PackageContents> program_of_whole(const plan::Context& context, std::string source) {
  STITCH_TRY(const plan::Plan whole, plan_of_whole(context));
  STITCH_TRY(std::string function, function_of_whole(context));
  STITCH_TRY(const plan::Plan plan,
             with_source(context, whole, whole.regions[0].name,
                         {.function = std::move(function), .text = std::move(source)}));
  return write_program(context, plan);
}

const Technique& written() {
  static const Written technique;
  return technique;
}

}  // namespace stitch::code
