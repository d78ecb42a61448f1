#include "verify/signing_key.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace stitch::verifier {

namespace {

Error cannot_keep(std::string_view doing, const fs::path& path, int code) {
  return at(path.string(), work_error("signing_key", format("cannot {}: {}", doing, std::strerror(code)),
                                      "set STITCHCUDA_STATE to a folder of yours that can be written to"));
}

Result<std::optional<KeyBytes>> read_key(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0 && errno == ENOENT) return std::optional<KeyBytes>();
  if (descriptor < 0) return cannot_keep("read the signing key", path, errno);
  struct stat info {};
  char text[128];
  const bool seen = ::fstat(descriptor, &info) == 0;
  const ssize_t count = ::read(descriptor, text, sizeof text);
  const int code = errno;
  ::close(descriptor);
  if (!seen || count < 0) return cannot_keep("read the signing key", path, code);
  if (info.st_uid != ::geteuid() || (info.st_mode & 077) != 0)
    return at(path.string(), user_error("signing_key", "others on this machine can use this signing key",
                                        "chmod 600 it if only you could read it; else remove it: a new one "
                                        "is made, and receipts of the old one no longer hold"));
  auto key = parse_key(trim(std::string_view(text, static_cast<size_t>(count))));
  if (!key)
    return at(path.string(),
              user_error("signing_key", "this is no signing key", "remove it, and a new one is made"));
  return std::optional<KeyBytes>(*key);
}

// Whole or not at all, and never over another: two processes may do this at once.
Result<void> make_key(const fs::path& path) {
  KeyBytes seed{};
  if (::getrandom(seed.data(), seed.size(), 0) != static_cast<ssize_t>(seed.size()))
    return work_error("signing_key", "the system has no random numbers");
  fs::path draft = path;
  draft += format(".{}.draft", ::getpid());
  ::unlink(draft.c_str());
  const int descriptor = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return cannot_keep("make a signing key", path, errno);
  const std::string text = hex_of(seed) + "\n";
  const bool written = ::write(descriptor, text.data(), text.size()) == std::ssize(text);
  const bool kept =
      ::close(descriptor) == 0 && written && (::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int code = errno;
  ::unlink(draft.c_str());
  if (!kept) return cannot_keep("make a signing key", path, code);
  return {};
}

}  // namespace

fs::path signing_key_folder() {
  auto variable = [](const char* name) -> fs::path {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (fs::path own = variable("STITCHCUDA_STATE"); !own.empty()) return own;
  if (fs::path shared = variable("XDG_STATE_HOME"); !shared.empty()) return shared / "stitchcuda";
  if (fs::path home = variable("HOME"); !home.empty()) return home / ".local/state/stitchcuda";
  return cache_folder() / "state";
}

Result<KeyBytes> signing_key() {
  const fs::path folder = signing_key_folder(), path = folder / "receipt.key";
  STITCH_TRY(std::optional<KeyBytes> key, read_key(path));
  if (key) return *key;
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return cannot_keep("make the folder of the signing key", folder, failed.value());
  STITCH_CHECK(make_key(path));
  STITCH_TRY(key, read_key(path));
  if (!key) return cannot_keep("read the signing key", path, ENOENT);
  STITCH_CHECK(write_file(folder / "receipt.pub", hex_of(public_key_of(*key)) + "\n"));
  return *key;
}

Result<std::optional<KeyBytes>> own_public_key() {
  STITCH_TRY(std::optional<KeyBytes> key, read_key(signing_key_folder() / "receipt.key"));
  return key ? std::optional(public_key_of(*key)) : std::nullopt;
}

Result<KeyBytes> read_public_key(const std::string& text) {
  if (auto key = parse_key(text)) return *key;
  std::error_code ignored;
  const Error none = user_error("signing_key", "this is no public key",
                                "64 hexadecimal digits, or a file with them: `stitchcuda receipt key` "
                                "prints this installation's");
  if (!fs::is_regular_file(text, ignored) || fs::file_size(text, ignored) > 4096) return at(text, none);
  STITCH_TRY(std::string content, read_file(text));
  if (auto key = parse_key(trim(content))) return *key;
  return at(text, none);
}

}  // namespace stitch::verifier
