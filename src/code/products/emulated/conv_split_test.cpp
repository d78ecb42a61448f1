// Few channels at FP32's accuracy on tensor cores, and transposed convolutions phase by phase.
#include <algorithm>

#include "code/products/emulated/conv_forms.h"

namespace stitch::code {
namespace {

std::vector<Case> split_half_cases() {
  std::vector<Case> all;
  for (const ConvForm& form : conv_forms)
    all.push_back({format("split_{}", form.name), "conv.split_half", form.graph});
  all.push_back({.name = "split_once",
                 .technique = "conv.split_half",
                 .graph = conv_forms[10].graph,
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .tolerance = 2e-3});
  all.push_back({.name = "split_half_storage",
                 .technique = "conv.split_half",
                 .graph = conv_forms[1].graph,
                 .storage = {{"x", half_last}, {"z", half_last}},
                 .tolerance = 1e-3});
  for (const ConvForm& form : halo_forms)
    if (&form != &halo_forms[1])  // implicit_slices has that
      all.push_back({.name = format("halo_{}", form.name),
                     .technique = "conv.split_half",
                     .graph = form.graph,
                     .tolerance = 2e-6});
  all.push_back({.name = "halo_once",
                 .technique = "conv.split_half",
                 .graph = halo_forms[0].graph,
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .tolerance = 2e-3});
  all.push_back({.name = "halo_last",
                 .technique = "conv.split_half",
                 .graph = halo_forms[0].graph,
                 .storage = {{"x", last}, {"z", last}},
                 .tolerance = 2e-6});
  return all;
}

std::vector<Case> phase_cases() {
  std::vector<Case> all;
  for (const ConvForm& form : conv_forms)
    if (std::string_view(form.name).starts_with("transpose"))
      all.push_back({format("phases_{}", form.name), "conv.transposed", form.graph, Numerics::strict});
  for (const ConvForm& form : transposed_forms)
    all.push_back({.name = format("phases_{}", form.name),
                   .technique = "conv.transposed",
                   .graph = form.graph,
                   .numerics = Numerics::strict,
                   .tolerance = 1e-6});
  all.push_back({.name = "phases_half_storage",
                 .technique = "conv.transposed",
                 .graph = transposed_forms[3].graph,
                 .storage = {{"x", half_last}, {"z", half_last}},
                 .tolerance = 1e-3});
  all.push_back({.name = "phases_two_fours",
                 .technique = "conv.transposed",
                 .graph = transposed_forms[2].graph,
                 .choices = {{"fours", 2}},
                 .tolerance = 1e-6});
  return all;
}

std::vector<Case> split_and_phase_cases() {
  std::vector<Case> all = split_half_cases();
  std::ranges::move(phase_cases(), std::back_inserter(all));
  return all;
}

PRODUCT_CASES(ConvSplit, split_and_phase_cases());

}  // namespace
}  // namespace stitch::code
