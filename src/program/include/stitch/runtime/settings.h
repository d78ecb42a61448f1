// Numbers that may be set before a program is created: which of a library's proposals, how many threads per
// block. Their defaults (without stitch_set) are all in manifest.cu, so that other defaults recompile only
// that file.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "stitch/runtime/errors.h"

namespace stitch {
// One of a library's proposals, best first. A value that was set is used or refused; a default is only
// advice, since another version of the library may propose fewer.
struct Proposal {
  int index = 0;
  bool insists = true;

  Proposal(int chosen = 0, bool insisted = true) : index(chosen), insists(insisted) {}
  bool refused(int found) const { return index < 0 || found <= 0 || (insists && index >= found); }
  int among(int found) const { return index < found ? index : 0; }
};

class Setting {
 public:
  Setting(const char* name, std::initializer_list<int> values, int shipped)
      : name_(name), shipped_(shipped), value_(shipped) {
    for (int value : values)
      if (count_ < values_.size()) values_[count_++] = value;
  }

  operator int() const { return value_; }
  operator Proposal() const {
    const int value = value_;
    return {value, value != shipped_};
  }

  bool named(const char* name) const { return std::strcmp(name_, name) == 0; }
  StitchStatus set(int64_t value) {
    for (size_t i = 0; i < count_; ++i)
      if (values_[i] == value) {
        value_ = values_[i];
        return STITCH_OK;
      }
    return fail(STITCH_BAD_ARGUMENT, "setting %s: %lld is none of its values", name_,
                static_cast<long long>(value));
  }

 private:
  const char* name_;
  std::array<int, 16> values_{};
  size_t count_ = 0;
  int shipped_;
  std::atomic<int> value_;
};

// stitch_set over all of a program's settings.
inline int set_one_of(std::initializer_list<Setting*> settings, const char* name, int64_t value) {
  if (!name) return fail(STITCH_BAD_ARGUMENT, "a setting without a name");
  for (Setting* setting : settings)
    if (setting->named(name)) return setting->set(value);
  return fail(STITCH_BAD_ARGUMENT, "there is no setting %.100s", name);
}

}  // namespace stitch
