#include "import/aten/promotion.h"

namespace stitch {

namespace {
int kind(DType dtype) { return dtype == DType::boolean ? 0 : is_integer(dtype) ? 1 : 2; }
}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (kind(a) != kind(b)) return kind(a) > kind(b) ? a : b;
  if (kind(a) == 2) {
    if (size_of(a) == size_of(b)) return DType::f32;  // f16 and bf16
    return size_of(a) > size_of(b) ? a : b;
  }
  if (size_of(a) == size_of(b))
    refuse("mixes i8 and u8, whose common dtype i16 is not supported", "cast one of them");
  return size_of(a) > size_of(b) ? a : b;
}

void Promotion::meet(size_t rank, DType dtype) {
  ranks_[rank] = ranks_[rank] ? promote(*ranks_[rank], dtype) : dtype;
}

DType Promotion::result() const {
  std::optional<DType> out;
  for (const auto& rank : ranks_) {
    if (!rank) continue;
    if (!out)
      out = *rank;
    else if (kind(*rank) > kind(*out))
      out = *rank;
  }
  require(out.has_value(), "a promotion of something");
  return *out;
}

DType common_dtype(const Call& call, std::initializer_list<const char*> names) {
  Promotion promotion;
  for (const char* name : names) {
    if (!call.has(name)) continue;
    if (call.is_tensor(name)) {
      promotion.tensor(call.type(call.tensor(name)));
      continue;
    }
    promotion.number(!call.is_integer(name) && !call.is_flag(name), call.is_flag(name));
  }
  return promotion.result();
}

}  // namespace stitch
