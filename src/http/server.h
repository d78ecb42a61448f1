// A small HTTP/1.1 server: one thread with all connections, so that hundreds may wait for an answer and cost
// no more than a descriptor each. It knows nothing of what is served.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "http/message.h"

namespace stitch::http {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: any that is free
  Limits limits;
  size_t most_held = size_t{256} << 20;  // bytes of unfinished requests and answers, of all connections
  int most_connections = 1024;
  std::chrono::milliseconds patience{30'000};  // with a client that sends or takes nothing
};

// Where the answer to one request goes, from any thread, once; later ones and those to clients that are gone
// are dropped.
class Reply {
 public:
  void send(Response response) const;

 private:
  friend class EventLoop;
  struct Inbox;
  std::weak_ptr<Inbox> inbox_;
  uint64_t connection_ = 0;
};

// On the server's own thread: whatever takes time belongs on another one.
using Handler = std::function<void(Request&& request, Reply reply)>;
// Looks at the head alone. An answer here means that the body is never kept.
using Doorkeeper = std::function<std::optional<Response>(const Request& head)>;

class Server {
 public:
  // An Error: the address can't be had.
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options, Handler handler,
                                               Doorkeeper doorkeeper = {});
  virtual ~Server() = default;  // answers that were sent before are written for up to a second
  virtual int port() const = 0;
  virtual size_t connections() const = 0;
};

}  // namespace stitch::http
