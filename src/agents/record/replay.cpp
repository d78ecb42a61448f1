#include "agents/record/replay.h"

#include <algorithm>

#include "base/digest/sha256.h"
#include "base/error_codes.h"

namespace stitch::agents {

namespace {

class RememberedVerifier final : public Verifier {
 public:
  RememberedVerifier(OpenVerifier open, Replay& replay) : open_(std::move(open)), replay_(replay) {}

  Result<verifier::Verdict> judge(const fs::path& program, Judging judging,
                                  const std::function<bool()>& should_stop) override {
    STITCH_TRY(std::string key, judging_key(program, judging));
    if (auto before = replay_.answer(key)) return *std::move(before);
    STITCH_TRY(Verifier * verifier, opened());
    Replay::Answer answer = verifier->judge(program, judging, should_stop);
    // An interruption is no answer: it is asked again.
    if (answer || answer.error().code != error_code::stopped) replay_.answered(key, answer);
    return answer;
  }

  Result<Feedback> explain(Outcome outcome, const verifier::Verdict& verdict,
                           const std::string& facts) override {
    STITCH_TRY(Verifier * verifier, opened());
    return verifier->explain(outcome, verdict, facts);
  }

  // While answers come from the record nothing is built.
  void build_ahead(std::span<const fs::path> programs) override {
    if (verifier_) verifier_->build_ahead(programs);
  }

  // One that was not asked for anything yet is new.
  Result<void> renew() override { return verifier_ ? verifier_->renew() : Result<void>(); }

  Result<std::unique_ptr<verifier::SettingsClock>> settings_clock(const fs::path& program) override {
    STITCH_TRY(Verifier * verifier, opened());
    return verifier->settings_clock(program);
  }

 private:
  Result<Verifier*> opened() {
    if (!verifier_) {
      STITCH_TRY(verifier_, open_());
    }
    return verifier_.get();
  }

  OpenVerifier open_;
  Replay& replay_;
  std::unique_ptr<Verifier> verifier_;
};

}  // namespace

std::unique_ptr<Verifier> remembered_verifier(OpenVerifier open, Replay& replay) {
  return std::make_unique<RememberedVerifier>(std::move(open), replay);
}

Result<std::string> judging_key(const fs::path& program, Judging judging) {
  std::vector<fs::path> files;
  std::error_code ec;
  for (auto entry = fs::recursive_directory_iterator(program, ec);
       !ec && entry != fs::recursive_directory_iterator(); entry.increment(ec)) {
    // The record has the time in it; the weights are the task's, and large.
    const fs::path& path = entry->path();
    if (entry->is_regular_file() && path.filename() != ".stitchcuda" && path.extension() != ".safetensors")
      files.push_back(path);
  }
  if (ec) return work_error("read", format("cannot read {}: {}", program.string(), ec.message()));
  std::ranges::sort(files);
  Sha256 key;
  key.add_field(std::to_string(static_cast<int>(judging)));
  for (const fs::path& file : files) {
    STITCH_TRY(std::string text, read_file(file));
    key.add_field(file.lexically_relative(program).string());
    key.add_field(text);
  }
  return key.hex();
}

}  // namespace stitch::agents
