// The output folder that the user named. Files of others in it are never lost: a record of what we
// wrote lies in it, and only files that are still as we wrote them are replaced.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/file.h"

namespace stitch {

// .stitchcuda in the folder.
struct FolderRecord {
  std::map<std::string, std::string> files;  // fingerprints by path
  std::map<std::string, std::string> facts;  // what the writer wants to know when it comes again
};
std::optional<FolderRecord> read_record(const fs::path& folder);
// Files of the record that are not as we wrote them any more.
std::vector<std::string> edited_files(const fs::path& folder);

enum class Overwrite : uint8_t { refuse, force };

struct Published {
  fs::path folder;                 // the target, or the one beside it
  std::string beside;              // why it is not the target
  std::vector<std::string> saved;  // files of others that changed their names: "NAME is now NAME.edited"
};

// Written beside its final place; gone again unless published.
class OutputFolder {
 public:
  // Before the work: whether there will be a place for its result. An error names what is in the way.
  static Result<void> check(const fs::path& target, Overwrite overwrite = Overwrite::refuse);
  static Result<OutputFolder> create(const fs::path& target, Overwrite overwrite = Overwrite::refuse);
  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();
  const fs::path& path() const { return draft_; }
  void note(const std::string& fact, const std::string& value) { record_.facts[fact] = value; }
  // One rename: a killed process leaves the old folder whole, or the new one. What appeared there since
  // create() makes it publish beside the target.
  Result<Published> publish();

 private:
  Result<Published> publish_beside(std::string reason);
  OutputFolder() = default;
  Result<void> write_record();
  Result<std::vector<std::string>> keep_what_others_wrote();
  Result<void> put_into_place();

  fs::path target_, draft_;
  Overwrite overwrite_ = Overwrite::refuse;
  FolderRecord record_;
};

// NAME-2, or the next that is free: for what must not take the place of the folder.
fs::path free_place_beside(const fs::path& folder);

// A file that was written into a published folder later: part of what we wrote.
Result<void> add_to_record(const fs::path& folder, const std::string& file);

// A single file that a user named. Ours if it is as we left it, which the cache folder remembers.
Result<void> check_output_file(const fs::path& file, Overwrite overwrite = Overwrite::refuse);
void remember_output_file(const fs::path& file);  // one that was written by other means
Result<void> write_output_file(const fs::path& file, std::string_view content,
                               Overwrite overwrite = Overwrite::refuse);

}  // namespace stitch
