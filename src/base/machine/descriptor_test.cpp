#include "base/machine/descriptor.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>

namespace stitch {
namespace {

Descriptor file_with(std::string_view text) {
  Descriptor out(::memfd_create("text", MFD_CLOEXEC));
  EXPECT_EQ(::write(out.get(), text.data(), text.size()), std::ssize(text));
  return out;
}

std::string text_of(const Descriptor& file) {
  std::array<char, 100> buffer{};
  const ssize_t count = ::pread(file.get(), buffer.data(), buffer.size(), 0);
  return count < 0 ? "nothing" : std::string(buffer.data(), static_cast<size_t>(count));
}

TEST(Descriptor, TravelsWithTheBytesItWasSentWith) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  Descriptor here(ends[0]), there(ends[1]), got;
  std::array<char, 100> buffer{};
  ASSERT_EQ(::write(here.get(), "plain\n", 6), 6);
  EXPECT_EQ(receive_with_descriptor(there.get(), buffer, got), 6);
  EXPECT_EQ(got.get(), -1);
  {
    Descriptor file = file_with("shared");
    EXPECT_EQ(send_with_descriptor(here.get(), "with\n", file.get()), 5);
  }
  EXPECT_EQ(receive_with_descriptor(there.get(), buffer, got), 5);
  EXPECT_EQ(text_of(got), "shared");
  here = Descriptor();
  EXPECT_EQ(receive_with_descriptor(there.get(), buffer, got), 0);
}

TEST(Letterbox, KeepsADescriptorUntilItIsTaken) {
  auto scratch = ScratchFolder::create("stitchcuda-letterbox");
  ASSERT_TRUE(scratch);
  const fs::path path = scratch->path() / "socket";
  auto box = Letterbox::create(path);
  ASSERT_TRUE(box) << box.error().text();
  EXPECT_FALSE(box->take());
  {
    Descriptor sender(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)), file = file_with("left here");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::connect(sender.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(send_with_descriptor(sender.get(), "x", file.get()), 1);
  }
  auto taken = box->take();
  ASSERT_TRUE(taken) << taken.error().text();
  EXPECT_EQ(text_of(*taken), "left here");
  EXPECT_FALSE(Letterbox::create(path)) << "it is taken";
  EXPECT_FALSE(Letterbox::create(scratch->path() / std::string(200, 'x'))) << "sockets have short paths";
}

}  // namespace
}  // namespace stitch
