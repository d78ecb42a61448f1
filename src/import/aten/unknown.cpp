// What has no meaning here is refused by name, with what to write instead.
#include "base/text.h"
#include "import/aten/table.h"

namespace stitch {

namespace {

struct Advice {
  const char *beginning, *instead;
};

constexpr const char* decompositions =
    "compute it once, when the model is constructed; or use inv, solve, cholesky, qr or slogdet";
constexpr const char* fixed_size = "its size depends on data: keep the full shape and mask with torch.where";
constexpr const char* no_vmap = "write the batch dimension out instead of torch.vmap or torch.func";

constexpr Advice advice[] = {
    {"aten.linalg_svd", decompositions},
    {"aten.linalg_eig", decompositions},
    {"aten._linalg_eigh", decompositions},
    {"aten._linalg_svd", decompositions},
    {"aten.svd", decompositions},
    {"aten.linalg_lstsq", "solve the normal equations with torch.linalg.solve, or use torch.linalg.qr"},
    {"aten.linalg_pinv", "for full rank: torch.linalg.solve(x.mT @ x, x.mT)"},
    {"aten.pinverse", "for full rank: torch.linalg.solve(x.mT @ x, x.mT)"},
    {"aten.linalg_matrix_rank", decompositions},
    {"aten.linalg_ldl", "use torch.linalg.cholesky or torch.linalg.solve"},
    {"aten.linalg_householder_product", "use torch.linalg.qr, which returns Q itself"},
    {"aten.geqrf", "use torch.linalg.qr"},
    {"aten.ormqr", "use torch.linalg.qr and a product"},
    {"aten.special_bessel", "tabulate it: torch.searchsorted and torch.lerp between samples"},
    {"aten.special_modified_bessel", "tabulate it: torch.searchsorted and torch.lerp between samples"},
    {"aten.special_scaled_modified_bessel", "tabulate it: torch.searchsorted and torch.lerp between samples"},
    {"aten.special_spherical_bessel", "write it as torch.sinc(x / torch.pi)"},
    {"aten.special_airy", "tabulate it: torch.searchsorted and torch.lerp between samples"},
    {"aten.special_zeta", "sum a fixed number of terms"},
    {"aten.polygamma", "only n = 0 (torch.digamma) is supported"},
    {"aten.special_polygamma", "only n = 0 (torch.digamma) is supported"},
    {"aten.special_ndtri", "torch.erfinv(2 * p - 1) * 2**0.5, where p is not tiny"},
    {"aten.special_log_ndtr", "torch.special.ndtr(x).log(), where x is above -10"},
    {"aten.i0", "tabulate it: torch.searchsorted and torch.lerp between samples"},
    {"aten.special_i", "tabulate it: torch.searchsorted and torch.lerp between samples"},
    {"aten.mode", "sort, and compare neighbours"},
    {"aten.gcd", "a fixed number of steps of Euclid's: a, b = b, a % b, kept with torch.where"},
    {"aten.lcm", "a fixed number of steps of Euclid's: a, b = b, a % b, kept with torch.where"},
    {"aten.resize", "make a new tensor with torch.zeros, reshape or torch.nn.functional.pad"},
    {"aten.set_", "assign the new tensor instead"},
    {"aten.igamma", "sum a fixed number of terms of its series"},
    {"aten.special_gammainc", "sum a fixed number of terms of its series"},
    {"aten.unique", fixed_size},
    {"aten.poisson", "draw it outside of the model and pass it as an input"},
    {"aten.binomial", "sum torch.bernoulli over a fixed number of trials"},
    {"aten._standard_gamma", "draw it outside of the model and pass it as an input"},
    {"aten._sample_dirichlet", "draw it outside of the model and pass it as an input"},
    {"aten._ctc_loss", "call torch.nn.functional.ctc_loss"},
    {"aten.segment_reduce",
     "torch.zeros(…).index_add(0, segment, x), or scatter_reduce, with a segment for every row"},
    {"aten.quantize_per", "export the model before it is quantised; fake quantisation is supported"},
    {"aten.quantized", "export the model before it is quantised; fake quantisation is supported"},
    {"quantized.", "export the model before it is quantised; fake quantisation is supported"},
    {"quantized_decomposed.", "export the model before it is quantised; fake quantisation is supported"},
    {"torchao.", "export the model before it is quantised"},
    {"aten._to_sparse", "keep the tensor dense"},
    {"aten._sparse", "keep the tensor dense"},
    {"aten.sparse", "keep the tensor dense"},
    {"aten._nested", "pad to one length and mask"},
    {"torchvision.nms", "return boxes and scores, and suppress outside of the program"},
    {"torchvision.roi_pool", "use torchvision.ops.roi_align with a sampling_ratio"},
    {"torchvision.ps_roi", "use torchvision.ops.roi_align with a sampling_ratio"},
    {"torch._functorch", no_vmap},
    {"higher_order.flex_attention",
     "use scaled_dot_product_attention, with a mask or a bias that torch.where and torch.arange make"},
    {"higher_order.cond", "compute both branches and choose with torch.where"},
    {"higher_order.while_loop", "run a fixed number of steps and keep results with torch.where"},
    {"higher_order.map", "write the loop in Python, or use a batch dimension"},
    {"higher_order.scan", "write the loop in Python, with a fixed number of steps"},
    {"higher_order.associative_scan", "use torch.cumsum or torch.cumprod, or a loop in Python"},
    {"higher_order.", "call what it wraps directly in forward"},
};

}  // namespace

void refuse_unknown(const AtenNode& node) {
  const std::string& op = node.op;
  std::string instead = "write this line with other operators, or file an issue that names it";
  for (const Advice& each : advice)
    if (op.starts_with(each.beginning)) {
      instead = each.instead;
      break;
    }
  for (const char* flow : {"cond", "while_loop", "map", "scan", "associative_scan"})
    if (op == format("higher_order.{}", flow))
      refuse(format("{} is control flow that depends on data, which a static graph can't hold", op), instead);
  size_t dot = op.find('.');
  if (!op.starts_with("aten.") && !op.starts_with("higher_order.") && !op.starts_with("torch") &&
      dot != std::string::npos)
    refuse(format("{} is an operator of the library '{}', whose meaning is not known", op, op.substr(0, dot)),
           instead.starts_with("write this") ? "write it with PyTorch's own operators" : instead);
  refuse(format("the operator {} is not supported yet", op), instead);
}

}  // namespace stitch
