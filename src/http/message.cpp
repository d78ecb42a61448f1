#include "http/message.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/format.h"
#include "base/text.h"

namespace stitch::http {

namespace {

struct Status {
  int code;
  std::string_view reason;
};
constexpr std::array statuses = {Status{100, "Continue"},
                                 Status{200, "OK"},
                                 Status{202, "Accepted"},
                                 Status{204, "No Content"},
                                 Status{400, "Bad Request"},
                                 Status{401, "Unauthorized"},
                                 Status{403, "Forbidden"},
                                 Status{404, "Not Found"},
                                 Status{405, "Method Not Allowed"},
                                 Status{408, "Request Timeout"},
                                 Status{410, "Gone"},
                                 Status{413, "Content Too Large"},
                                 Status{429, "Too Many Requests"},
                                 Status{431, "Request Header Fields Too Large"},
                                 Status{500, "Internal Server Error"},
                                 Status{501, "Not Implemented"},
                                 Status{503, "Service Unavailable"},
                                 Status{505, "HTTP Version Not Supported"}};

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

std::optional<size_t> number_of(std::string_view text, int base) {
  size_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string_view find_header(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string Request::parameter(std::string_view name) const {
  for (const std::string& pair : split(query, '&')) {
    const size_t equals = pair.find('=');
    if (decoded(std::string_view(pair).substr(0, equals)) == name)
      return equals == std::string::npos ? "" : decoded(std::string_view(pair).substr(equals + 1));
  }
  return {};
}

std::string_view reason(int status) {
  auto found = std::ranges::find(statuses, status, &Status::code);
  return found == statuses.end() ? "Unknown" : found->reason;
}

std::string text_of(const Response& response, bool keep_alive, bool with_body) {
  std::string out = format("HTTP/1.1 {} {}\r\n", response.status, reason(response.status));
  if (response.status != 204)
    out += format("Content-Type: {}\r\nContent-Length: {}\r\n", response.content_type, response.body.size());
  for (const auto& [name, value] : response.headers) out += format("{}: {}\r\n", name, value);
  out += format("Connection: {}\r\n\r\n", keep_alive ? "keep-alive" : "close");
  if (with_body && response.status != 204) out += response.body;
  return out;
}

void Reader::refuse(int status, std::string why) {
  state_ = State::refused;
  status_ = status;
  why_ = std::move(why);
}

bool Reader::expects_continue() const { return lower_case(request_.header("expect")) == "100-continue"; }

size_t Reader::take(std::string_view bytes) {
  if (state_ == State::body) return take_body(bytes);
  if (state_ != State::head) return 0;
  // Blank lines before a request are forgiven; the head ends with an empty line.
  const size_t before = head_.size();
  head_ += bytes.substr(0, limits_.head + 4 - std::min(head_.size(), limits_.head));
  const size_t taken = head_.size() - before;
  size_t leading = 0;
  while (leading < head_.size() && (head_[leading] == '\r' || head_[leading] == '\n')) ++leading;
  const size_t end = head_.find("\r\n\r\n", std::max(leading, before < 3 ? leading : before - 3));
  if (end == std::string::npos) {
    if (head_.size() > limits_.head) refuse(431, "the request's headers are too long");
    return taken;
  }
  const size_t used = end + 4 - before;
  head_ = head_.substr(leading, end + 2 - leading);  // with the last line's end
  read_head();
  head_.clear();
  return used;
}

void Reader::read_head() {
  const size_t line_end = head_.find("\r\n");
  const std::string_view line = std::string_view(head_).substr(0, line_end);
  if (!read_request_line(line) || !read_fields(std::string_view(head_).substr(line_end + 2)) ||
      !find_length())
    return;
  state_ = !chunked_ && left_ == 0 ? State::done : State::body;
}

bool Reader::read_request_line(std::string_view line) {
  const std::vector<std::string> words = split(line, ' ');
  if (words.size() != 3 || !is_token(words[0]) || words[1].empty() || words[1][0] != '/') {
    refuse(400, "not an HTTP request");
    return false;
  }
  if (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0") {
    refuse(505, "only HTTP/1.1 is supported");
    return false;
  }
  request_.method = words[0];
  const size_t question = words[1].find('?');
  request_.path = decoded(std::string_view(words[1]).substr(0, question));
  if (question != std::string::npos) request_.query = words[1].substr(question + 1);
  request_.keep_alive = words[2] == "HTTP/1.1";
  return true;
}

bool Reader::read_fields(std::string_view fields) {
  while (!fields.empty()) {
    const size_t end = fields.find("\r\n");
    const std::string_view field = fields.substr(0, end);
    fields = end == std::string_view::npos ? std::string_view() : fields.substr(end + 2);
    const size_t colon = field.find(':');
    const bool control =
        std::ranges::any_of(field, [](unsigned char c) { return (c < ' ' && c != '\t') || c == 127; });
    if (colon == std::string_view::npos || control || !is_token(field.substr(0, colon))) {
      refuse(400, "a header is malformed");
      return false;
    }
    request_.headers.emplace_back(lower_case(field.substr(0, colon)), trim(field.substr(colon + 1)));
  }
  const std::string connection = lower_case(find_header(request_.headers, "connection"));
  if (connection.find("close") != std::string::npos) request_.keep_alive = false;
  if (connection.find("keep-alive") != std::string::npos) request_.keep_alive = true;
  return true;
}

// Two ways to say how long a body is would be two readings of it.
bool Reader::find_length() {
  std::optional<size_t> length;
  for (const auto& [name, value] : request_.headers) {
    if (name == "transfer-encoding") {
      if (lower_case(value) != "chunked" || chunked_) {
        refuse(501, "only chunked transfer encoding is supported");
        return false;
      }
      chunked_ = true;
    }
    if (name != "content-length") continue;
    const bool digits = !value.empty() && value.size() < 19 &&
                        std::ranges::all_of(value, [](unsigned char c) { return std::isdigit(c); });
    const std::optional<size_t> said = digits ? number_of(value, 10) : std::nullopt;
    if (!said || (length && *length != *said)) {
      refuse(400, "the body's length is malformed");
      return false;
    }
    length = said;
  }
  if (chunked_ && length) {
    refuse(400, "a body can't have both a length and chunks");
    return false;
  }
  declared_ = left_ = length.value_or(0);
  if (declared_ > limits_.body) {
    refuse(413, format("the body is larger than {}", bytes_text(static_cast<double>(limits_.body))));
    return false;
  }
  return true;
}

bool Reader::keep(std::string_view bytes) {
  if (request_.body.size() + bytes.size() > limits_.body) {
    request_.body.clear();
    request_.body.shrink_to_fit();
    refuse(413, format("the body is larger than {}", bytes_text(static_cast<double>(limits_.body))));
    return false;
  }
  request_.body += bytes;
  return true;
}

size_t Reader::take_body(std::string_view bytes) {
  if (chunked_) return take_chunked(bytes);
  const size_t mine = std::min(left_, bytes.size());
  if (!keep(bytes.substr(0, mine))) return bytes.size();
  left_ -= mine;
  if (left_ == 0) state_ = State::done;
  return mine;
}

size_t Reader::take_chunked(std::string_view bytes) {
  constexpr size_t longest_line = 256;
  size_t used = 0;
  while (used < bytes.size() && state_ == State::body) {
    if (chunk_ == Chunk::data) {
      const size_t mine = std::min(left_, bytes.size() - used);
      if (!keep(bytes.substr(used, mine))) return bytes.size();
      used += mine;
      left_ -= mine;
      if (left_ == 0) chunk_ = Chunk::end_of_data;
      continue;
    }
    const char c = bytes[used++];
    if (c != '\n') {
      line_ += c;
      if (line_.size() > longest_line) refuse(400, "a chunk is malformed");
      continue;
    }
    const std::string line = trim(std::exchange(line_, {}));
    if (chunk_ == Chunk::trailer) {
      if (line.empty()) state_ = State::done;
      continue;
    }
    if (chunk_ == Chunk::end_of_data) {
      if (!line.empty()) refuse(400, "a chunk is malformed");
      chunk_ = Chunk::size;
      continue;
    }
    const std::string_view digits = std::string_view(line).substr(0, line.find(';'));
    const std::optional<size_t> size = digits.size() <= 15 ? number_of(trim(digits), 16) : std::nullopt;
    if (!size) {
      refuse(400, "a chunk is malformed");
      break;
    }
    left_ = *size;
    chunk_ = *size == 0 ? Chunk::trailer : Chunk::data;
  }
  return used;
}

std::string Url::origin() const {
  const bool v6 = host.find(':') != std::string::npos;
  return format("{}://{}{}{}:{}", secure ? "https" : "http", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

std::optional<Url> parse_url(std::string_view text) {
  Url out;
  if (text.starts_with("https://"))
    out.secure = true;
  else if (!text.starts_with("http://"))
    return std::nullopt;
  text.remove_prefix(out.secure ? 8 : 7);
  const size_t slash = std::min(text.find('/'), text.size());
  std::string_view place = text.substr(0, slash);
  if (slash < text.size()) out.path = text.substr(slash);
  if (const size_t at = place.rfind('@'); at != std::string_view::npos) {
    out.user = place.substr(0, at);
    place.remove_prefix(at + 1);
  }
  std::string_view port;
  if (place.starts_with('[')) {
    const size_t close = place.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    out.host = place.substr(1, close - 1);
    port = place.substr(close + 1);
  } else {
    const size_t colon = std::min(place.find(':'), place.size());
    out.host = place.substr(0, colon);
    port = place.substr(colon);
  }
  out.port = out.secure ? 443 : 80;
  if (!port.empty()) {
    const auto number = port.starts_with(':') ? parse_integer(port.substr(1)) : std::nullopt;
    if (!number || *number < 1 || *number > 65535) return std::nullopt;
    out.port = static_cast<int>(*number);
  }
  if (out.host.empty()) return std::nullopt;
  return out;
}

Result<Url> parse_address(std::string_view text) {
  auto url = parse_url(text);
  const bool plain = std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 127; });
  if (!url || url->secure || !plain || text.find('@') != std::string_view::npos)
    return user_error("url", format("'{}' is not an http:// address", text), "http://HOST:PORT");
  return *std::move(url);
}

bool is_loopback(std::string_view host) {
  const std::string text(host);
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return text == "localhost";
}

}  // namespace stitch::http
