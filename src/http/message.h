// HTTP/1.1 messages, as a server hears them and as it answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace stitch::http {

using Headers = std::vector<std::pair<std::string, std::string>>;  // names in lower case
std::string_view find_header(const Headers& headers, std::string_view name);

struct Request {
  std::string method, path, query;  // the path decoded, without "?query"
  Headers headers;
  std::string body;
  bool keep_alive = true;

  std::string_view header(std::string_view name) const { return find_header(headers, name); }
  // ?name=value, decoded; empty: not there.
  std::string parameter(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  Headers headers = {};

  std::string_view header(std::string_view name) const { return find_header(headers, name); }
};

std::string_view reason(int status);
std::string text_of(const Response& response, bool keep_alive, bool with_body = true);
// %2F and the like; what is no escape stays.
std::string decoded(std::string_view text);

struct Limits {
  size_t head = size_t{16} << 10;
  size_t body = size_t{8} << 20;
};

// Bytes in, one request out.
class Reader {
 public:
  enum class State : uint8_t { head, body, done, refused };
  explicit Reader(Limits limits = {}) : limits_(limits) {}

  // How many of the bytes belong to this message. After the head it returns once, so that the reader may
  // look at it before any of the body is kept.
  size_t take(std::string_view bytes);
  State state() const { return state_; }
  bool untouched() const { return state_ == State::head && head_.empty(); }
  // Where it was refused: 400, 413, 431, 501, 505.
  int status() const { return status_; }
  const std::string& why() const { return why_; }
  size_t declared() const { return declared_; }  // bytes of body, as the head says; 0: unknown
  bool expects_continue() const;
  Request& request() { return request_; }

 private:
  void refuse(int status, std::string why);
  void read_head();
  bool read_request_line(std::string_view line);
  bool read_fields(std::string_view fields);
  bool find_length();
  size_t take_body(std::string_view bytes);
  size_t take_chunked(std::string_view bytes);
  bool keep(std::string_view bytes);

  Limits limits_;
  State state_ = State::head;
  int status_ = 0;
  std::string why_;
  std::string head_;
  std::string line_;  // of chunked: half a line
  size_t declared_ = 0, left_ = 0;
  bool chunked_ = false;
  enum class Chunk : uint8_t { size, data, end_of_data, trailer } chunk_ = Chunk::size;
  Request request_;
};

// http://user:password@host:port/path
struct Url {
  std::string host, path = "/";  // host: without brackets; path: with its query
  int port = 80;
  bool secure = false;
  std::string user = {};       // with its password
  std::string origin() const;  // https://host:port
};
std::optional<Url> parse_url(std::string_view text);
// Of our own services and Ray's: http://HOST[:PORT][/PATH]. TLS is for a proxy in front of them.
Result<Url> parse_address(std::string_view text);

// localhost, 127.0.0.0/8 or ::1. A name such as 127.0.0.1.example.com is none of them.
bool is_loopback(std::string_view host);

}  // namespace stitch::http
