#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/testdata/must.h"
#include "base/text.h"
#include "notes/note.h"

namespace stitch::notes {

namespace {

constexpr std::string_view good =
    "# Notes\n\n## Tiles (tiles)\napplies to: hopper, sm_80\nwhen: always\ntags: memory, tile\n\nText.\n";

std::string complaint(std::string_view text) {
  auto notes = parse_notes("x", text);
  return notes ? "" : notes.error().text();
}

TEST(Notes, HaveAllFieldsAndOneTitleEach) {
  EXPECT_GE(built_in().size(), 64u);
  std::set<std::string> titles, names;
  for (const Note& note : built_in()) {  // parse_notes has checked the fields
    EXPECT_TRUE(names.insert(note.name).second) << note.name << ": its name is another note's";
    EXPECT_TRUE(titles.insert(note.title).second) << note.name << ": its title is another note's";
    EXPECT_GE(std::ranges::count(note.body, '\n'), 4) << note.name << " says too little";
    EXPECT_TRUE(note.measured.empty() || note.measured.find("H200") != std::string::npos) << note.name;
  }
}

TEST(Notes, AreReadWithTheirFields) {
  const std::string two =
      std::string(good) + "\n## Banks (shared) (banks)\nwhen: x\ntags: y\n\n```\n## no note\n```\n";
  auto notes = must(parse_notes("file", two));
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].name + ": " + notes[0].title, "tiles: Tiles");
  EXPECT_EQ(join(notes[0].applies_to, " "), "sm_90 sm_80");
  EXPECT_TRUE(notes[0].applies("sm_90"));
  EXPECT_FALSE(notes[0].applies("sm_120"));
  EXPECT_EQ(notes[0].body, "Text.");
  EXPECT_EQ(notes[0].measured, "");
  EXPECT_EQ(notes[1].name + ": " + notes[1].title, "banks: Banks (shared)");
  EXPECT_TRUE(notes[1].applies("sm_120"));
  for (const Note& note : notes)
    EXPECT_EQ(text_of(must(parse_notes("again", text_of(note))).at(0)), text_of(note));
}

TEST(Notes, SayWhatIsWrongWithThem) {
  EXPECT_EQ(complaint("Text."),
            "x: there is no note in it\nfix: a note begins with a line '## Title (name)' and its fields");
  EXPECT_EQ(complaint("## A\n"), "x: '## A' names no note\nfix: ## Title (name)");
  EXPECT_EQ(complaint("## A (a)\n\nText."), "x: a: the field 'when' is missing or empty");
  EXPECT_NE(complaint("## A (a)\ncolour: red\n\nText.").find("unknown field 'colour'"), std::string::npos);
  std::string twice(good);
  twice.insert(twice.find("when"), "when: b\n");
  EXPECT_EQ(complaint(twice), "x: tiles: duplicate field 'when'");
  std::string volta(good);
  volta.replace(volta.find("hopper"), 6, "volta");
  EXPECT_NE(complaint(volta).find("unknown architecture 'volta'"), std::string::npos);
  EXPECT_NE(complaint("## A (a)\nwhen: b\ntags: c\n").find("x: a: no text after the fields"),
            std::string::npos);
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
  auto scratch = must(ScratchFolder::create("stitch-notes"));
  ASSERT_TRUE(write_file(scratch.path() / "tiles.md", good));
  ASSERT_TRUE(write_file(scratch.path() / "loads.md",
                         "## Tiles (coalesced-loads)\nwhen: always\ntags: memory, tile\n\nText.\n"));
  ASSERT_TRUE(write_file(scratch.path() / "README.md", "not a note"));
  auto all = must(with_folder(scratch.path()));
  EXPECT_EQ(all.size(), built_in().size() + 1);
  EXPECT_EQ(find(all, "coalesced-loads")->title, "Tiles");
  ASSERT_TRUE(write_file(scratch.path() / "bad.md", "nothing"));
  auto bad = with_folder(scratch.path());
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().text().find("bad: there is no note in it"), std::string::npos) << bad.error().text();
  EXPECT_FALSE(with_folder("/no/such/folder"));
}

TEST(Notes, AreFoundByNearlyTheirName) {
  auto missed = find(built_in(), "coalesced-load");
  ASSERT_FALSE(missed);
  EXPECT_EQ(missed.error().fix, "did you mean coalesced-loads?");
}

TEST(Words, OfCudaAreKept) {
  EXPECT_EQ(join(words_of("cp.async.bulk"), " "), "cp.async.bulk cp async bulk");
  EXPECT_EQ(join(words_of("__launch_bounds__(256)"), " "), "launch_bounds launch bound 256");
  EXPECT_EQ(join(words_of("sm_90a"), " "), "sm_90a sm 90a");
  EXPECT_EQ(join(words_of("cudaGraphLaunch"), " "), "cudagraphlaunch cuda graph launch");
  EXPECT_EQ(join(words_of("split-K of wgmma."), " "), "split-k split wgmma");
}

TEST(Words, LoseTheirEndings) {
  EXPECT_EQ(words_of("coalesced"), words_of("coalescing"));
  EXPECT_EQ(words_of("vectorised"), words_of("vectorization"));
  EXPECT_EQ(words_of("reductions"), words_of("reduction"));
  EXPECT_EQ(words_of("padding"), words_of("pad"));
  EXPECT_EQ(words_of("caches"), words_of("caching"));
  EXPECT_NE(words_of("mma"), words_of("ma"));
  EXPECT_EQ(join(words_of("loss"), " "), "loss");
}

struct Question {
  const char *asked, *expected;
};
constexpr Question questions[] = {
    {"my loads are not coalesced", "coalesced-loads"},
    {"float4 vector loads misaligned", "vectorised-loads"},
    {"bank conflicts in shared memory", "shared-memory-banks"},
    {"swizzle for ldmatrix", "xor-swizzle"},
    {"cp.async multi stage pipeline", "cp-async"},
    {"TMA descriptor CUtensorMap", "tma-loads"},
    {"kernel hangs waiting for mbarrier parity", "mbarriers"},
    {"distributed shared memory cluster", "clusters-dsmem"},
    {"wgmma hopper gemm", "wgmma"},
    {"tcgen05 tensor memory", "tcgen05-tmem"},
    {"FP32 accuracy on fp16 tensor cores", "split-fp16-products"},
    {"__expf accuracy", "fast-math-errors"},
    {"variance cancellation in one pass", "welford"},
    {"softmax over long rows", "online-softmax"},
    {"results differ from run to run atomics", "deterministic-reductions"},
    {"cumsum", "scans"},
    {"too many registers spilling", "local-memory-spills"},
    {"few output tiles and large K", "split-k"},
    {"launch overhead of many small kernels", "cuda-graphs"},
    {"one query with long KV cache", "decode-attention"},
    {"flash attention causal", "flash-attention"},
    {"LSTM is slow", "persistent-rnn"},
    {"transposed convolution stride 2", "transposed-conv"},
    {"depthwise convolution", "depthwise-conv"},
    {"cublasLt bias relu epilogue", "cublaslt-epilogues"},
    {"NCHW to NHWC transpose", "tiled-transpose"},
    {"racecheck initcheck", "compute-sanitizer"},
    {"index overflow for large tensors", "index-overflow"},
    {"batch norm training running mean", "batch-norm-train"},
    {"griddepcontrol PDL", "programmatic-dependent-launch"},
    {"matrix vector product decode", "gemv"},
    {"topk", "sort-and-top-k"},
};

TEST(Search, FindsTheNoteAmongTheFirstThree) {
  for (const auto& [asked, expected] : questions) {
    std::vector<std::string> names;
    for (const Hit& hit : search(built_in(), asked, 3)) names.push_back(hit.note->name);
    EXPECT_NE(std::ranges::find(names, expected), names.end()) << asked << ": " << join(names, ", ");
  }
}

TEST(Search, KeepsToAnArchitecture) {
  for (const Hit& hit : search(built_in(), "wgmma tcgen05 TMA tensor core", 20, "sm_80"))
    EXPECT_TRUE(hit.note->applies("sm_80")) << hit.note->name;
  EXPECT_EQ(search(built_in(), "tcgen05", 1, "sm_100").at(0).note->name, "tcgen05-tmem");
}

TEST(Search, AnswersNothingToNothing) {
  EXPECT_TRUE(search(built_in(), "").empty());
  EXPECT_TRUE(search(built_in(), "of the and", 3).empty());
  EXPECT_TRUE(search(built_in(), "xyzzy plugh", 3).empty());
  EXPECT_TRUE(search({}, "softmax", 3).empty());
  EXPECT_EQ(search(built_in(), std::string(1 << 20, 'a') + " softmax", 2).size(), 2u);
}

}  // namespace

}  // namespace stitch::notes
