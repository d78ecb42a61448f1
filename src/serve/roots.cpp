#include "serve/roots.h"

#include <algorithm>

#include "base/format.h"
#include "base/terminal/terminal.h"
#include "base/text.h"

namespace stitch::serve {

namespace {

bool is_within(const fs::path& path, const fs::path& folder) {
  auto [at_folder, at_path] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return at_folder == folder.end();
}

}  // namespace

Result<Roots> Roots::create(const std::vector<std::string>& more) {
  Roots roots;
  std::vector<std::string> all = {"."};
  all.insert(all.end(), more.begin(), more.end());
  for (const std::string& folder : all) {
    std::error_code ec;
    fs::path whole = fs::canonical(folder, ec);
    if (ec || !fs::is_directory(whole, ec))
      return at(folder, user_error("root", "no such folder", "--root takes an existing folder"));
    if (std::ranges::find(roots.folders_, whole) == roots.folders_.end())
      roots.folders_.push_back(std::move(whole));
  }
  return roots;
}

Result<fs::path> Roots::resolve(const std::string& argument, const std::string& path) const {
  const std::string shown = printable(shorten(path, 200));
  if (path.empty() || path.find('\0') != std::string::npos)
    return user_error("path", format("'{}' is not a path: '{}'", argument, shown));
  std::error_code ec;
  fs::path whole = fs::weakly_canonical(folders_.front() / path, ec);
  if (ec) return user_error("path", format("'{}': {} can't be looked up: {}", argument, shown, ec.message()));
  if (std::ranges::any_of(folders_, [&](const fs::path& folder) { return is_within(whole, folder); }))
    return whole;
  std::vector<std::string> names;
  for (const fs::path& folder : folders_) names.push_back(folder.string());
  return user_error(
      "path", format("'{}': {} is outside of the allowed folders", argument, shown),
      format("use a path below {}, or start the server with --root FOLDER", join(names, " or ")));
}

std::string Resources::keep(std::string_view kind, std::string_view title, std::string text) {
  std::lock_guard hold(lock_);
  const std::string uri = format("{}{}/{}", uri_scheme, kind, ++made_);
  const bool json = text.starts_with('{') || text.starts_with('[');
  bytes_ += text.size();
  kept_.push_front({uri, std::string(title), json ? "application/json" : "text/plain", std::move(text)});
  while (kept_.size() > 1 && (kept_.size() > most_documents || bytes_ > most_bytes)) {
    bytes_ -= kept_.back().text.size();
    kept_.pop_back();
  }
  return uri;
}

std::optional<Resource> Resources::find(std::string_view uri) const {
  std::lock_guard hold(lock_);
  auto found = std::ranges::find(kept_, uri, &Resource::uri);
  return found == kept_.end() ? std::nullopt : std::optional(*found);
}

std::vector<Resource> Resources::list() const {
  std::lock_guard hold(lock_);
  std::vector<Resource> out;
  for (const Resource& resource : kept_) out.push_back({resource.uri, resource.title, resource.type, {}});
  return out;
}

}  // namespace stitch::serve
