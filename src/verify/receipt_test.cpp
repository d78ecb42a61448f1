#include "verify/receipt.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/digest/sha256.h"
#include "base/text.h"
#include "verify/signing_key.h"
#include "verify/verify.h"

namespace stitch::verifier {
namespace {

const fs::path testdata = fs::path(STITCH_SOURCE_DIR) / "src/verify/testdata";

class Receipt : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScratchFolder::create("stitchcuda-receipt");
    ASSERT_TRUE(folder);
    scratch_.emplace(*std::move(folder));
    if (const char* before = std::getenv("STITCHCUDA_STATE")) state_before_ = before;
    ::setenv("STITCHCUDA_STATE", (scratch_->path() / "state").c_str(), 1);
    program_ = scratch_->path() / "program.cu";
    receipt_ = scratch_->path() / "receipt.json";
    fs::copy_file(testdata / "candidates/honest.cu", program_);
    fs::copy_file(testdata / "candidates/row_center.h", scratch_->path() / "row_center.h");
  }
  void TearDown() override {
    if (state_before_.empty())
      ::unsetenv("STITCHCUDA_STATE");
    else
      ::setenv("STITCHCUDA_STATE", state_before_.c_str(), 1);
  }
  Verdict judge() {
    auto verdict = verify(testdata / "row_center/graph", {.program = program_, .receipt = receipt_});
    EXPECT_TRUE(verdict) << (verdict ? "" : verdict.error().text());
    EXPECT_TRUE(verdict && verdict->passed()) << (verdict ? table(*verdict, {}) : "");
    return verdict ? *std::move(verdict) : Verdict{};
  }
  // Of a verdict that was never given, signed here: what the checker makes of its claims.
  void sign_one_that_claims(const Json& timing) {
    auto task = stitch::open_task(testdata / "row_center/graph", {}, {});
    ASSERT_TRUE(task) << task.error().text();
    Verdict verdict;
    verdict.gates.push_back({.gate = "correctness", .outcome = Outcome::passed});
    if (!timing.is_null()) verdict.timing = std::make_shared<const Json>(timing);
    const VerifyOptions options{.program = program_};
    auto json = receipt_document({.program = program_, .options = options, .task = **task}, verdict);
    ASSERT_TRUE(json) << json.error().text();
    ASSERT_TRUE(write_file(receipt_, document_text(*json)));
  }
  // The receipt with one thing in it changed, its signature as it was.
  std::string refused(const std::function<void(Json&)>& edit) {
    Json json = *parse_json(*read_file(receipt_));
    edit(json);
    const fs::path forged = scratch_->path() / "forged.json";
    EXPECT_TRUE(write_file(forged, document_text(json)));
    auto check = check_receipt({.receipt = forged});
    if (check) return "accepted";
    EXPECT_EQ(check.error().blame, Error::Blame::user);
    return check.error().message;
  }
  std::vector<std::string> differences(ReceiptOptions options = {}) {
    options.receipt = receipt_;
    auto check = check_receipt(options);
    if (!check) return {check.error().message};
    EXPECT_FALSE(check->passed);
    return check->differences;
  }
  std::optional<ScratchFolder> scratch_;
  fs::path program_, receipt_;
  std::string state_before_;
};

TEST_F(Receipt, CanBeRepeatedAndCoversHeaders) {
  judge();
  auto check = check_receipt({.receipt = receipt_});
  ASSERT_TRUE(check) << check.error().text();
  EXPECT_TRUE(check->passed) << join(check->differences, "\n");
  EXPECT_FALSE(check->claims_speed);
  struct stat info {};
  ASSERT_EQ(::stat((scratch_->path() / "state/receipt.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(trim(*read_file(scratch_->path() / "state/receipt.pub")), check->signed_by);

  const fs::path header = scratch_->path() / "row_center.h";
  const std::string before = *read_file(header);
  ASSERT_TRUE(write_file(header, before + "\n"));
  EXPECT_EQ(differences(), std::vector<std::string>{"the program's file 'row_center.h' has changed"});
  ASSERT_TRUE(write_file(header, before));
  ASSERT_TRUE(write_file(program_, *read_file(program_) + "\n"));
  EXPECT_EQ(differences(), std::vector<std::string>{"the program's file 'program.cu' has changed"});
}

TEST_F(Receipt, SignsWhatWasCompiledThoughItWasReplacedSince) {
  const std::string other = "// another program\n";
  const VerifyOptions options{
      .program = program_, .receipt = receipt_, .on_progress = [&](std::string_view doing) {
        if (doing == "correctness") static_cast<void>(write_file(program_, other));
      }};
  const std::string compiled = sha256(*read_file(program_));
  auto verdict = verify(testdata / "row_center/graph", options);
  ASSERT_TRUE(verdict && verdict->passed());
  ASSERT_EQ(*read_file(program_), other);
  const Json json = *parse_json(*read_file(receipt_));
  EXPECT_EQ(word(json.at("program").at("sha256"), "program.cu"), compiled);
  EXPECT_EQ(differences(), std::vector<std::string>{"the program's file 'program.cu' has changed"});
}

TEST_F(Receipt, IsRefusedOnceEdited) {
  sign_one_that_claims({{"program", {{"seconds", 1e-3}}}, {"speedup", 2.0}});
  const char* changed = "this receipt was changed after it was written: its signature is of something else";
  EXPECT_EQ(refused([](Json& json) { json["verdict"]["timing"]["speedup"] = 1000.0; }), changed);
  EXPECT_EQ(refused([](Json& json) { json["options"]["class"] = "half"; }), changed);
  EXPECT_EQ(refused([](Json& json) { json["program"]["sha256"]["program.cu"] = std::string(64, '0'); }),
            changed);
  EXPECT_EQ(refused([](Json& json) { json.erase("signature"); }), changed);
  EXPECT_EQ(refused([](Json& json) { json["key"] = 7; }), changed);
  EXPECT_EQ(refused([](Json& json) { json["stitch_receipt"] = 1; }),
            "this receipt is of version 1, which isn't signed as version 2 is");
  // Signed again, with another key.
  EXPECT_NE(refused([](Json& json) {
              const KeyBytes seed{1, 2, 3};
              json["verdict"]["timing"]["speedup"] = 1000.0;
              json["key"] = hex_of(public_key_of(seed));
              json.erase("signature");
              json["signature"] = hex_of(sign(line_text(json), seed));
            }).find("not by this installation"),
            std::string::npos);
}

TEST_F(Receipt, HoldsOnlyForWhatTheCheckerAsks) {
  sign_one_that_claims({{"program", {{"seconds", 1e-3}}}, {"speedup", 1000.0}});
  EXPECT_EQ(differences({.numerics = Numerics::half}),
            std::vector<std::string>{
                "it is of numerics class default, checked is half (--numerics default checks for that)"});
  EXPECT_EQ(differences({.device = runner::Device::cuda}),
            std::vector<std::string>{
                "it was made on the emulated device, checked is cuda (--device emulated checks for that)"});
  EXPECT_EQ(differences(), std::vector<std::string>{"the receipt has times, and nothing was timed here"});
}

TEST_F(Receipt, TrustsTheKeyItIsGiven) {
  sign_one_that_claims(nullptr);
  auto own = own_public_key();
  ASSERT_TRUE(own && *own);
  ::setenv("STITCHCUDA_STATE", (scratch_->path() / "elsewhere").c_str(), 1);
  EXPECT_NE(join(differences(), "").find("not by this installation"), std::string::npos);
  EXPECT_FALSE(fs::exists(scratch_->path() / "elsewhere")) << "a check makes no key";
  EXPECT_NE(join(differences({.key = KeyBytes{}}), "").find("not with the one given"), std::string::npos);
  auto check = check_receipt({.receipt = receipt_, .key = **own});
  ASSERT_TRUE(check) << check.error().text();
  EXPECT_TRUE(check->passed);

  ASSERT_EQ(::chmod((scratch_->path() / "state/receipt.key").c_str(), 0644), 0);
  ::setenv("STITCHCUDA_STATE", (scratch_->path() / "state").c_str(), 1);
  auto key = signing_key();
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().message, "others on this machine can use this signing key");
}

}  // namespace
}  // namespace stitch::verifier
