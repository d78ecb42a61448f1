#include <vector>

#include "llm/wire/sse.h"

#include <gtest/gtest.h>

namespace stitch::llm {
namespace {

// "name=data" for each event, with the bytes in pieces of `size`.
std::vector<std::string> events(std::string_view bytes, size_t size, size_t limit = 1000) {
  std::vector<std::string> out;
  SseParser parser(
      [&](const SseEvent& event) {
        out.push_back(event.name + "=" + event.data);
        return Result<void>();
      },
      limit);
  for (size_t i = 0; i < bytes.size(); i += size)
    if (auto fed = parser.feed(bytes.substr(i, size)); !fed) {
      out.push_back("error " + fed.error().code);
      break;
    }
  return out;
}

TEST(Sse, AnyPiecesAndAnyLineEnds) {
  const std::vector<std::string> expected = {"message={\"a\": 1}", "ping=", "delta=one\ntwo"};
  for (std::string end : {"\n", "\r\n", "\r"}) {
    std::string text =
        "\xEF\xBB\xBF: a comment|data: {\"a\": 1}||event: ping|data||id: 7|retry: "
        "9|event:delta|data:one|data: two||";
    std::string bytes;
    for (char c : text) bytes += c == '|' ? end : std::string(1, c);
    bytes += "x: y" + end;  // so that a last CR is seen to be one
    for (size_t size = 1; size <= bytes.size(); ++size) EXPECT_EQ(events(bytes, size), expected) << size;
  }
}

TEST(Sse, WhatIsCutOffIsNoEvent) {
  EXPECT_EQ(events("data: 1\n\ndata: 2\n", 5), std::vector<std::string>{"message=1"});
  EXPECT_EQ(events("\n\n: x\n\nevent: alone\n\n", 3), std::vector<std::string>{});
}

TEST(Sse, EventsHaveALimit) {
  EXPECT_EQ(events("data: " + std::string(2000, 'x'), 100), std::vector<std::string>{"error llm_too_large"});
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "data: 12345678901234567890\n";
  EXPECT_EQ(events(lines, 64), std::vector<std::string>{"error llm_too_large"});
}

TEST(Sse, TenMegabytesInSmallPieces) {
  std::string bytes = "data: " + std::string(10 << 20, 'x') + "\n\n";
  auto got = events(bytes, 1000, 16 << 20);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].size(), (10u << 20) + 8);
}

}  // namespace
}  // namespace stitch::llm
