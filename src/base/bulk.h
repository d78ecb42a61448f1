// Gigabytes copied and compared on all cores: one core moves a few of them a second, fresh pages fewer.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace stitch {

void copy_bulk(std::span<const std::byte> from, std::byte* to);
bool equal_bulk(std::span<const std::byte> a, std::span<const std::byte> b);

// Owned bytes, left uninitialised until data is copied in.
struct BulkBytes {
  std::shared_ptr<const std::byte[]> owner;
  std::span<const std::byte> bytes;
};
BulkBytes bulk_copy_of(std::span<const std::byte> from);

}  // namespace stitch
