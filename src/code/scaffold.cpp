// program.cu: contracts, memory, create, the forward pass in one CUDA graph, and each region for itself.
#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "base/text.h"
#include "code/names.h"
#include "code/program_parts.h"
#include "plan/technique.h"

namespace stitch::code {

namespace {

std::string contract(const std::string& label, DType dtype, const Shape& shape,
                     const std::vector<int64_t>& strides) {
  std::string out = format("stitch::contract({}, {}", quote(label), abi_type(dtype));
  if (shape.empty()) return out + ")";
  out += ", {" + join(shape, ", ") + "}";
  if (strides != contiguous_strides(shape)) out += ", {" + join(strides, ", ") + "}";
  return out + ")";
}

std::string contract_list(const std::vector<std::string>& contracts, const std::string& indent) {
  std::string out = "stitch::contracts(";
  for (size_t i = 0; i < contracts.size(); ++i) out += (i ? ",\n" + indent : "") + contracts[i];
  return out + ")";
}

class Writer {
 public:
  explicit Writer(const ProgramParts& parts) : parts_(parts), branches_(parts.branches()) {
    for (const RegionCode& region : parts.regions)
      kept_.insert(region.arguments.begin(), region.arguments.end());
    for (auto [id, index] : parts.copies) kept_.insert(parts.residents.at(id).name);
    // A member may keep a pointer to what it is made with: a product its bias.
    for (const Resident* weight : weights())
      for (const RegionCode& region : parts.regions)
        for (const Member& member : region.members)
          if (mentions(member.create, weight->name)) kept_.insert(weight->name);
  }

  std::string write() {
    const bool replayed = !parts_.starts_kernels_itself();
    out_ = format("// {}: {} region{}, {}.\n#include \"regions.h\"\n", parts_.graph.name,
                  parts_.regions.size(), parts_.regions.size() > 1 ? "s" : "",
                  replayed ? "replayed as one CUDA graph" : "started without a graph");
    if (parts_.has_settings()) out_ += "#include \"settings.h\"\n";
    out_ += "#include \"stitch/runtime/arena.h\"\n#include \"stitch/runtime/exports.h\"\n";
    if (replayed) out_ += "#include \"stitch/runtime/graph.h\"\n";
    if (branches_ > 1) out_ += "#include \"stitch/runtime/branches.h\"\n";
    out_ += "\nnamespace {\n\n";
    contracts();
    out_ += format("\nconstexpr size_t arena_bytes = {};\n\n}}  // namespace\n\n",
                   std::max<int64_t>(arena_bytes(), 1));
    out_ += "struct StitchProgram {\n  int device = 0;\n  stitch::Arena arena;\n";
    if (replayed) out_ += "  stitch::GraphCache graphs;\n";
    if (branches_ > 1) out_ += format("  stitch::Branches<{}> beside;\n", branches_);
    for (const Library& library : libraries()) out_ += format("  {} {};\n", library.type, library.name);
    settings();
    pointers();
    create();
    enqueue();
    out_ += (replayed ? replay : start) + "};\n\n";
    out_ += exports;
    run_region();
    return std::move(out_);
  }

 private:
  static const std::string start, replay, exports;

  bool kept(const std::string& pointer) const { return kept_.contains(pointer); }

  std::vector<const Resident*> weights() const {
    std::vector<const Resident*> out;
    for (const auto& [id, resident] : parts_.residents)
      if (resident.home == Home::weight) out.push_back(&resident);
    std::ranges::sort(out, {}, &Resident::index);
    return out;
  }

  void contracts() {
    auto list = [&](const char* what, const std::vector<ManifestTensor>& tensors) {
      std::vector<std::string> each;
      for (const ManifestTensor& tensor : tensors)
        each.push_back(contract(
            tensor.name, tensor.type.dtype, tensor.type.shape,
            tensor.type.strides.empty() ? contiguous_strides(tensor.type.shape) : tensor.type.strides));
      out_ += format("constexpr auto {} =\n    {};\n", what, contract_list(each, "                      "));
    };
    list("parameters", parts_.signature.parameters);
    list("inputs", parts_.signature.inputs);
    list("outputs", parts_.signature.outputs);
  }

  // Scratch first, then weights that stay, then what families packed.
  int64_t arena_bytes() {
    int64_t at = parts_.layout.bytes;
    auto add = [&](const std::string& name, int64_t bytes) {
      offsets_[name] = at;
      at += (bytes + 255) / 256 * 256;
    };
    for (const Resident* weight : weights())
      if (kept(weight->name)) add(weight->name, weight->bytes);
    for (const RegionCode& region : parts_.regions)
      for (const Packed& packed : region.packed) add(packed.name, packed.elements * packed_size(packed.type));
    return at;
  }

  static int64_t packed_size(std::string_view type) {
    if (type == "double" || type == "int64_t") return 8;
    if (type == "float" || type == "int32_t" || type == "int" || type == "unsigned") return 4;
    if (type == "__half" || type == "__nv_bfloat16") return 2;
    return 1;
  }

  // As they are when the program is created.
  void settings() {
    for (const RegionCode& region : parts_.regions)
      for (const Setting& setting : region.settings)
        out_ += format("  const {} {} = settings::{};\n", setting.type, setting.variable, setting.variable);
  }

  void pointer(std::string_view type, const std::string& name, const Shape* shape) {
    out_ += format("  {}* {} = nullptr;{}\n", type, name, shape ? "  // " + shape_comment(*shape) : "");
  }

  void pointers() {
    for (const Resident* weight : weights())
      if (kept(weight->name)) pointer(element_type(weight->place.dtype), weight->name, &weight->place.shape);
    for (ValueId id : parts_.scratch) {
      const Resident& resident = parts_.residents.at(id);
      pointer(element_type(resident.place.dtype), resident.name, &resident.place.shape);
    }
    for (size_t r = 0; r < parts_.regions.size(); ++r) {
      for (const Packed& packed : parts_.regions[r].packed) pointer(packed.type, packed.name, nullptr);
      for (const Member& member : parts_.regions[r].members)
        out_ += format("  {} {};\n", member.type, member.name);
      if (parts_.workspace_at[r] >= 0) pointer("char", workspace(r), nullptr);
    }
  }

  std::string workspace(size_t region) const { return "workspace_of_" + parts_.region_names[region]; }

  void place(const std::string& name, int64_t offset, int64_t count) {
    out_ +=
        format("    STITCH_OK_OR_RETURN(arena.place({}, {}, {}, &{}));\n", quote(name), offset, count, name);
  }

  void create() {
    out_ += "\n  StitchStatus create(const StitchTensor* params) {\n";
    if (weights().empty()) out_ += "    (void)params;\n";
    if (!parts_.starts_kernels_itself()) out_ += "    STITCH_OK_OR_RETURN(graphs.create());\n";
    out_ += "    STITCH_OK_OR_RETURN(arena.allocate(arena_bytes));\n";
    if (branches_ > 1) out_ += "    STITCH_OK_OR_RETURN(beside.create());\n";
    for (const Library& library : libraries())
      out_ += format("    STITCH_OK_OR_RETURN({}.create());\n", library.name);
    for (size_t i = 0; i < parts_.scratch.size(); ++i) {
      const Resident& resident = parts_.residents.at(parts_.scratch[i]);
      place(resident.name, parts_.layout.offsets[i], resident.bytes / size_of(resident.place.dtype));
    }
    for (const Resident* weight : weights()) {
      int64_t count = weight->bytes / size_of(weight->place.dtype);
      if (kept(weight->name)) {
        place(weight->name, offsets_.at(weight->name), count);
        out_ += format("    STITCH_OK_OR_RETURN(stitch::copy_weight({}, params[{}], {}));\n", weight->name,
                       weight->index, count);
      } else if (needed_at_create(weight->name)) {
        out_ += format("    const {}* {} = stitch::data<const {}>(params[{}]);\n",
                       element_type(weight->place.dtype), weight->name, element_type(weight->place.dtype),
                       weight->index);
      }
    }
    for (size_t r = 0; r < parts_.regions.size(); ++r) {
      const RegionCode& region = parts_.regions[r];
      if (parts_.workspace_at[r] >= 0) place(workspace(r), parts_.workspace_at[r], region.workspace_bytes);
      for (const Packed& packed : region.packed) {
        place(packed.name, offsets_.at(packed.name), packed.elements);
        statements(packed.fill);
      }
      for (const Member& member : region.members) statements(with_own_libraries(member.create, r));
    }
    for (size_t r = 0; r < parts_.regions.size(); ++r)
      if (parts_.constant[r])
        out_ += format("    STITCH_OK_OR_RETURN({});  // the same in every run\n",
                       call(
                           r, [](const std::string& name) { return name; }, "nullptr"));
    out_ += "    return STITCH_OK;\n  }\n";
  }

  // Where a name stands as a whole word, from a place on.
  static size_t find_word(const std::string& text, const std::string& name, size_t from = 0) {
    auto part = [&](size_t i) {
      return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
    };
    for (size_t at = text.find(name, from); at != std::string::npos; at = text.find(name, at + 1))
      if ((at == 0 || !part(at - 1)) && !part(at + name.size())) return at;
    return std::string::npos;
  }

  static bool mentions(const std::string& text, const std::string& name) {
    return find_word(text, name) != std::string::npos;
  }

  struct Library {
    std::string type, name;
  };

  // A handle has one workspace, so every branch has handles of its own.
  static std::string in_branch(const std::string& library, int branch) {
    return branch == 0 ? library : format("{}_{}", library, branch + 1);
  }

  std::vector<Library> libraries() const {
    std::vector<Library> out;
    for (const auto& [library, type, name] : {std::tuple{"cublasLt", "stitch::CublasLt", "cublas"},
                                              std::tuple{"cudnn", "stitch::Cudnn", "cudnn"}}) {
      std::set<int> branches;
      for (size_t r = 0; r < parts_.regions.size(); ++r)
        if (std::ranges::find(parts_.regions[r].libraries, library) != parts_.regions[r].libraries.end())
          branches.insert(parts_.plan.regions[r].branch);
      for (int branch : branches) out.push_back({type, in_branch(name, branch)});
    }
    return out;
  }

  std::string with_own_libraries(std::string text, size_t r) const {
    const int branch = parts_.plan.regions[r].branch;
    if (branch == 0) return text;
    for (const std::string& name : {std::string("cublas"), std::string("cudnn")})
      for (size_t at = find_word(text, name); at != std::string::npos;
           at = find_word(text, name, at + in_branch(name, branch).size()))
        text.replace(at, name.size(), in_branch(name, branch));
    return text;
  }

  bool needed_at_create(const std::string& name) const {
    return std::ranges::any_of(parts_.regions, [&](const RegionCode& region) {
      return std::ranges::any_of(region.packed,
                                 [&](const Packed& packed) { return mentions(packed.fill, name); });
    });
  }

  void statements(const std::string& text) {
    for (const std::string& line : split(text, '\n'))
      if (!line.empty()) out_ += "    " + line + "\n";
  }

  // A region's call, its places as `locate` says.
  std::string call(size_t r, const std::function<std::string(const std::string&)>& locate,
                   const std::string& stream) const {
    std::string out = "enqueue_" + parts_.region_names[r] + "(";
    for (const std::string& argument : parts_.regions[r].arguments)
      out += (argument == "workspace" ? workspace(r) : locate(argument)) + ", ";
    return out + stream + ")";
  }

  // Where a value is during a whole pass.
  std::string at_home(const std::string& name) const {
    for (const auto& [id, resident] : parts_.residents) {
      if (resident.name != name) continue;
      std::string_view type = element_type(resident.place.dtype);
      if (resident.home == Home::input) return format("stitch::data<const {}>(in[{}])", type, resident.index);
      if (resident.home == Home::output) return format("stitch::data<{}>(out[{}])", type, resident.index);
    }
    return name;
  }

  void enqueue() {
    out_ +=
        "\n  // One forward pass.\n  StitchStatus enqueue(const StitchTensor* in, const StitchTensor* out, "
        "cudaStream_t stream) {\n";
    out_ += "    (void)in, (void)out, (void)stream;\n";
    const std::vector<plan::Section> sections = plan::sections_of(parts_.plan);
    auto next = sections.begin();
    for (size_t r = 0; r < parts_.regions.size(); ++r) {
      if (next != sections.end() && r == next->first)
        out_ += format("    STITCH_OK_OR_RETURN(beside.part(stream, {}));\n", next->branches);
      const int branch = parts_.plan.regions[r].branch;
      if (!parts_.constant[r])
        out_ += format("    STITCH_OK_OR_RETURN({});\n",
                       call(
                           r, [&](const std::string& name) { return at_home(name); },
                           branch == 0 ? "stream" : format("beside[{}]", branch)));
      if (next == sections.end() || r + 1 != next->end) continue;
      out_ += format("    STITCH_OK_OR_RETURN(beside.meet(stream, {}));\n", next->branches);
      ++next;
    }
    for (auto [id, index] : parts_.copies) {
      const Resident& resident = parts_.residents.at(id);
      out_ += format(
          "    STITCH_CUDA(cudaMemcpyAsync(out[{}].data, {}, {}, cudaMemcpyDeviceToDevice, stream));\n",
          index, at_home(resident.name), resident.bytes);
    }
    out_ += "    return STITCH_OK;\n  }\n\n";
  }

  void run_region() {
    out_ +=
        "int stitch_run_region(StitchProgram* program, int region, const StitchTensor* in, int n_in, "
        "StitchTensor* out,\n"
        "                      int n_out, void* stream) {\n  using Tensors = const StitchTensor*;\n  switch "
        "(region) {\n";
    for (size_t r = 0; r < parts_.regions.size(); ++r) one_region(r);
    out_ +=
        format("    default: return stitch::no_such_region(region, {});\n  }}\n}}\n", parts_.regions.size());
  }

  void one_region(size_t r) {
    const plan::Region& region = parts_.plan.regions[r];
    auto contracts_of = [&](const std::vector<ValueId>& ids) {
      std::vector<std::string> each;
      for (ValueId id : ids) {
        const Place& place = parts_.residents.at(id).place;
        // As it lies in memory, outermost dimension first.
        const std::vector<int64_t>& order = parts_.residents.at(id).home == Home::scratch
                                                ? parts_.plan.storage[index_of(id)].order
                                                : no_order_;
        Shape shape = place.shape;
        std::vector<int64_t> strides = place.strides;
        for (size_t d = 0; d < order.size(); ++d) {
          shape[d] = place.shape[static_cast<size_t>(order[d])];
          strides[d] = place.strides[static_cast<size_t>(order[d])];
        }
        each.push_back(contract(parts_.graph[id].name, place.dtype, shape, strides));
      }
      return contract_list(each, "                                ");
    };
    auto locate = [&](const std::string& name) -> std::string {
      for (size_t i = 0; i < region.reads.size(); ++i)
        if (const Resident& resident = parts_.residents.at(region.reads[i]); resident.name == name)
          return format("stitch::data<const {}>(reads[{}])", element_type(resident.place.dtype), i);
      for (size_t i = 0; i < region.writes.size(); ++i)
        if (const Resident& resident = parts_.residents.at(region.writes[i]); resident.name == name)
          return format("stitch::data<{}>(writes[{}])", element_type(resident.place.dtype), i);
      return "program->" + name;
    };
    std::string body = call(r, locate, "on");
    if (parts_.workspace_at[r] >= 0) {
      std::string own = workspace(r);
      if (size_t at = body.find(own); at != std::string::npos) body.insert(at, "program->");
    }
    out_ += format(
        "    case {}:  // {}\n      return stitch::run_region(program, {}, in, n_in,\n                       "
        "         {}, out, n_out, stream,\n"
        "                                [&](Tensors reads, Tensors writes, cudaStream_t on) {{\n"
        "                                  (void)reads, (void)writes;\n                                  "
        "return {};\n                                }});\n",
        r, region.technique->name(), contracts_of(region.reads), contracts_of(region.writes), body);
  }

  const ProgramParts& parts_;
  const int branches_;
  std::set<std::string, std::less<>> kept_;  // what a pass needs
  std::map<std::string, int64_t> offsets_;
  const std::vector<int64_t> no_order_;
  std::string out_;
};

const std::string Writer::start =
    R"(  StitchStatus run(const StitchTensor* in, const StitchTensor* out, cudaStream_t caller) {
    return enqueue(in, out, caller);
  }
)";

const std::string Writer::replay =
    R"(  StitchStatus run(const StitchTensor* in, const StitchTensor* out, cudaStream_t caller) {
    return graphs.run(in, static_cast<int>(inputs.size()), out, static_cast<int>(outputs.size()), caller,
                      [&](cudaStream_t stream) { return enqueue(in, out, stream); });
  }
)";

const std::string Writer::exports =
    R"(int stitch_create(const StitchTensor* params, int count, int device, StitchProgram** out) {
  return stitch::create_program(parameters, params, count, device, out);
}
int stitch_run(StitchProgram* program, const StitchTensor* in, int n_in, StitchTensor* out, int n_out,
               void* stream) {
  return stitch::run_program(program, inputs, in, n_in, outputs, out, n_out, stream);
}
void stitch_destroy(StitchProgram* program) { stitch::destroy_program(program); }
const char* stitch_last_error(void) { return stitch::last_error(); }

)";

}  // namespace

std::string scaffold(const ProgramParts& parts) { return Writer(parts).write(); }

std::string settings_header(const ProgramParts& parts) {
  std::string out =
      "// Numbers that stitch_set may change before the program is created; manifest.cu has their "
      "values.\n#pragma once\n\n#include \"stitch/runtime/settings.h\"\n\nnamespace settings {\n";
  for (const RegionCode& region : parts.regions)
    for (const Setting& setting : region.settings)
      out += format("extern stitch::Setting {};\n", setting.variable);
  return out + "}  // namespace settings\n";
}

std::string region_header(const ProgramParts& parts) {
  std::string out =
      "// What the scaffold calls, region by region. Shapes are the program's own: it is built for "
      "these.\n#pragma once\n\n";
  out +=
      "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n\n#include <cstdint>\n\n#include "
      "\"stitch/runtime/errors.h\"\n";
  if (parts.uses("cublasLt")) out += "#include \"stitch/runtime/cublaslt.h\"\n";
  if (parts.uses("cudnn")) out += "#include \"stitch/runtime/cudnn.h\"\n";
  std::set<std::string> includes;
  for (const RegionCode& region : parts.regions)
    if (!region.members.empty() || !region.packed.empty())
      for (const std::string& line : split(region.includes, '\n'))
        if (!line.empty()) includes.insert(line);
  for (const std::string& line : includes) out += line + "\n";
  for (const RegionCode& region : parts.regions) out += "\n" + region.declaration + "\n";
  return out;
}

}  // namespace stitch::code
