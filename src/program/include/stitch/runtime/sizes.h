// Sizes that change from call to call: read from the inputs' shapes.
#pragma once

#include <cstdint>
#include <cstring>

#include "stitch/runtime/errors.h"

namespace stitch {

template <class Sizes>
struct SizeRule {
  const char* name;
  int Sizes::*size;
  int least, most, multiple;
  struct Place {
    int input, dim;
  } places[16];

  StitchStatus set(Sizes& sizes, int64_t value) const {
    if (value < least || value > most || value % multiple != 0)
      return multiple == 1 ? fail(STITCH_BAD_ARGUMENT, "size %s: %lld is outside of %d to %d", name,
                                  static_cast<long long>(value), least, most)
                           : fail(STITCH_BAD_ARGUMENT, "size %s: %lld is no multiple of %d from %d to %d",
                                  name, static_cast<long long>(value), multiple, least, most);
    sizes.*size = static_cast<int>(value);
    return STITCH_OK;
  }
};

// Each size from the first place that shows it; whether the others agree is checked with the shapes.
template <class Sizes, size_t count>
StitchStatus read_sizes(const SizeRule<Sizes> (&rules)[count], const StitchTensor* in, int n_in, Sizes& out) {
  for (const SizeRule<Sizes>& rule : rules) {
    const auto place = rule.places[0];
    if (place.input >= n_in || !in || place.dim >= in[place.input].rank)
      return fail(STITCH_BAD_ARGUMENT, "size %s: input %d has no dimension %d", rule.name, place.input,
                  place.dim);
    STITCH_OK_OR_RETURN(rule.set(out, in[place.input].shape[place.dim]));
  }
  return STITCH_OK;
}

// stitch_set("sizes.batch", 8).
inline bool names_size(const char* name) { return name && std::strncmp(name, "sizes.", 6) == 0; }
template <class Sizes, size_t count>
StitchStatus set_size(const SizeRule<Sizes> (&rules)[count], Sizes& sizes, const char* name, int64_t value) {
  for (const SizeRule<Sizes>& rule : rules)
    if (std::strcmp(name + 6, rule.name) == 0) return rule.set(sizes, value);
  return fail(STITCH_BAD_ARGUMENT, "there is no size %.100s", name + 6);
}

}  // namespace stitch
