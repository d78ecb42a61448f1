#include "notes/note.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "notes/collection.h"

namespace stitch::notes {
namespace {

constexpr std::string_view good =
    "---\ntitle: Tiles\napplies to: hopper, sm_80\nwhen: always\ntags: memory, tile\n---\nText.\n";

std::string complaint(std::string_view text) {
  auto note = parse_note("x", text);
  return note ? "" : note.error().text();
}

TEST(Notes, HaveAllFieldsAndOneTitleEach) {
  EXPECT_GE(built_in().size(), 64u);
  std::set<std::string> titles;
  for (const Note& note : built_in()) {  // parse_note has checked fields and lengths
    EXPECT_TRUE(titles.insert(note.title).second) << note.name << ": its title is another note's";
    EXPECT_GE(std::ranges::count(note.body, '\n'), 4) << note.name << " says too little";
    EXPECT_TRUE(note.measured.empty() || note.measured.find("H200") != std::string::npos) << note.name;
  }
}

TEST(Notes, AreEmbeddedAsTheyAreOnDisk) {
  for (const Note& note : built_in()) {
    auto text = read_file(fs::path(STITCH_SOURCE_DIR) / "notes" / (note.name + ".md"));
    ASSERT_TRUE(text) << note.name;
    auto again = parse_note(note.name, *text);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(text_of(*again), text_of(note));
  }
}

TEST(Notes, AreReadWithTheirFields) {
  auto note = parse_note("tiles", good);
  ASSERT_TRUE(note) << note.error().text();
  EXPECT_EQ(note->title, "Tiles");
  EXPECT_EQ(join(note->applies_to, " "), "sm_90 sm_80");
  EXPECT_TRUE(note->applies("sm_90"));
  EXPECT_FALSE(note->applies("sm_120"));
  EXPECT_EQ(note->body, "Text.");
  EXPECT_EQ(note->measured, "");
}

TEST(Notes, SayWhatIsWrongWithThem) {
  EXPECT_EQ(complaint("Text."), "x: the header with the fields is missing\nfix: the first line is ---");
  EXPECT_EQ(complaint("---\ntitle: a\n"), "x: the header is not closed\nfix: a line of --- after them");
  EXPECT_EQ(complaint("---\ntitle: a\n---\nText."), "x: the field 'applies to' is missing or empty");
  EXPECT_NE(complaint("---\ncolour: red\n---\nText.").find("unknown field 'colour'"), std::string::npos);
  std::string twice(good);
  twice.insert(4, "title: b\n");
  EXPECT_EQ(complaint(twice), "x: duplicate field 'title'");
  std::string volta(good);
  volta.replace(volta.find("hopper"), 6, "volta");
  EXPECT_NE(complaint(volta).find("unknown architecture 'volta'"), std::string::npos);
  EXPECT_NE(complaint(std::string(good) + std::string(100, '\n') + "end").find("at most 60"),
            std::string::npos);
  EXPECT_EQ(complaint("---\ntitle: a\napplies to: all\nwhen: b\ntags: c\n---\n"),
            "x: no text after the header");
}

TEST(Notes, KnowArchitecturesByAllTheirNames) {
  for (const char* word : {"sm_90", "sm_90a", "SM90", "9.0", "Hopper", "90"}) {
    auto found = architecture_named(word);
    ASSERT_TRUE(found) << word;
    EXPECT_EQ(*found, "sm_90") << word;
  }
  EXPECT_EQ(*architecture_named("sm_100f"), "sm_100");
  EXPECT_FALSE(architecture_named("sm_70"));
  EXPECT_FALSE(architecture_named(""));
}

TEST(Notes, OfAUserComeOnTop) {
  auto scratch = ScratchFolder::create("stitch-notes");
  ASSERT_TRUE(scratch);
  ASSERT_TRUE(write_file(scratch->path() / "tiles.md", good));
  ASSERT_TRUE(write_file(scratch->path() / "coalesced-loads.md", good));
  ASSERT_TRUE(write_file(scratch->path() / "README.md", "not a note"));
  auto all = with_folder(scratch->path());
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(all->size(), built_in().size() + 1);
  EXPECT_EQ(find(*all, "coalesced-loads")->title, "Tiles");
  ASSERT_TRUE(write_file(scratch->path() / "bad.md", "nothing"));
  auto bad = with_folder(scratch->path());
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().text().find("bad: the header with the fields is missing"), std::string::npos)
      << bad.error().text();
  EXPECT_FALSE(with_folder("/no/such/folder"));
}

TEST(Notes, AreFoundByNearlyTheirName) {
  auto missed = find(built_in(), "coalesced-load");
  ASSERT_FALSE(missed);
  EXPECT_EQ(missed.error().fix, "did you mean coalesced-loads?");
}

}  // namespace
}  // namespace stitch::notes
