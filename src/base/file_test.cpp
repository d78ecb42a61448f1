#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <vector>

#include "base/file.h"
#include "base/output_folder.h"
#include "base/testdata/must.h"

namespace stitch {

namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override { folder.emplace(must(ScratchFolder::create("stitch_test"))); }
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

class Output : public testing::Test {
 protected:
  void SetUp() override {
    scratch.emplace(must(ScratchFolder::create("stitch_output")));
    target = scratch->path() / "out";
  }
  // a.txt and sub/b.txt with this content, as a user's command would write them.
  Result<Published> write(const std::string& content, Overwrite overwrite = Overwrite::refuse) {
    STITCH_TRY(OutputFolder draft, OutputFolder::create(target, overwrite));
    fs::create_directory(draft.path() / "sub");
    STITCH_CHECK(write_file(draft.path() / "a.txt", content));
    STITCH_CHECK(write_file(draft.path() / "sub/b.txt", content));
    return draft.publish();
  }
  void put(const std::string& name, std::string_view content) {
    fs::create_directories((target / name).parent_path());
    ASSERT_TRUE(write_file(target / name, content));
  }
  std::string read(const std::string& name) {
    auto text = read_file(target / name);
    return text ? *text : "not there";
  }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(scratch->path()), {}));
  }
  std::string refusal() {
    auto checked = OutputFolder::check(target);
    if (checked) return "";
    EXPECT_EQ(checked.error().exit_code(), 2);
    return checked.error().message;
  }
  std::optional<ScratchFolder> scratch;
  fs::path target;
};

TEST_F(Output, AppearsOnlyWhenPublished) {
  {
    auto draft = OutputFolder::create(target);
    ASSERT_TRUE(draft);
    ASSERT_TRUE(write_file(draft->path() / "a.txt", "x"));
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(Output, ReplacesWhatItWroteItself) {
  ASSERT_TRUE(write("first"));
  put("__pycache__/a.pyc", "Python's");
  auto second = must(write("second"));
  EXPECT_EQ(read("a.txt"), "second");
  EXPECT_TRUE(second.saved.empty());
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Output, RefusesAFolderOfSomebodyElse) {
  put("thesis.tex", "x");
  EXPECT_EQ(refusal(), "is not empty, and not a folder that stitchcuda wrote");
  EXPECT_FALSE(write("mine"));
  auto forced = must(write("mine", Overwrite::force));
  EXPECT_EQ(read("thesis.tex"), "x");
  EXPECT_EQ(read("a.txt"), "mine");
}

TEST_F(Output, RefusesWhereFilesWereAddedOrEdited) {
  ASSERT_TRUE(write("first"));
  for (const char* name : {"NOTES.md", "build/x.o", "build/y.o", "z"}) put(name, "theirs");
  EXPECT_EQ(refusal(),
            "holds files that stitchcuda did not write: NOTES.md, build/x.o, build/y.o and 1 more");
  put("sub/b.txt", "edited");
  EXPECT_EQ(refusal(), "holds files that were edited since: sub/b.txt");
  EXPECT_FALSE(write("second"));
  EXPECT_EQ(read("a.txt"), "first");
}

TEST_F(Output, ForcedKeepsEverythingOfOthers) {
  ASSERT_TRUE(write("first"));
  put("NOTES.md", "theirs");
  put("extra.cu", "theirs");
  put("sub/b.txt", "edited");
  auto forced = must(write("second", Overwrite::force));
  EXPECT_EQ(read("NOTES.md"), "theirs");
  EXPECT_EQ(read("a.txt"), "second");
  EXPECT_EQ(read("sub/b.txt"), "second");
  EXPECT_EQ(read("sub/b.txt.edited"), "edited");
  EXPECT_EQ(read("extra.cu.edited"), "theirs") << "under its own name it would be compiled into the program";
  EXPECT_EQ(forced.saved, (std::vector<std::string>{"sub/b.txt is now sub/b.txt.edited",
                                                    "extra.cu is now extra.cu.edited"}));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Output, WhatComesIntoTheWayMeanwhileIsNotOverwritten) {
  auto draft = OutputFolder::create(target);
  ASSERT_TRUE(draft);
  ASSERT_TRUE(write_file(draft->path() / "a.txt", "mine"));
  put("a.txt", "theirs");
  auto published = must(draft->publish());
  EXPECT_EQ(read("a.txt"), "theirs");
  EXPECT_EQ(published.folder, scratch->path() / "out-2");
  EXPECT_EQ(published.beside, "is not empty, and not a folder that stitchcuda wrote");
  EXPECT_EQ(*read_file(published.folder / "a.txt"), "mine");
}

TEST_F(Output, AFileWrittenLaterIsOursToo) {
  ASSERT_TRUE(write("first"));
  put("report.html", "page");
  EXPECT_NE(refusal(), "");
  ASSERT_TRUE(add_to_record(target, "report.html"));
  EXPECT_EQ(refusal(), "");
  put("report.html", "edited");
  EXPECT_EQ(edited_files(target), std::vector<std::string>{"report.html"});
}

TEST_F(Output, PlacesThatCannotBeWritten) {
  ASSERT_TRUE(write_file(target, "x"));
  EXPECT_EQ(refusal(), "is a file, not a folder");
  target /= "below";
  EXPECT_EQ(refusal(), (scratch->path() / "out").string() + " is a file, not a folder");
  target = scratch->path() / "new/and/deep";
  EXPECT_EQ(refusal(), "");
  if (::getuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::path locked = scratch->path() / "locked";
  fs::create_directory(locked);
  ::chmod(locked.c_str(), 0500);
  target = locked / "out";
  EXPECT_EQ(refusal(), "cannot write into " + locked.string() + ": Permission denied");
}

TEST_F(Output, ASingleFileIsReplacedOnlyAsWeLeftIt) {
  const fs::path file = scratch->path() / "page.html";
  ASSERT_TRUE(write_output_file(file, "first"));
  ASSERT_TRUE(write_output_file(file, "second"));
  ASSERT_TRUE(write_file(file, "edited"));
  auto refused = write_output_file(file, "third");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code(), 2);
  EXPECT_EQ(*read_file(file), "edited");
  ASSERT_TRUE(write_output_file(file, "third", Overwrite::force));
  EXPECT_EQ(*read_file(file), "third");
  EXPECT_FALSE(check_output_file(scratch->path()));
}

}  // namespace

}  // namespace stitch
