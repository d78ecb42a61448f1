// Every way of multiplying, on odd sizes.
#include "code/products/emulated/cases.h"

namespace stitch::code {
namespace {

// A product said once, for several techniques.
struct Form {
  const char* name;
  const char* graph;
};
const Form forms[] = {
    {"linear_bias",
     "input %x : f32[33,70]\nparameter %w : f32[50,70]\nparameter %b : f32[50]\n"
     "%y = linear(%x, %w, %b) : f32[33,50]\noutput %y\n"},
    {"linear_vector",
     "input %x : f32[7]\nparameter %w : f32[5,7]\n%y = linear(%x, %w) : f32[5]\noutput %y\n"},
    {"linear_relu",
     "input %x : f32[2,9,31]\nparameter %w : f32[40,31]\nparameter %b : f32[40]\n"
     "%y = linear(%x, %w, %b) : f32[2,9,40]\n%z = relu(%y) : f32[2,9,40]\noutput %z\n"},
    {"linear_gelu_tanh",
     "input %x : f32[18,32]\nparameter %w : f32[24,32]\nparameter %b : f32[24]\n"
     "%y = linear(%x, %w, %b) : f32[18,24]\n%z = gelu(%y) approximate=\"tanh\" : f32[18,24]\noutput %z\n"},
    {"linear_mish",
     "input %x : f32[5,20]\nparameter %w : f32[24,20]\n%y = linear(%x, %w) : f32[5,24]\n"
     "%z = mish(%y) : f32[5,24]\noutput %z\n"},
    {"linear_silu_residual",
     "input %x : f32[5,20]\ninput %r : f32[1,24]\nparameter %w : f32[24,20]\nparameter %b : f32[24]\n"
     "%y = linear(%x, %w, %b) : f32[5,24]\n%s = sigmoid(%y) : f32[5,24]\n%m = mul(%y, %s) : f32[5,24]\n"
     "%z = add(%m, %r) : f32[5,24]\noutput %z\n"},
    {"linear_heads",
     "input %x : f32[2,5,16]\nparameter %w : f32[24,16]\nparameter %b : f32[24]\n%y = linear(%x, %w, %b) : "
     "f32[2,5,24]\n"
     "%h = reshape(%y) shape=[2,5,4,6] : f32[2,5,4,6]\n%p = permute(%h) dims=[0,2,1,3] : "
     "f32[2,4,5,6]\noutput %p\n"},
    {"matmul_square",
     "input %a : f32[65,40]\ninput %b : f32[40,70]\n%y = matmul(%a, %b) : f32[65,70]\noutput %y\n"},
    {"matmul_batched",
     "input %a : f32[3,17,20]\ninput %b : f32[3,20,18]\n%y = matmul(%a, %b) : f32[3,17,18]\noutput %y\n"},
    {"matmul_broadcast",
     "input %a : f32[3,1,4,6]\ninput %b : f32[2,6,5]\n%y = matmul(%a, %b) : f32[3,2,4,5]\noutput %y\n"},
    {"matmul_one_right",
     "input %a : f32[3,4,6]\ninput %b : f32[6,5]\n%y = matmul(%a, %b) : f32[3,4,5]\noutput %y\n"},
    {"matmul_one_left",
     "input %a : f32[4,6]\ninput %b : f32[3,6,5]\n%y = matmul(%a, %b) : f32[3,4,5]\noutput %y\n"},
    {"matmul_vector",
     "input %a : f32[1,300]\ninput %b : f32[300,1]\n%y = matmul(%a, %b) : f32[1,1]\noutput %y\n"},
    {"matmul_transposed",
     "input %a : f32[20,33]\ninput %b : f32[18,20]\n%t = permute(%a) dims=[1,0] : f32[33,20]\n"
     "%u = permute(%b) dims=[1,0] : f32[20,18]\n%y = matmul(%t, %u) : f32[33,18]\n"
     "%z = permute(%y) dims=[1,0] : f32[18,33]\noutput %z\n"},
    {"matmul_heads",
     "input %x : f32[2,5,24]\n%q = slice(%x) dim=2 start=0 end=12 : f32[2,5,12]\n"
     "%k = slice(%x) dim=2 start=12 end=24 : f32[2,5,12]\n%s = reshape(%q) shape=[2,5,3,4] : f32[2,5,3,4]\n"
     "%t = reshape(%k) shape=[2,5,3,4] : f32[2,5,3,4]\n%u = permute(%s) dims=[0,2,1,3] : f32[2,3,5,4]\n"
     "%v = permute(%t) dims=[0,2,3,1] : f32[2,3,4,5]\n%y = matmul(%u, %v) : f32[2,3,5,5]\n"
     "%c = full() shape=[] dtype=f32 value=0.5 : f32[]\n%z = mul(%y, %c) : f32[2,3,5,5]\noutput %z\n"},
    {"matmul_sliced",
     "input %a : f32[9,30]\ninput %b : f32[12,11]\n%s = slice(%a) dim=1 start=3 end=15 : f32[9,12]\n"
     "%y = matmul(%s, %b) : f32[9,11]\noutput %y\n"},
    {"matmul_scaled",
     "input %a : f32[6,8]\ninput %b : f32[8,7]\n%y = matmul(%a, %b) : f32[6,7]\n"
     "%c = full() shape=[] dtype=f32 value=0.25 : f32[]\n%z = mul(%y, %c) : f32[6,7]\noutput %z\n"},
    {"einsum_matmul",
     "input %a : f32[2,5,7]\ninput %b : f32[2,7,6]\n%y = einsum(%a, %b) equation=\"bij,bjk->bki\" : "
     "f32[2,6,5]\n"
     "output %y\n"},
    {"einsum_heads",
     "input %a : f32[2,5,3,7]\ninput %b : f32[2,6,3,7]\n"
     "%y = einsum(%a, %b) equation=\"bqhd,bkhd->bhqk\" : f32[2,3,5,6]\noutput %y\n"},
    {"einsum_heads_added",
     "input %a : f32[2,3,5,6]\ninput %b : f32[2,6,3,7]\ninput %c : f32[2,5,3,7]\n"
     "%y = einsum(%a, %b) equation=\"bhqk,bkhd->bqhd\" : f32[2,5,3,7]\n"
     "%z = add(%y, %c) : f32[2,5,3,7]\noutput %z\n"},
    {"einsum_chunks",
     "input %a : f32[5,2,4,3,7]\ninput %b : f32[5,3,3,6,7]\n%s = slice(%b) dim=1 start=0 end=2 : "
     "f32[5,2,3,6,7]\n"
     "%y = einsum(%a, %s) equation=\"bclhn,bchpn->bclhp\" : f32[5,2,4,3,6]\noutput %y\n"},
    {"einsum_outer",
     "input %a : f32[4]\ninput %b : f32[6]\n%y = einsum(%a, %b) equation=\"i,j->ij\" : f32[4,6]\noutput "
     "%y\n"},
};
// Deep enough for several chunks, the last of which isn't full.
const Form deep_forms[] = {
    {"linear_bias",
     "input %x : f32[33,170]\nparameter %w : f32[50,170]\nparameter %b : f32[50]\n"
     "%y = linear(%x, %w, %b) : f32[33,50]\noutput %y\n"},
    {"linear_relu",
     "input %x : f32[2,9,180]\nparameter %w : f32[40,180]\nparameter %b : f32[40]\n"
     "%y = linear(%x, %w, %b) : f32[2,9,40]\n%z = relu(%y) : f32[2,9,40]\noutput %z\n"},
    {"linear_silu_residual",
     "input %x : f32[5,161]\ninput %r : f32[1,24]\nparameter %w : f32[24,161]\nparameter %b : f32[24]\n"
     "%y = linear(%x, %w, %b) : f32[5,24]\n%s = sigmoid(%y) : f32[5,24]\n%m = mul(%y, %s) : f32[5,24]\n"
     "%z = add(%m, %r) : f32[5,24]\noutput %z\n"},
    {"batched",
     "input %a : f32[3,17,150]\ninput %b : f32[3,150,18]\n%y = matmul(%a, %b) : f32[3,17,18]\noutput %y\n"},
    {"transposed",
     "input %a : f32[155,33]\ninput %b : f32[18,155]\n%t = permute(%a) dims=[1,0] : f32[33,155]\n"
     "%u = permute(%b) dims=[1,0] : f32[155,18]\n%y = matmul(%t, %u) : f32[33,18]\n"
     "%z = permute(%y) dims=[1,0] : f32[18,33]\noutput %z\n"},
};
// At most 12 rows or columns, depth or side inside, one segment and several.
const Form thin_forms[] = {
    {"by_depth",
     "input %a : f32[13,5000]\ninput %b : f32[5000,1]\n%y = matmul(%a, %b) : f32[13,1]\noutput %y\n"},
    {"by_depth_odd",
     "input %a : f32[6,2303]\ninput %b : f32[2303,1]\n%y = matmul(%a, %b) : f32[6,1]\noutput %y\n"},
    {"by_depth_three",
     "input %x : f32[3,400]\nparameter %w : f32[50,400]\nparameter %b : f32[50]\n"
     "%y = linear(%x, %w, %b) : f32[3,50]\n%z = sigmoid(%y) : f32[3,50]\noutput %z\n"},
    {"by_depth_eight",
     "input %x : f32[4,2,301]\nparameter %w : f32[19,301]\n%y = linear(%x, %w) : f32[4,2,19]\noutput %y\n"},
    {"by_depth_twelve",
     "input %x : f32[12,301]\nparameter %w : f32[19,301]\n%y = linear(%x, %w) : f32[12,19]\noutput %y\n"},
    {"by_side_twelve",
     "input %a : f32[12,200]\ninput %b : f32[200,140]\n%y = matmul(%a, %b) : f32[12,140]\noutput %y\n"},
    {"by_side",
     "input %a : f32[2,900]\ninput %b : f32[900,140]\n%y = matmul(%a, %b) : f32[2,140]\noutput %y\n"},
    {"by_side_odd",
     "input %a : f32[1,131]\ninput %b : f32[131,37]\n%y = matmul(%a, %b) : f32[1,37]\n"
     "%z = relu(%y) : f32[1,37]\noutput %z\n"},
    {"batched",
     "input %a : f32[3,1,200]\ninput %b : f32[3,200,18]\n%y = matmul(%a, %b) : f32[3,1,18]\noutput %y\n"},
    {"one_element",
     "input %a : f32[1,300]\ninput %b : f32[300,1]\n%y = matmul(%a, %b) : f32[1,1]\noutput %y\n"},
};
// A constant factor is folded into the product: before a bias and an activation, and after a transposition.
const Form scaled_forms[] = {
    {"division",
     "input %a : f32[9,90]\ninput %b : f32[90,16]\nparameter %c : f32[16]\n%y = matmul(%a, %b) : f32[9,16]\n"
     "%d = full() shape=[] dtype=f32 value=3.0 : f32[]\n%z = div(%y, %d) : f32[9,16]\n"
     "%s = add(%z, %c) : f32[9,16]\n%r = relu(%s) : f32[9,16]\noutput %r\n"},
    {"twice",
     "input %a : f32[9,90]\ninput %b : f32[90,16]\n%y = matmul(%a, %b) : f32[9,16]\n"
     "%d = full() shape=[] dtype=f32 value=-0.3 : f32[]\n%z = mul(%d, %y) : f32[9,16]\n"
     "%t = permute(%z) dims=[1,0] : f32[16,9]\n%e = full() shape=[] dtype=f32 value=7.0 : f32[]\n"
     "%u = mul(%t, %e) : f32[16,9]\noutput %u\n"},
};
// What only the plain kernel takes.
const Form more_forms[] = {
    {"einsum_diagonal_sum",
     "input %a : f32[5,5,3]\n%y = einsum(%a) equation=\"iij->j\" : f32[3]\noutput %y\n"},
    {"einsum_four",
     "input %a : f32[2,3,4]\ninput %b : f32[4,5]\ninput %c : f32[2,5]\ninput %d : f32[3,6]\n"
     "%y = einsum(%a, %b, %c, %d) equation=\"bij,jk,bk,ip->pb\" : f32[6,2]\noutput %y\n"},
    {"einsum_one_side",
     "input %a : f32[4,5,6]\ninput %b : f32[5,3]\n%y = einsum(%a, %b) equation=\"ijk,jl->il\" : "
     "f32[4,3]\noutput %y\n"},
    {"einsum_hadamard",
     "input %a : f32[4,5]\ninput %b : f32[4,5]\n%y = einsum(%a, %b) equation=\"ij,ij->ij\" : "
     "f32[4,5]\noutput %y\n"},
    {"integers",
     "input %a : i64[17,30]\ninput %b : i64[30,18]\n%y = matmul(%a, %b) : i64[17,18]\noutput %y\n"},
    {"bytes", "input %a : u8[3,30]\ninput %b : u8[30,2]\n%y = matmul(%a, %b) : u8[3,2]\noutput %y\n"},
    {"no_depth", "input %a : f32[3,0]\ninput %b : f32[0,2]\n%y = matmul(%a, %b) : f32[3,2]\noutput %y\n"},
    {"no_rows", "input %a : f32[0,3]\ninput %b : f32[3,2]\n%y = matmul(%a, %b) : f32[0,2]\noutput %y\n"},
    {"doubles",
     "input %a : f64[17,30]\ninput %b : f64[30,18]\n%y = matmul(%a, %b) : f64[17,18]\noutput %y\n"},
};

// Tensors of 16 bits: a residual that the library adds, an epilogue in place, thin products.
std::vector<Case> half_matmul_cases() {
  std::vector<Case> all;
  for (std::string type : {"f16", "bf16"}) {
    auto typed = [&](std::string name, std::string technique, std::string graph) {
      for (size_t at = 0; (at = graph.find("TYPE", at)) != std::string::npos;) graph.replace(at, 4, type);
      all.push_back({.name = format("{}_{}", type, name),
                     .technique = std::move(technique),
                     .graph = std::move(graph),
                     .tolerance = type == "f16" ? 2e-3 : 1e-2});
    };
    const std::pair<const char*, const char*> epilogues[] = {
        {"residual", "%y = add(%r, %a) : TYPE[ROWS,72]\n"},
        {"gelu", "%y = gelu(%a) : TYPE[ROWS,72]\n"},
        {"gated", "%s = silu(%a) : TYPE[ROWS,72]\n%y = mul(%s, %r) : TYPE[ROWS,72]\n"},
        {"relu_of_sum", "%s = add(%a, %r) : TYPE[ROWS,72]\n%y = relu(%s) : TYPE[ROWS,72]\n"}};
    for (std::string rows : {"40", "3"})
      for (auto [name, after] : epilogues) {
        std::string graph =
            "input %x : TYPE[ROWS,136]\ninput %r : TYPE[ROWS,72]\nparameter %w : TYPE[72,136]\nparameter %b "
            ": "
            "TYPE[72]\n%a = linear(%x, %w, %b) : TYPE[ROWS,72]\n";
        graph += format("{}output %y\n", after);
        for (size_t at = 0; (at = graph.find("ROWS", at)) != std::string::npos;) graph.replace(at, 4, rows);
        typed(format("{}_{}", name, rows), rows == "3" ? "matmul.vector" : "matmul.cublaslt", graph);
      }
    typed("vector_by_side", "matmul.vector",
          "input %x : TYPE[2,200]\nparameter %w : TYPE[200,264]\n%y = matmul(%x, %w) : "
          "TYPE[2,264]\noutput %y\n");
    typed("vector_long", "matmul.vector",
          "input %x : TYPE[1,5000]\nparameter %w : TYPE[9,5000]\n%y = linear(%x, %w) : TYPE[1,9]\noutput "
          "%y\n");
  }
  return all;
}

// Operands rounded to ten bits: every form, magnitudes far from 1, operands stored in fp16.
std::vector<Case> scaled_half_cases() {
  std::vector<Case> all;
  const double ten_bits = 1e-3;
  auto add = [&](std::string name, std::string graph) -> Case& {
    return all.emplace_back(Case{.name = "scaled_" + std::move(name),
                                 .technique = "matmul.scaled_half",
                                 .graph = std::move(graph),
                                 .numerics = Numerics::tf32,
                                 .tolerance = ten_bits});
  };
  const std::set<std::string> tried = {"linear_bias",        "linear_vector",  "linear_relu",
                                       "linear_heads",       "matmul_batched", "matmul_broadcast",
                                       "matmul_vector",      "matmul_heads",   "matmul_transposed",
                                       "einsum_heads_added", "einsum_outer"};
  for (const Form& form : forms)
    if (tried.contains(form.name)) add(form.name, form.graph);
  for (const Form& form : scaled_forms) add(format("factor_{}", form.name), form.graph);
  const std::string linear = forms[0].graph, square = forms[7].graph, batched = forms[8].graph;
  for (auto [graph, name] :
       {std::pair{linear, "linear"}, std::pair{square, "square"}, std::pair{batched, "batched"}})
    for (auto [scale, size] : {std::pair{1e4, "large"}, std::pair{1e-4, "small"}, std::pair{1e12, "huge"},
                               std::pair{1e-18, "tiny"}})
      add(format("{}_{}", name, size), graph).scale = scale;
  add("zeros", square).kept = 0;
  add("few", square).kept = 0.1;
  add("infinities", square).outlier = INFINITY;
  // The others are a millionth of the largest, and their products all there is in most of the result.
  add("outliers", linear).outlier = 1e6;
  add("blocks",
      "input %x : f32[1040,528]\nparameter %w : f32[8,528]\n%y = linear(%x, %w) : f32[1040,8]\noutput %y\n")
      .choices = {{"blocks", 264}};
  add("two_weights",
      "parameter %x : f32[40,36]\nparameter %w : f32[24,36]\n%y = linear(%x, %w) : f32[40,24]\noutput %y\n");

  const plan::Storage half{DType::f16, {}};
  const std::string stored_linear =
      "input %x : f32[3,11,80]\nparameter %w : f32[52,80]\nparameter %b : f32[52]\n"
      "%y = linear(%x, %w, %b) : f32[3,11,52]\n%z = gelu(%y) : f32[3,11,52]\noutput %z\n";
  add("stored", stored_linear).storage = {{"x", half}};
  add("stored_result", stored_linear).storage = {{"x", half}, {"z", half}};
  add("converted_result", stored_linear).storage = {{"z", half}};
  add("converted_odd", linear).storage = {{"y", half}};
  add("stored_small", stored_linear).storage = {{"x", half}};
  all.back().scale = 0.01;
  add("stored_plain",
      "input %x : f32[33,80]\nparameter %w : f32[56,80]\n%y = linear(%x, %w) : f32[33,56]\noutput %y\n")
      .storage = {{"x", half}, {"y", half}};
  add("stored_factor",
      "input %a : f32[9,96]\nparameter %b : f32[96,16]\n%y = matmul(%a, %b) : f32[9,16]\n"
      "%d = full() shape=[] dtype=f32 value=-0.3 : f32[]\n%z = mul(%y, %d) : f32[9,16]\noutput %z\n")
      .storage = {{"a", half}};
  add("stored_both",
      "input %a : f32[3,17,24]\ninput %b : f32[3,24,16]\n%y = matmul(%a, %b) : f32[3,17,16]\n"
      "%d = full() shape=[] dtype=f32 value=3.0 : f32[]\n%z = div(%y, %d) : f32[3,17,16]\noutput %z\n")
      .storage = {{"a", half}, {"b", half}};
  add("stored_heads",
      "input %a : f32[2,3,32,8]\ninput %b : f32[2,3,48,8]\n"
      "%y = einsum(%a, %b) equation=\"bhqd,bhkd->bhqk\" : f32[2,3,32,48]\noutput %y\n")
      .storage = {{"a", half}, {"b", half}};
  return all;
}

std::vector<Case> matmul_cases() {
  std::vector<Case> all;
  for (auto [technique, name] : {std::pair{"matmul.plain", "plain"}, std::pair{"matmul.cublaslt", "lt"},
                                 std::pair{"matmul.split_half", "split"}})
    for (const Form& form : forms) all.push_back({format("{}_{}", name, form.name), technique, form.graph});
  for (const Form& form : scaled_forms) {
    all.push_back({format("lt_scaled_{}", form.name), "matmul.cublaslt", form.graph});
    all.push_back({.name = format("split_scaled_{}", form.name),
                   .technique = "matmul.split_half",
                   .graph = form.graph,
                   .choices = {{"chunks", 2}, {"side_by_side", 0}},
                   .tolerance = 2e-6});
  }
  for (const Form& form : thin_forms)
    all.push_back({format("vector_{}", form.name), "matmul.vector", form.graph});
  // One pass over the rows and two, rows and columns past the last tile.
  const Form thin_forms[] = {
      {"one_pass",
       "input %x : f32[16,300]\nparameter %w : f32[70,300]\nparameter %b : f32[70]\n"
       "%a = linear(%x, %w, %b) : f32[16,70]\n%y = relu(%a) : f32[16,70]\noutput %y\n"},
      {"two_passes",
       "input %x : f32[3,11,128]\nparameter %w : f32[65,128]\n%y = linear(%x, %w) : f32[3,11,65]\n"
       "output %y\n"}};
  for (const Form& form : thin_forms)
    all.push_back({.name = format("thin_{}", form.name),
                   .technique = "matmul.thin",
                   .graph = form.graph,
                   .numerics = Numerics::strict,
                   .tolerance = 2e-6});
  all.push_back({.name = "thin_infinities",
                 .technique = "matmul.thin",
                 .graph =
                     "input %x : f32[16,128]\nparameter %w : f32[64,128]\n%y = linear(%x, %w) : f32[16,64]\n"
                     "output %y\n",
                 .outlier = INFINITY});
  const Form outer_forms[] = {
      {"linear",
       "input %x : f32[33,1]\nparameter %w : f32[70,1]\nparameter %b : f32[70]\n"
       "%a = linear(%x, %w, %b) : f32[33,70]\n%y = elu(%a) : f32[33,70]\noutput %y\n"},
      {"batched",
       "input %a : f32[5,7,1]\ninput %b : f32[5,1,9]\n%y = matmul(%a, %b) : f32[5,7,9]\noutput %y\n"},
      {"strided",
       "input %a : f32[20,1]{1,20}\ninput %b : f32[1,18]\n%y = matmul(%a, %b) : f32[20,18]\noutput %y\n"}};
  for (const Form& form : outer_forms)
    all.push_back({format("outer_{}", form.name), "matmul.outer", form.graph});
  for (const Form& form : more_forms)
    all.push_back({format("plain_{}", form.name), "matmul.plain", form.graph});

  plan::Storage half{DType::f16, {}}, brain{DType::bf16, {}};
  std::string linear = forms[0].graph, batched = forms[8].graph;
  all.push_back({.name = "plain_half_storage",
                 .technique = "matmul.plain",
                 .graph = linear,
                 .storage = {{"x", half}, {"y", half}},
                 .tolerance = 1e-3});
  all.push_back({.name = "plain_brain_storage",
                 .technique = "matmul.plain",
                 .graph = batched,
                 .storage = {{"a", brain}, {"b", brain}}});
  all.push_back({.name = "plain_strided_input",
                 .technique = "matmul.plain",
                 .graph =
                     "input %a : f32[20,30]{1,20}\ninput %b : f32[30,18]\n%y = matmul(%a, %b) : f32[20,18]\n"
                     "output %y\n"});
  all.push_back({.name = "lt_tf32",
                 .technique = "matmul.cublaslt",
                 .graph = linear,
                 .numerics = Numerics::tf32,
                 .tolerance = 2e-3});
  all.push_back({.name = "lt_half",
                 .technique = "matmul.cublaslt",
                 .graph = linear,
                 .numerics = Numerics::half,
                 .tolerance = 2e-3});
  all.push_back({.name = "lt_half_storage",
                 .technique = "matmul.cublaslt",
                 .graph = linear,
                 .numerics = Numerics::half,
                 .storage = {{"x", half}, {"y", half}},
                 .tolerance = 2e-3});
  all.push_back({.name = "lt_half_batched",
                 .technique = "matmul.cublaslt",
                 .graph = batched,
                 .numerics = Numerics::half,
                 .tolerance = 2e-3});
  all.push_back(
      {.name = "lt_half_graph",
       .technique = "matmul.cublaslt",
       .graph = "input %a : f16[9,16]\ninput %b : f16[16,8]\n%y = matmul(%a, %b) : f16[9,8]\noutput %y\n",
       .tolerance = 1e-3});

  // More packs than blocks have threads: they take several turns.
  all.push_back({.name = "split_few_blocks",
                 .technique = "matmul.split_half",
                 .graph = "input %x : f32[1040,528]\nparameter %w : f32[8,528]\n"
                          "%y = linear(%x, %w) : f32[1040,8]\noutput %y\n",
                 .choices = {{"blocks", 264}}});
  // What is made of constants alone is made once: encoded positions times a weight.
  all.push_back({.name = "split_two_weights",
                 .technique = "matmul.split_half",
                 .graph = "parameter %x : f32[40,36]\nparameter %w : f32[24,36]\n"
                          "%y = linear(%x, %w) : f32[40,24]\noutput %y\n"});
  // Split products: every form, magnitudes far from 1, rows that differ much.
  std::string square = forms[7].graph;
  for (int64_t form : {1, 2, 3})
    for (auto [graph, name] :
         {std::pair{linear, "linear"}, std::pair{square, "square"}, std::pair{batched, "batched"}})
      for (auto [scale, size] : {std::pair{1e4, "large"}, std::pair{1e-4, "small"}, std::pair{1e12, "huge"}})
        all.push_back({.name = format("split{}_{}_{}", form, name, size),
                       .technique = "matmul.split_half",
                       .graph = graph,
                       .choices = {{"form", form}},
                       .tolerance = 2e-6,
                       .scale = scale});
  all.push_back({.name = "split1_infinities",
                 .technique = "matmul.split_half",
                 .graph = "input %a : f32[20,60]\ninput %b : f32[60,24]\n%y = matmul(%a, %b) : f32[20,24]\n"
                          "output %y\n",
                 .choices = {{"form", 1}},
                 .tolerance = 2e-6,
                 .outlier = INFINITY});
  // Chunks of the depth, accumulated or batched, the library's epilogue in the last one only.
  for (int64_t split : {1, 2, 3})
    for (int64_t side_by_side : {0, 1})
      for (const Form& form : deep_forms)
        all.push_back({.name = format("split{}_{}_{}", split, side_by_side ? "batch" : "chunks", form.name),
                       .technique = "matmul.split_half",
                       .graph = form.graph,
                       .choices = {{"form", split}, {"chunks", 3}, {"side_by_side", side_by_side}},
                       .tolerance = 2e-6});
  // Nothing of a multiple of 16 bytes: sides stored either way are filled up, and so is the result.
  for (auto [graph, name] :
       {std::pair{"input %a : f32[21,83]\ninput %b : f32[83,13]\n%y = matmul(%a, %b) : f32[21,13]\n"
                  "output %y\n",
                  "right"},
        std::pair{"input %a : f32[83,21]\ninput %b : f32[83,12]\n"
                  "%y = einsum(%a, %b) equation=\"ki,kj->ij\" : f32[21,12]\noutput %y\n",
                  "both"},
        std::pair{"input %x : f32[3,7,83]\nparameter %w : f32[13,83]\nparameter %b : f32[13]\n"
                  "%y = linear(%x, %w, %b) : f32[3,7,13]\n%z = relu(%y) : f32[3,7,13]\noutput %z\n",
                  "linear"},
        std::pair{"input %a : f32[3,83,5]\ninput %b : f32[3,83,13]\n"
                  "%y = einsum(%a, %b) equation=\"nki,nkj->nij\" : f32[3,5,13]\noutput %y\n",
                  "batches"}})
    for (int64_t form : {1, 2, 3})
      all.push_back({.name = format("split{}_odd_{}", form, name),
                     .technique = "matmul.split_half",
                     .graph = graph,
                     .choices = {{"form", form}, {"chunks", form == 2 ? 1 : 3}},
                     .tolerance = 2e-6});
  all.push_back({.name = "split_deep",
                 .technique = "matmul.split_half",
                 .graph =
                     "input %a : f32[20,3000]\ninput %b : f32[3000,24]\n%y = matmul(%a, %b) : f32[20,24]\n"
                     "output %y\n",
                 .tolerance = 2e-6});
  all.push_back(
      {.name = "split_quads",
       .technique = "matmul.split_half",
       .graph = "input %a : f32[20,32]\ninput %b : f32[32,24]\n%y = matmul(%a, %b) : f32[20,24]\noutput %y\n",
       .tolerance = 2e-6});
  return all;
}

// Tiles that are not full, sums in one tile and in several, folded, of any strides.
std::vector<Case> tensor_core_cases() {
  std::vector<Case> all;
  auto add = [&](std::string name, const char* graph, std::map<std::string, int64_t> choices = {}) {
    all.push_back({.name = "core_" + std::move(name),
                   .technique = "matmul.tensor_core",
                   .graph = graph,
                   .choices = std::move(choices),
                   .tolerance = 2e-6});
  };
  const std::set<std::string> tried = {"linear_bias",       "linear_heads",       "matmul_batched",
                                       "matmul_transposed", "einsum_heads_added", "einsum_chunks",
                                       "einsum_outer"};
  for (const Form& form : forms)
    if (tried.contains(form.name)) add(form.name, form.graph);
  add("deep_residual", deep_forms[2].graph);
  add("deep_transposed", deep_forms[4].graph, {{"stages", 2}});
  add("folded",
      "input %a : f32[20,600]\ninput %b : f32[600,24]\n%y = matmul(%a, %b) : f32[20,24]\noutput %y\n",
      {{"row_tiles", 2}, {"column_tiles", 3}});
  // Sums of infinities are infinite or NaN, as IEEE has it.
  const char* infinite =
      "input %a : f32[20,60]\ninput %b : f32[60,24]\n%y = matmul(%a, %b) : f32[20,24]\noutput %y\n";
  add("infinities", infinite);
  all.back().outlier = INFINITY;

  // Long sums: segments, the last shorter; sides either way; numbers that outgrow a block's first scale.
  auto add_long = [&](const char* name, const char* graph, double outlier = 0) {
    all.push_back({.name = format("long_{}", name),
                   .technique = "matmul.long",
                   .graph = graph,
                   .choices = {{"segments", 2}},
                   .tolerance = 2e-6,
                   .outlier = outlier});
  };
  const char* by_side =
      "input %a : f32[20,260]\ninput %b : f32[260,12]\n%y = matmul(%a, %b) : f32[20,12]\noutput %y\n";
  add_long("by_side", by_side);
  add_long("outliers",
           "input %x : f32[9,259]\ninput %w : f32[10,259]\nparameter %b : f32[10]\n"
           "%y = linear(%x, %w, %b) : f32[9,10]\n%z = relu(%y) : f32[9,10]\noutput %z\n",
           1e7);
  add_long("infinities", by_side, INFINITY);

  // fp16 and int8: depth inside and outside, batches, chunks of the depth, numbers that int8 is too coarse
  // for.
  const Form int8_forms[] = {
      {"linear",
       "input %x : f32[2,16,170]\nparameter %w : f32[48,170]\nparameter %b : f32[48]\n"
       "%y = linear(%x, %w, %b) : f32[2,16,48]\n%z = relu(%y) : f32[2,16,48]\noutput %z\n"},
      {"square",
       "input %a : f32[48,300]\ninput %b : f32[300,32]\n%y = matmul(%a, %b) : f32[48,32]\noutput %y\n"},
      {"batched",
       "input %a : f32[3,16,152]\ninput %b : f32[3,152,16]\n%y = matmul(%a, %b) : f32[3,16,16]\n"
       "output %y\n"},
      {"transposed",
       "input %a : f32[160,32]\ninput %b : f32[16,160]\n%t = permute(%a) dims=[1,0] : f32[32,160]\n"
       "%u = permute(%b) dims=[1,0] : f32[160,16]\n%y = matmul(%t, %u) : f32[32,16]\n"
       "%z = permute(%y) dims=[1,0] : f32[16,32]\noutput %z\n"}};
  auto add_int8 = [&](const Form& form, const char* kind, double outlier) {
    all.push_back({.name = format("int8_{}_{}", form.name, kind),
                   .technique = "matmul.split_int8",
                   .graph = form.graph,
                   .choices = {{"longest_sum", 128}},
                   .tolerance = 6e-6,
                   .outlier = outlier});
  };
  for (const Form& form : int8_forms) add_int8(form, "even", 0);
  for (double shift : {1.0, 300.0}) {
    add_int8(int8_forms[shift > 1], shift > 1 ? "far" : "shifted", 0);
    all.back().shift = shift;
  }
  // Mostly zeros, also after the mean is subtracted: they stay exact.
  for (const Form& form : {int8_forms[0], int8_forms[1]}) {
    add_int8(form, "sparse", 0);
    all.back().tolerance = 2.5e-6;
    all.back().shift = 3;
    all.back().kept = 0.1;
  }
  add_int8(int8_forms[0], "outliers", 100);
  add_int8(int8_forms[0], "infinities", INFINITY);
  add_int8(int8_forms[1], "outliers", 100);
  return all;
}

PRODUCT_CASES(ScaledHalf, scaled_half_cases());
PRODUCT_CASES(Matmul, matmul_cases());
PRODUCT_CASES(TensorCoreMatmul, tensor_core_cases());
PRODUCT_CASES(HalfMatmul, half_matmul_cases());

}  // namespace
}  // namespace stitch::code
