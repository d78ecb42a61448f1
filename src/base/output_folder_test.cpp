#include "base/output_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stitch {
namespace {

class Output : public testing::Test {
 protected:
  void SetUp() override {
    auto made = ScratchFolder::create("stitch_output");
    ASSERT_TRUE(made);
    scratch.emplace(*std::move(made));
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
  auto second = write("second");
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(read("a.txt"), "second");
  EXPECT_TRUE(second->saved.empty());
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Output, RefusesAFolderOfSomebodyElse) {
  put("thesis.tex", "x");
  EXPECT_EQ(refusal(), "is not empty, and not a folder that stitchcuda wrote");
  EXPECT_FALSE(write("mine"));
  auto forced = write("mine", Overwrite::force);
  ASSERT_TRUE(forced) << forced.error().text();
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
  auto forced = write("second", Overwrite::force);
  ASSERT_TRUE(forced) << forced.error().text();
  EXPECT_EQ(read("NOTES.md"), "theirs");
  EXPECT_EQ(read("a.txt"), "second");
  EXPECT_EQ(read("sub/b.txt"), "second");
  EXPECT_EQ(read("sub/b.txt.edited"), "edited");
  EXPECT_EQ(read("extra.cu.edited"), "theirs") << "under its own name it would be compiled into the program";
  EXPECT_EQ(forced->saved, (std::vector<std::string>{"sub/b.txt is now sub/b.txt.edited",
                                                     "extra.cu is now extra.cu.edited"}));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Output, WhatComesIntoTheWayMeanwhileIsNotOverwritten) {
  auto draft = OutputFolder::create(target);
  ASSERT_TRUE(draft);
  ASSERT_TRUE(write_file(draft->path() / "a.txt", "mine"));
  put("a.txt", "theirs");
  auto published = draft->publish();
  ASSERT_TRUE(published) << published.error().text();
  EXPECT_EQ(read("a.txt"), "theirs");
  EXPECT_EQ(published->folder, scratch->path() / "out-2");
  EXPECT_EQ(published->beside, "is not empty, and not a folder that stitchcuda wrote");
  EXPECT_EQ(*read_file(published->folder / "a.txt"), "mine");
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
