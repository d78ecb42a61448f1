#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

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

TEST_F(Files, ADraftAppearsOnlyWhenPublished) {
  fs::path target = folder->path() / "out";
  {
    auto draft = DraftFolder::create(target, "graph.txt");
    ASSERT_TRUE(draft);
    ASSERT_TRUE(write_file(draft->path() / "graph.txt", "x"));
  }
  EXPECT_EQ(entries(), 0u);
  for (const char* content : {"first", "second"}) {
    auto draft = DraftFolder::create(target, "graph.txt");
    ASSERT_TRUE(draft) << draft.error().text();
    ASSERT_TRUE(write_file(draft->path() / "graph.txt", content));
    ASSERT_TRUE(draft->publish());
    EXPECT_EQ(*read_file(target / "graph.txt"), content);
  }
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, AFolderThatIsNotOursIsNotReplaced) {
  fs::path target = folder->path() / "precious";
  fs::create_directory(target);
  ASSERT_TRUE(write_file(target / "thesis.tex", "x"));
  auto draft = DraftFolder::create(target, "graph.txt");
  ASSERT_FALSE(draft);
  EXPECT_EQ(draft.error().exit_code(), 2);
  EXPECT_TRUE(fs::exists(target / "thesis.tex"));
}

TEST_F(Files, DraftsOfKilledProcessesAreSweptUp) {
  fs::path stale = folder->path() / ".out.999999999.0.draft";
  fs::create_directory(stale);
  auto draft = DraftFolder::create(folder->path() / "out", "graph.txt");
  ASSERT_TRUE(draft);
  EXPECT_FALSE(fs::exists(stale));
}

}  // namespace
}  // namespace stitch
