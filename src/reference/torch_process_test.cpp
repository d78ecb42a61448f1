// What is said of a reference that ends before it answers.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reference/torch_reference.h"

namespace stitch::verifier {
namespace {

Error asked_of(const std::string& script, std::chrono::milliseconds limit = {}) {
  auto folder = ScratchFolder::create("stitch_torch_process");
  EXPECT_TRUE(folder);
  const fs::path python = folder->path() / "python";
  EXPECT_TRUE(write_file(python, "#!/bin/sh\nread request\n" + script + "\n"));
  fs::permissions(python, fs::perms::owner_all);
  auto process = TorchProcess::start(python.string());
  EXPECT_TRUE(process);
  process->set_time_limit(limit);
  auto answer = process->ask({{"do", "load"}});
  EXPECT_FALSE(answer);
  return answer.error();
}

TEST(TorchProcess, OneThatWasKilledProbablyRanOutOfMemory) {
  EXPECT_EQ(asked_of("kill -9 $$").message, "the PyTorch reference was killed, probably out of memory");
}

TEST(TorchProcess, OneThatEndsLeavesItsLastLine) {
  EXPECT_NE(
      asked_of("echo no such module >&2; exit 3").message.find("ended with exit code 3: no such module"),
      std::string::npos);
}

TEST(TorchProcess, OneThatTakesTooLongIsEnded) {
  const Error error = asked_of("sleep 60", std::chrono::milliseconds(300));
  EXPECT_EQ(error.code, "reference_hung");
  EXPECT_EQ(error.blame, Error::Blame::work);
}

}  // namespace
}  // namespace stitch::verifier
