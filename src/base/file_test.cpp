#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

namespace stitch {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override {
    auto made = ScratchFolder::create("stitch_test");
    ASSERT_TRUE(made);
    folder.emplace(*std::move(made));
  }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder->path()), {}));
  }
  std::optional<ScratchFolder> folder;
};

TEST_F(Files, WrittenWholeOrNotAtAll) {
  fs::path path = folder->path() / "a";
  ASSERT_TRUE(write_file(path, "one"));
  ASSERT_TRUE(write_file(path, "two"));
  EXPECT_EQ(*read_file(path), "two");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, WhetherAFolderTakesFilesIsTried) {
  EXPECT_FALSE(try_writing_below(folder->path()));
  EXPECT_FALSE(try_writing_below(folder->path() / "not" / "there" / "yet"));
  EXPECT_TRUE(try_writing_below("/proc/stitchcuda"));
  ASSERT_TRUE(write_file(folder->path() / "file", "text"));
  EXPECT_TRUE(try_writing_below(folder->path() / "file" / "below"));
  EXPECT_EQ(entries(), 1u) << "nothing is left of the trial";
}

TEST_F(Files, APathKeepsItsLastNameOnly) {
  const fs::path real = fs::canonical(folder->path());
  ASSERT_TRUE(fs::create_directories(folder->path() / "deep" / "bin"));
  fs::create_symlink("/bin/sh", folder->path() / "deep/bin/python");
  fs::create_symlink(folder->path() / "deep" / "bin", folder->path() / "link");
  EXPECT_EQ(with_real_parent(folder->path() / "link/../bin/python"), real / "deep/bin/python");
}

TEST_F(Files, AFileThatCannotGrowLeavesTheOldOne) {
  fs::path path = folder->path() / "a";
  ASSERT_TRUE(write_file(path, "old"));
  // What a full disk does to a write, a file-size limit does without filling one.
  auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{}, small{};
  getrlimit(RLIMIT_FSIZE, &limit);
  small = {4096, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  auto written = write_file(path, std::string(1 << 16, 'x'));
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().exit_code(), 1);
  EXPECT_EQ(*read_file(path), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, DraftsOfKilledProcessesAreTidiedUp) {
  const fs::path stale = folder->path() / ".out.999999999.0.draft",
                 aside = folder->path() / ".out.999999999.1.old";
  fs::create_directory(stale);
  fs::create_directory(aside);
  ASSERT_TRUE(write_file(aside / "graph.txt", "x"));
  auto draft = make_draft_beside(folder->path() / "out");
  ASSERT_TRUE(draft);
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(folder->path() / "out" / "graph.txt")) << "it was about to be replaced, and is back";
}

TEST_F(Files, ScratchOfTheDeadIsRemovedAndNobodyElses) {
  const int child = ::fork();
  if (child == 0) {
    auto mine = ScratchFolder::create("stitch_orphan");
    (void)(mine && write_file(mine->path() / "x", "x"));
    ::_exit(mine ? 0 : 1);  // as SIGKILL would: nothing is cleaned up
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  auto of_child = [&] {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(fs::temp_directory_path()))
      if (std::string name = entry.path().filename().string();
          name.starts_with("stitch_orphan.") && name.find(format("-{}-", child)) != std::string::npos)
        out.push_back(entry.path());
    return out;
  };
  ASSERT_EQ(of_child().size(), 1u);
  const fs::path others = folder->path() / "stitch_orphan.1-999999999-1.abcdef";  // of another machine's
  fs::create_directory(others);
  remove_scratch_of_the_dead(fs::temp_directory_path());
  remove_scratch_of_the_dead(folder->path());
  EXPECT_TRUE(of_child().empty());
  EXPECT_TRUE(fs::exists(others));
  EXPECT_TRUE(fs::exists(folder->path())) << "its owner lives";
}

}  // namespace
}  // namespace stitch
