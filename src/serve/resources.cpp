#include "serve/resources.h"

#include <algorithm>

#include "base/format.h"

namespace stitch::serve {

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
