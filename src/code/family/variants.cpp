#include "code/family/variants.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include "base/text.h"
#include "plan/technique.h"

namespace stitch::code {

namespace {

bool is_open(const plan::Variant& variant) { return variant.most == std::numeric_limits<int64_t>::max(); }

// "batch * length" as C: in 64 bits, since a product may be large.
std::string in_code(const std::string& measure) {
  std::string out;
  for (size_t i = 0; i < measure.size();) {
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    size_t end = i;
    while (end < measure.size() && is_word(measure[end])) ++end;
    if (end == i) {
      out += measure[i++];
      continue;
    }
    const std::string word = measure.substr(i, end - i);
    out += parse_integer(word) ? word : format("int64_t{{sizes.{}}}", word);
    i = end;
  }
  return out.find(' ') == std::string::npos && out.starts_with("int64_t{") ? "sizes." + measure : out;
}

std::string condition(const plan::Variant& variant) {
  const std::string size = in_code(variant.measure);
  if (is_open(variant)) return format("{} >= {}", size, variant.least);
  const std::string below = format("{} <= {}", size, variant.most);
  return variant.least == 0 ? below : format("{} >= {} && {}", size, variant.least, below);
}

// What a statement or a number of a function with sizes becomes.
Result<std::string> unified_in_function(const SizeTable& table, std::vector<std::string> bodies) {
  for (std::string& body : bodies) body = "int enqueue_pass(cudaStream_t stream) {\n" + body + "\n}\n";
  STITCH_TRY(const std::string all, unify(table, bodies));
  const size_t begin = all.find("{\n") + 2;
  return all.substr(begin, all.rfind("\n}\n") - begin);
}

struct Parameter {
  std::string argument;  // what is passed for it
  std::string text;      // as declared: "const float* x"
  std::string name;
};

// Of enqueue_NAME, but sizes and the stream. Shapes are comments behind them.
std::vector<Parameter> parameters_of(const RegionCode& code, const std::string& name) {
  const std::string head = "enqueue_" + name + "(";
  const size_t begin = code.declaration.find(head) + head.size();
  std::vector<Parameter> out;
  std::string text;
  int depth = 0;
  for (size_t i = begin; i < code.declaration.size() && depth >= 0; ++i) {
    const char c = code.declaration[i];
    if (code.declaration.compare(i, 2, "//") == 0) {
      i = std::min(code.declaration.find('\n', i), code.declaration.size());
      continue;
    }
    if (c == '(' || c == '<') ++depth;
    if (c == ')' || c == '>') --depth;
    if ((c == ',' && depth == 0) || depth < 0) {
      out.push_back({{}, trim(text), {}});
      text.clear();
      continue;
    }
    text += c;
  }
  out.pop_back();  // the stream
  if (!out.empty() && out.back().text.ends_with("Sizes& sizes")) out.pop_back();
  if (out.size() != code.arguments.size()) throw Bug("a region's function takes other arguments: " + name);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].argument = code.arguments[i];
    out[i].name = out[i].text.substr(out[i].text.find_last_of(" *&") + 1);
  }
  return out;
}

// Functions of both may call the same thing by two names, and two things by one.
class Parameters {
 public:
  std::string name_for(const Parameter& wanted) {
    for (const Parameter& each : all_)
      if (each.argument == wanted.argument && type_of(each) == type_of(wanted)) return each.name;
    Parameter own = wanted;
    for (int number = 2; std::ranges::count(all_, own.name, &Parameter::name) > 0; ++number)
      own.name = format("{}_{}", wanted.name, number);
    own.text = type_of(wanted) + own.name;
    all_.push_back(own);
    return own.name;
  }
  const std::vector<Parameter>& all() const { return all_; }

 private:
  static std::string type_of(const Parameter& of) {
    return of.text.substr(0, of.text.size() - of.name.size());
  }
  std::vector<Parameter> all_;
};

void add_lines(std::string& to, const std::string& more) {
  for (const std::string& line : split(more, '\n'))
    if (!line.empty() && to.find(line + "\n") == std::string::npos) to += line + "\n";
}

// Members are made where their code runs.
void create_where(RegionCode& code, const std::string& where) {
  std::string all;
  for (Member& member : code.members) {
    for (const std::string& line : split(member.create, '\n'))
      if (!line.empty()) all += "  " + line + "\n";
    member.create.clear();
  }
  if (!all.empty()) code.members.back().create = format("if ({}) {{\n{}}}", where, all);
}

template <class Of>
void append(std::vector<Of>& to, const std::vector<Of>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

std::string name_of(const std::string& region, const plan::Variant& variant) {
  if (variant.least == 0) return format("{}_up_to_{}", region, variant.most);
  if (is_open(variant)) return format("{}_from_{}", region, variant.least);
  return format("{}_{}_to_{}", region, variant.least, variant.most);
}

Result<RegionCode> unified(const SizeTable& table, const std::vector<RegionCode>& codes) {
  RegionCode out = codes[0];
  auto differs = [](const std::string& what) { return user_error("sizes", what + " depends on the sizes"); };
  if (!out.prepared.empty()) return differs("what is prepared for the region");
  auto texts = [&](auto of) {
    std::vector<std::string> all;
    for (const RegionCode& each : codes) all.push_back(of(each));
    return all;
  };
  // What the program holds of the region is made before a run has sizes.
  auto held = [](const RegionCode& code) {
    std::vector<std::pair<std::string, std::string>> out = {
        {"a header", code.includes},
        {"an argument", join(code.arguments, ", ")},
        {"a library", join(code.libraries, " ")},
        {"scratch memory", code.workspace_bytes > 0 ? "some" : "none"}};
    for (const Member& member : code.members)
      out.emplace_back("a member", format("{} {}", member.type, member.name));
    for (const Packed& packed : code.packed)
      out.emplace_back("packed memory", format("{} {} {} {} {}", packed.type, packed.name, packed.elements,
                                               packed.fill ? packed.fill->function : "",
                                               packed.fill ? join(packed.fill->arguments, ", ") : ""));
    for (const Setting& setting : code.settings)
      out.emplace_back("a setting",
                       format("{} {} {}", setting.variable, setting.value, join(setting.values, ",")));
    return out;
  };
  const auto first = held(codes[0]);
  for (const RegionCode& code : codes) {
    const auto other = held(code);
    if (other.size() != first.size()) return differs("how much the program holds of the region");
    for (size_t i = 0; i < first.size(); ++i)
      if (first[i] != other[i])
        return differs(format("{}, `{}` or `{}`,", first[i].first, first[i].second, other[i].second));
  }
  STITCH_TRY(out.declaration, unify(table, texts([](const RegionCode& code) { return code.declaration; })));
  STITCH_TRY(out.source, unify(table, texts([](const RegionCode& code) { return code.source; })));
  for (size_t m = 0; m < out.members.size(); ++m) {
    STITCH_TRY(
        out.members[m].create,
        unified_in_function(table, texts([&](const RegionCode& code) { return code.members[m].create; })));
  }
  STITCH_TRY(const std::string bytes, unified_in_function(table, texts([](const RegionCode& code) {
                                                            return format("return {};", code.workspace_bytes);
                                                          })));
  const std::string_view head = "return ";
  out.workspace_elsewhere = bytes.substr(head.size(), bytes.size() - head.size() - 1);
  return out;
}

RegionCode with_variants(const std::string& name, RegionCode own, const std::vector<VariantCode>& others) {
  Parameters parameters;
  auto call = [&](const RegionCode& code, const std::string& of) {
    std::string out = format("return enqueue_{}(", of);
    for (const Parameter& each : parameters_of(code, of)) out += parameters.name_for(each) + ", ";
    return out + "stream);";
  };
  std::vector<std::string> nowhere_else;
  std::string body, bytes;
  const std::string otherwise = call(own, name_otherwise(name));
  for (const VariantCode& each : others) {
    const std::string where = condition(each.variant);
    body +=
        format("  if ({}) {}  // {}\n", where, call(each.code, each.name), each.variant.technique->name());
    bytes += format("{} ? {} : ", where, each.code.workspace_elsewhere);
    nowhere_else.push_back(format("!({})", where));
  }
  RegionCode out = std::move(own);
  create_where(out, join(nowhere_else, " && "));
  const bool has_workspace =
      out.workspace_bytes > 0 ||
      std::ranges::any_of(others, [](const VariantCode& each) { return each.code.workspace_bytes > 0; });
  if (has_workspace) out.workspace_elsewhere = bytes;
  for (const VariantCode& each : others) {
    RegionCode code = each.code;
    create_where(code, condition(each.variant));
    add_lines(out.includes, code.includes);
    out.declaration += code.declaration;
    out.source += "\n" + code.source;
    append(out.members, code.members);
    append(out.packed, code.packed);
    append(out.settings, code.settings);
    for (const std::string& library : code.libraries)
      if (std::ranges::count(out.libraries, library) == 0) out.libraries.push_back(library);
    out.waits = out.waits && code.waits;
    out.kernels = std::max(out.kernels, code.kernels);
  }
  std::string head = format("StitchStatus enqueue_{}(", name);
  out.arguments.clear();
  for (const Parameter& each : parameters.all()) {
    head += each.text + ", ";
    out.arguments.push_back(each.argument);
  }
  head += "cudaStream_t stream)";
  out.declaration += head + ";\n";
  out.source += format("\n// By the sizes of a call.\n{} {{\n{}  {}\n}}\n", head, body, otherwise);
  return out;
}

}  // namespace stitch::code
