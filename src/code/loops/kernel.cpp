#include "code/loops/kernel.h"

#include <algorithm>
#include <sstream>
#include <tuple>

#include "base/format.h"
#include "base/text.h"
#include "code/expression/statement.h"
#include "code/names.h"
#include "plan/constants.h"
#include "program/fold.h"

namespace stitch::code::loops {

namespace {

// A comment wrapped at 110 columns.
std::string comment(const std::string& text) {
  std::istringstream words(text);
  std::string out, line = "//", word;
  while (words >> word) {
    if (line.size() + word.size() + 1 > generated_columns) {
      out += line + "\n";
      line = "//";
    }
    line += " " + word;
  }
  return out + line + "\n";
}

struct Parameter {
  std::string declaration, note;
};

// A function's head up to `end`: one parameter per line, with its shape. They are aligned to the first if
// they fit, perhaps with the name on its own line; otherwise indented by four columns.
std::string function_head(const std::string& type, const std::string& name,
                          const std::vector<Parameter>& parameters, const std::string& end) {
  auto written = [&](const std::string& first, size_t indent) {
    Lines lines;
    for (size_t i = 0; i < parameters.size(); ++i)
      lines.add((i == 0 ? first : std::string(indent, ' ')) + parameters[i].declaration +
                    (i + 1 < parameters.size() ? "," : end),
                parameters[i].note);
    return lines;
  };
  const std::string together = type + " " + name + "(", apart = type + "\n    " + name + "(";
  Lines lines = written(together, together.size());
  if (lines.widest() > generated_columns) lines = written(apart, name.size() + 5);
  if (lines.widest() > generated_columns)
    lines = together.size() <= generated_columns ? written(together + "\n    ", 4)
                                                 : written(apart + "\n        ", 8);
  return lines.text();
}

bool is_write(const RegionRequest& request, const Place* place) {
  return std::ranges::any_of(request.writes, [&](const Place& each) { return &each == place; });
}

// Updated states may share memory with their new value: no __restrict__.
bool may_alias(const RegionRequest& request, const Place* place) {
  return std::ranges::any_of(request.graph.updates, [&](const Update& update) {
    return update.target == place->value || update.value == place->value;
  });
}

std::vector<const Place*> in_order(const RegionRequest& request, const std::set<const Place*>& used) {
  std::vector<const Place*> out;
  for (const auto* places : {&request.reads, &request.weights, &request.writes})
    for (const Place& place : *places)
      if (used.contains(&place)) out.push_back(&place);
  return out;
}

std::string pointer_of(const RegionRequest& request, const Place* place, bool restricted) {
  return format("{}{}*{} {}", is_write(request, place) ? "" : "const ", element_type(place->dtype),
                restricted && !may_alias(request, place) ? " __restrict__" : "", place->pointer);
}

std::string kernel_text(const RegionRequest& request, const Kernel& kernel, const Workspace& workspace,
                        const Preparation* preparation = nullptr) {
  std::vector<Parameter> parameters;
  for (const Place* place : in_order(request, kernel.used))
    parameters.push_back({pointer_of(request, place, true), layout_comment(*place)});
  for (const std::string& name : kernel.scratch) {
    const bool prepared = preparation && preparation->memory.has(name);
    const Scratch& scratch = prepared ? preparation->memory.find(name) : workspace.find(name);
    bool written = kernel.written.contains(name);
    parameters.push_back({format("{} __restrict__ {}", pointer_to(scratch.type, !written).name, name),
                          format("({})", scratch.elements)});
  }
  if (request.context.takes_sizes()) parameters.push_back({"const Sizes sizes", {}});
  std::string out;
  if (kernel.width > 1) out += "template <bool aligned>\n";
  std::string bounds = std::to_string(kernel.free_threads.in_all > 0 ? FreeThreads::most : kernel.threads);
  if (kernel.resident > 0) bounds += format(", {}", kernel.resident);
  std::string head = format("__global__ void __launch_bounds__({})", bounds);
  // Loads of other kernels' results must come after this, for programmatic dependent launches.
  const char* const first = "  stitch::wait_for_previous_kernel();\n";
  return out + function_head(head, kernel.name, parameters, ") {") + first + text_of(kernel.body, 2) + "}\n";
}

// The launcher's check that all vectors are aligned.
Expression aligned(const RegionRequest& request, const Kernel& kernel) {
  Expression out;
  for (const Place* place : in_order(request, kernel.vectorised))
    out =
        both(out, call("stitch::is_aligned", {named(place->pointer), kernel.width * size_of(place->dtype)}));
  return out.empty() ? number(1, DType::boolean) : out;
}

Expression geometry(const Kernel& kernel) {
  if (kernel.free_threads.in_all > 0)
    return call("stitch::spread", {kernel.free_threads.in_all, named(kernel.name + "_threads")});
  Expressions blocks(kernel.blocks.begin(), kernel.blocks.end());
  Expressions parts = {blocks.size() > 1 ? call("dim3", blocks) : blocks[0], kernel.threads};
  if (kernel.shared_bytes > 0) parts.emplace_back(kernel.shared_bytes);
  return braced("", parts);
}

Expression launch(const RegionRequest& request, const Kernel& kernel) {
  Expression function = named(kernel.name);
  if (kernel.width > 1)
    function = select(named("aligned"), named(kernel.name + "<true>"), named(kernel.name + "<false>"));
  Expressions arguments = {quoted(kernel.name), function, geometry(kernel)};
  if (kernel.team > 1) arguments.emplace_back(kernel.team);
  if (kernel.cluster > 1) arguments.emplace_back(kernel.cluster);
  arguments.push_back(named("stream"));
  for (const Place* place : in_order(request, kernel.used)) arguments.push_back(named(place->pointer));
  for (const std::string& scratch : kernel.scratch) arguments.push_back(named(scratch));
  if (request.context.takes_sizes()) arguments.push_back(named("sizes"));
  return call(kernel.team > 1      ? "stitch::launch_team"
              : kernel.cluster > 1 ? "stitch::launch_cluster"
                                   : "stitch::launch",
              arguments);
}

// Pointers to the parts of a workspace that statements use.
Block pieces(const Workspace& memory, const std::string& pointer, const Block& statements) {
  Block out;
  const std::set<std::string> used = names_read(statements);
  for (const Scratch& each : memory.all())
    if (used.contains(each.name))
      out.push_back(define_variable({"auto*"}, each.name,
                                    call(format("reinterpret_cast<{}*>", each.type.name),
                                         {call("static_cast<char*>", {named(pointer)}) + each.offset})));
  return out;
}

// The body of enqueue_NAME.
Block launches(const RegionRequest& request, const std::vector<Kernel>& kernels) {
  if (kernels.empty())
    return {evaluate(call("static_cast<void>", {named("stream")})), {Return{named("STITCH_OK")}}};
  Block out;
  auto checked = [&](const Expression& status) {
    out.push_back(evaluate(call("STITCH_OK_OR_RETURN", {status})));
  };
  const Kernel* last_aligned = nullptr;  // the kernel that `aligned` was computed for
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Kernel& kernel = kernels[i];
    if (kernel.width > 1 && (!last_aligned || last_aligned->width != kernel.width ||
                             last_aligned->vectorised != kernel.vectorised)) {
      out.push_back(last_aligned ? assign(named("aligned"), aligned(request, kernel))
                                 : define_variable(bool_type, "aligned", aligned(request, kernel)));
      last_aligned = &kernel;
    }
    if (!kernel.before.empty()) out.push_back(evaluate(kernel.before));
    const bool last = i + 1 == kernels.size();
    auto call = [&](const Expression& status, bool returns) {
      if (returns)
        out.push_back({Return{status}});
      else
        checked(status);
    };
    call(launch(request, kernel), last && kernel.then.empty());
    if (!kernel.then.empty()) call(kernel.then, last);
  }
  return out;
}

// A function and its kernels.
struct Function {
  std::string name;
  std::vector<Parameter> parameters;
  const std::vector<Kernel>& kernels;
  Block body;
};

std::string includes_of(const RegionRequest& request, const std::vector<Function>& functions) {
  std::set<std::string> headers = {"stitch/runtime/errors.h"};
  for (const Function& function : functions) {
    headers.merge(headers_of(function.body));
    if (!function.kernels.empty()) headers.insert("stitch/loops/math.h");  // expf, INFINITY
    for (const Kernel& kernel : function.kernels) headers.merge(headers_of(kernel.body));
  }
  for (const auto* places : {&request.reads, &request.weights, &request.writes})
    for (const Place& place : *places)
      if (place.dtype == DType::f16 || place.dtype == DType::bf16) headers.insert("stitch/loops/vector.h");
  std::string out;
  for (const std::string& header : headers) out += format("#include \"{}\"\n", header);
  return out;
}

}  // namespace

Expression sum_of(const Index& a, const Expression& b) {
  return a.is_constant() && a.constant() == 0 ? b : appended(a, b);
}

Kernel kernel_of(Emitter& emitter, std::string name, int threads, std::vector<int64_t> blocks) {
  Kernel kernel;
  kernel.name = std::move(name);
  kernel.threads = threads;
  kernel.blocks = std::move(blocks);
  kernel.body = emitter.scopes().take();
  kernel.used = emitter.used();
  kernel.vectorised = emitter.vectorised();
  return kernel;
}

Indices vector_element(const Index& vector, const Index& lane, int64_t width, const Shape& shape,
                       size_t joined) {
  joined = std::min(std::max<size_t>(joined, 1), shape.size());
  auto middle = shape.end() - static_cast<int64_t>(joined);
  Shape outer(shape.begin(), middle), inner(middle, shape.end());
  outer.push_back(element_count(inner) / width);
  Indices out = unflatten(vector, outer);
  Index within = out.back() * width + lane;
  out.pop_back();
  for (const Index& index : unflatten(within, inner)) out.push_back(index);
  return out;
}

std::vector<size_t> joinable(const Shape& shape, int64_t width) {
  std::vector<size_t> out;
  int64_t together = 1;
  for (size_t joined = 1; joined <= shape.size(); ++joined) {
    int64_t size = shape[shape.size() - joined];
    together *= size;
    if (together % width == 0 && (size > 1 || joined == shape.size())) out.push_back(joined);
  }
  if (shape.empty() && width == 1) out.push_back(0);
  return out;
}

bool Draft::better_than(const Draft& other) const {
  auto merit = [](const Draft& each) {
    return std::tuple(each.kernel.width > 1 ? each.loads.vectorised - each.loads.scattered : 0,
                      each.kernel.width, -each.loads.repeated, -operations(each.kernel.body));
  };
  return merit(*this) > merit(other);
}

void Workspace::add(Type type, std::string name, int64_t elements) {
  const int64_t bytes = elements * type.bytes;
  all_.push_back({std::move(type), std::move(name), elements, bytes_});
  bytes_ += divided_up(bytes, 256) * 256;
}

bool Workspace::has(std::string_view name) const {
  return std::ranges::find(all_, name, &Scratch::name) != all_.end();
}

const Scratch& Workspace::find(std::string_view name) const {
  auto found = std::ranges::find(all_, name, &Scratch::name);
  require(found != all_.end(), "a piece of the workspace that nobody asked for");
  return *found;
}

std::string ops_text(const RegionRequest& request) {
  std::string out;
  int count = 0;
  for (int32_t n : request.region.nodes) {
    if (++count > 12) return out + ", …";
    out += (out.empty() ? "" : ", ") + std::string(info(request.graph.node(n).op).name);
  }
  return out;
}

std::string traffic_text(const RegionRequest& request) {
  double bytes = 0;
  for (const auto* places : {&request.reads, &request.weights, &request.writes})
    for (const Place& place : *places)
      bytes += static_cast<double>(element_count(place.shape) * size_of(place.dtype));
  return bytes_text(bytes);
}

namespace {

// A function that fills memory before the region runs, and its caller.
Function preparing(const RegionRequest& request, const Preparation& preparation, RegionCode& code) {
  const std::string name = format("prepare_{}_{}", request.name, preparation.name);
  Function out{name, {}, preparation.kernels, launches(request, preparation.kernels)};
  const Block cut = pieces(preparation.memory, preparation.name, out.body);
  out.body.insert(out.body.begin(), cut.begin(), cut.end());
  PackCall make{name, {}};
  bool constant = !request.context.takes_sizes();
  std::set<const Place*> used;
  std::string what;
  for (const Kernel& kernel : preparation.kernels) {
    used.insert(kernel.used.begin(), kernel.used.end());
    Kernel unnamed = kernel;
    unnamed.name = preparation.name;
    what += kernel_text(request, unnamed, preparation.memory);
    what += text_of(Block{evaluate(kernel.then)}, 0);
  }
  for (const Place* place : in_order(request, used)) {
    out.parameters.push_back({pointer_of(request, place, false), layout_comment(*place)});
    make.arguments.push_back(place->pointer);
    constant = constant && plan::is_constant(request.graph, place->value);
  }
  const std::string memory = format("{}_{}", request.name, preparation.name);
  make.arguments.push_back(memory);
  code.arguments.push_back(memory);
  out.parameters.push_back({"void* " + preparation.name, format("{} bytes", preparation.memory.bytes())});
  out.parameters.push_back({"cudaStream_t stream", {}});
  if (constant)
    code.packed.push_back({.name = memory,
                           .type = "char",
                           .element_bytes = 1,
                           .elements = preparation.memory.bytes(),
                           .fill = std::move(make),
                           .what = std::move(what)});
  else
    code.prepared.push_back({memory, preparation.memory.bytes(), std::move(what), std::move(make)});
  return out;
}

}  // namespace

RegionCode assemble(const RegionRequest& request, const std::string& idea, const std::vector<Kernel>& kernels,
                    const Workspace& workspace, const Preparation* preparation) {
  RegionCode code;
  std::set<const Place*> used;
  for (const Kernel& kernel : kernels) {
    used.insert(kernel.used.begin(), kernel.used.end());
    for (const Place* place : kernel.used) {
      double bytes = static_cast<double>(element_count(place->shape) * size_of(place->dtype));
      code.moved_bytes += bytes * static_cast<double>(is_write(request, place) ? 1 : kernel.passes);
    }
  }
  code.kernels = static_cast<int>(kernels.size());
  Function own{"enqueue_" + request.name, {}, kernels, launches(request, kernels)};
  const Block body = own.body;
  for (const Place* place : in_order(request, used)) {
    own.parameters.push_back({pointer_of(request, place, false), layout_comment(*place)});
    code.arguments.push_back(place->pointer);
  }
  for (const Kernel& kernel : kernels)
    if (const FreeThreads& free = kernel.free_threads; free.in_all > 0) {
      code.arguments.push_back(
          add_setting(code, request.region, kernel.name, "threads", "int", free.values, kernel.threads));
      own.parameters.push_back({"int " + code.arguments.back(), "a block"});
    }
  std::vector<Function> functions;
  if (preparation) {
    functions.push_back(preparing(request, *preparation, code));
    own.parameters.push_back({"void* " + preparation->name, format("{} bytes", preparation->memory.bytes())});
    own.body = pieces(preparation->memory, preparation->name, body);
    own.body.insert(own.body.end(), body.begin(), body.end());
  }
  code.workspace_bytes = workspace.bytes();
  if (workspace.bytes() > 0) {
    own.parameters.push_back({"void* workspace", format("{} bytes", workspace.bytes())});
    code.arguments.emplace_back(workspace_argument);
    const Block cut = pieces(workspace, "workspace", body);
    own.body.insert(own.body.begin(), cut.begin(), cut.end());
  }
  own.parameters.push_back({"cudaStream_t stream", {}});
  functions.push_back(std::move(own));

  code.includes = includes_of(request, functions);
  code.source = comment(idea);
  for (size_t i = 0; i < functions.size(); ++i) {
    const Function& function = functions[i];
    const Workspace& memory = i + 1 < functions.size() ? preparation->memory : workspace;
    if (!function.kernels.empty()) {
      code.source += "namespace {\n\n";
      for (const Kernel& kernel : function.kernels)
        code.source += kernel_text(request, kernel, memory, preparation) + "\n";
      code.source += "}  // namespace\n\n";
    }
    code.source += function_head("StitchStatus", function.name, function.parameters, ") {") +
                   text_of(function.body, 2) + "}\n";
    if (i + 1 < functions.size()) code.source += "\n";
    code.declaration += function_head("StitchStatus", function.name, function.parameters, ");");
  }
  return code;
}

}  // namespace stitch::code::loops
