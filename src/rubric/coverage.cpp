// Which of the task's operators the program computes itself. PyTorch's calls in the text take their operators
// away, the costliest first; what is left over is the program's own, if it has the means for it.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>

#include "rubric/evidence.h"

namespace stitch::rubric {

namespace {

// PyTorch's kernels by their names, those that only fill and copy left out.
bool is_pytorch_kernel(std::string_view name) {
  for (std::string_view part :
       {"FillFunctor", "direct_copy_kernel", "Memcpy", "Memset", "CatArrayBatchedCopy"})
    if (name.find(part) != std::string_view::npos) return false;
  for (std::string_view part : {"at::native", "at_cuda_detail", "vectorized_elementwise_kernel", "aten::",
                                "triton_poi_fused", "triton_red_fused", "triton_per_fused", "pytorch_flash"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}
bool is_library_kernel(std::string_view name) {
  for (std::string_view part : {"cublas", "gemm", "xmma", "cutlass", "nvjet", "splitK", "gemv", "cudnn",
                                "implicit_convolve", "fprop", "RNN_"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

// "twice" is at work in "void (anonymous namespace)::twice<float>(float*)", "kernel" not in
// "vectorized_elementwise_kernel": a whole word, and not one of PyTorch's own.
bool is_kernel_of(std::string_view run, std::string_view name) {
  if (name.empty() || is_pytorch_kernel(run)) return false;
  auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = run.find(name); at != run.npos; at = run.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !in_word(run[at - 1])) && (end == run.size() || !in_word(run[end]))) return true;
  }
  return false;
}

class Coverage {
 public:
  explicit Coverage(Evidence& evidence) : evidence_(evidence) {}

  void run() {
    const CodeFacts& code = evidence_.code;
    const bool means = code.kernels_at_work() > 0 || !code.libraries.empty();
    for (Operator& each : evidence_.operators) {
      each.covered = means;
      each.covered_by = means ? "own kernels" : "nothing of its own";
    }
    for (const Sign& sign : code.signs)
      if (sign.name == "calls_the_reference" || sign.name == "compiles_pytorch") take_all(sign.what);
    const bool whole = evidence_.run.native && evidence_.run.outcome == Outcome::passed;
    if (!whole) {
      for (const TorchCall& call : code.torch) take(call);
      check_means();
    }
    profile();
    sum_up();
  }

 private:
  void take_all(const std::string& why) {
    for (Operator& each : evidence_.operators) {
      each.covered = false;
      each.covered_by = why;
    }
  }

  void take(const TorchCall& call) {
    if (call.in_loop || call.every) {
      for (Operator& each : evidence_.operators)
        if (std::ranges::find(call.operators, each.op) != call.operators.end()) mark(each, call);
      return;
    }
    Operator* most = nullptr;
    for (Operator& each : evidence_.operators)
      if (each.covered && std::ranges::find(call.operators, each.op) != call.operators.end() &&
          (!most || each.seconds > most->seconds))
        most = &each;
    if (most) mark(*most, call);
  }
  static void mark(Operator& each, const TorchCall& call) {
    each.covered = false;
    each.covered_by = "PyTorch's " + call.name;
  }

  // A product needs a kernel that multiplies and adds, or a library's.
  void check_means() {
    const CodeFacts& code = evidence_.code;
    bool products = false, computes = false;
    for (const KernelFacts& kernel : code.kernels) {
      if (!kernel.at_work()) continue;
      // Generous: whatever loops and multiplies may be a product that the scan doesn't recognise.
      products |= kernel.work == Work::product || (kernel.work == Work::reduction && kernel.arithmetic >= 2);
      computes |= kernel.work >= Work::pointwise;
    }
    for (const LibraryCall& call : code.libraries) {
      products |= call.work == Work::product;
      computes = true;
    }
    for (Operator& each : evidence_.operators) {
      if (!each.covered) continue;
      const bool moves = each.op == "concat" || each.op == "pad" || each.op == "permute" ||
                         each.op == "gather" || each.op == "index" || each.op == "slice" ||
                         each.op == "flip" || each.op == "roll";
      if ((each.heavy && !products) || (!moves && !computes)) {
        each.covered = false;
        each.covered_by = "no kernel of its own could do it";
      }
    }
  }

  // What the text hides, the profile shows.
  void profile() {
    const Execution& run = evidence_.run;
    if (run.native || run.kernels.empty()) return;
    double total = 0, pytorch = 0;
    const bool own_libraries = !evidence_.code.libraries.empty();
    for (const KernelRun& each : run.kernels) {
      const bool own = std::ranges::any_of(evidence_.code.kernels, [&](const KernelFacts& kernel) {
        return is_kernel_of(each.name, kernel.name);
      });
      total += each.seconds;
      if (!own && (is_pytorch_kernel(each.name) || (is_library_kernel(each.name) && !own_libraries)))
        pytorch += each.seconds;
    }
    if (total <= 0) return;
    evidence_.pytorch_kernel_share = pytorch / total;
    measure_replaced();
    hidden_ = evidence_.code.torch.empty() && evidence_.pytorch_kernel_share > 0.05;
  }

  // Where PyTorch was profiled on the same GPU: what of its device time is still spent in the candidate, in
  // the same kernels or in others of PyTorch's.
  void measure_replaced() {
    const Execution& run = evidence_.run;
    double all = 0, left = 0;
    std::map<std::string, double> known;
    for (const KernelRun& each : run.pytorch) {
      known[each.name] += each.seconds;
      all += each.seconds;
    }
    if (all <= 0) return;
    for (const KernelRun& each : run.kernels) {
      const auto same = known.find(each.name);
      const bool own_library = is_library_kernel(each.name) && !evidence_.code.libraries.empty();
      if (same != known.end() && !own_library)
        left += std::min(each.seconds, same->second);
      else if (is_pytorch_kernel(each.name))
        left += each.seconds;
    }
    replaced_ = std::clamp(1 - left / all, 0.0, 1.0);
  }

  void sum_up() {
    double count = 0, covered = 0, seconds = 0, covered_seconds = 0;
    for (const Operator& each : evidence_.operators) {
      count += 1;
      seconds += each.seconds;
      if (!each.covered) continue;
      covered += 1;
      covered_seconds += each.seconds;
    }
    if (count == 0) {
      // Nothing is known of the task: what runs is all there is to go by.
      const CodeFacts& code = evidence_.code;
      const double own = code.kernels_at_work() + static_cast<double>(code.libraries.size());
      const double all = own + static_cast<double>(code.torch.size());
      evidence_.operator_share = evidence_.time_share = all > 0 ? own / all : 0;
    } else {
      evidence_.operator_share = covered / count;
      evidence_.time_share = seconds > 0 ? covered_seconds / seconds : evidence_.operator_share;
    }
    if (replaced_) {
      evidence_.time_share = *replaced_;
      evidence_.measured_times = true;
      if (hidden_) evidence_.operator_share = std::min(evidence_.operator_share, *replaced_);
    } else if (hidden_) {
      evidence_.time_share = std::min(evidence_.time_share, 1 - evidence_.pytorch_kernel_share);
      evidence_.operator_share = std::min(evidence_.operator_share, 1 - evidence_.pytorch_kernel_share);
    }
  }

  Evidence& evidence_;
  bool hidden_ = false;
  std::optional<double> replaced_;  // share of PyTorch's device time, by profiles of both
};

}  // namespace

void find_coverage(Evidence& evidence) { Coverage(evidence).run(); }

}  // namespace stitch::rubric
