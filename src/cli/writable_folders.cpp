#include "cli/writable_folders.h"

#include <cstdlib>

#include "base/text.h"
#include "store/run_store.h"
#include "verify/signing_key.h"

namespace stitch {

WritableFolders::WritableFolders(const std::string& command) {
  const fs::path cache = cache_folder(), store = store::default_store(),
                 state = verifier::signing_key_folder();
  std::error_code ec;
  const bool cache_is_kept = !try_writing_below(cache);
  // Commands that read runs need the existing store.
  const bool runs_are_kept =
      store == "none" || command == "runs" || command == "memory" || !try_writing_below(store.parent_path());
  const bool key_is_kept = fs::exists(state / "receipt.key", ec) || !try_writing_below(state);
  if (cache_is_kept && runs_are_kept && key_is_kept) return;
  auto scratch = ScratchFolder::create("stitchcuda-home");
  if (!scratch) return;  // then the first who needs one of them says why
  scratch_.emplace(*std::move(scratch));
  std::vector<std::string> places, consequences, variables;
  auto note = [&](const char* variable, const fs::path& place, const std::string& value,
                  const char* consequence) {
    replace(variable, value);
    places.push_back(place.string());
    consequences.emplace_back(consequence);
    variables.emplace_back(variable);
  };
  if (!cache_is_kept) note("STITCHCUDA_CACHE", cache, scratch_->path() / "cache", "nothing stays cached");
  if (!runs_are_kept) note("STITCHCUDA_STORE", store, "none", "runs are not recorded");
  if (!key_is_kept)
    note("STITCHCUDA_STATE", state, scratch_->path() / "state",
         "receipts are signed by a key that is not kept");
  warning_ = format("cannot write to {}: {}; to keep them, set {}", join(places, ", "),
                    join(consequences, ", "), join(variables, ", "));
}

WritableFolders::~WritableFolders() {
  for (const auto& [variable, value] : before_)
    value ? ::setenv(variable, value->c_str(), 1) : ::unsetenv(variable);
}

void WritableFolders::replace(const char* variable, const std::string& value) {
  const char* before = std::getenv(variable);
  before_[variable] = before ? std::optional<std::string>(before) : std::nullopt;
  ::setenv(variable, value.c_str(), 1);
}

}  // namespace stitch
