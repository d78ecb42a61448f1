#include "serve/fleet/desk.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace stitch::serve {

namespace {

constexpr double longest_wait_for_work = 60;  // seconds, of a worker for work
constexpr size_t longest_name = 200;
constexpr auto remembered_for = std::chrono::seconds(60);

uint64_t lease_in(const Json& asked) {
  auto found = asked.find("lease");
  return found != asked.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

}  // namespace

http::Response json_response(const Json& json, int status) {
  return {.status = status, .body = line_text(json) + '\n'};
}

http::Response error_response(const Error& error, int status) {
  return json_response(to_json(error), status);
}

bool WorkDesk::handle(const http::Request& request, const http::Reply& reply) {
  if (!request.path.starts_with("/fleet/")) return false;
  auto refuse = [&](int status, std::string why) {
    reply.send(error_response(user_error("request", std::move(why)), status));
    return true;
  };
  if (request.method != "POST") return refuse(405, "use POST");
  auto asked = parse_json(request.body);
  if (!asked || !asked->is_object()) return refuse(400, "the body must be a JSON object");
  if (const std::string worker = word(*asked, "worker"); !worker.empty()) {
    std::lock_guard hold(mutex_);
    seen_[worker.substr(0, longest_name)] = WorkQueue::Clock::now();
    std::erase_if(
        seen_, [](const auto& each) { return WorkQueue::Clock::now() - each.second > 10 * remembered_for; });
  }
  if (request.path == "/fleet/lease") {
    if (word(*asked, "worker").empty()) return refuse(400, "the worker's name is missing");
    if (word(*asked, "device") != options_.device)
      return refuse(400, format("this server needs workers with the device {}", options_.device));
    lease(*asked, reply);
    return true;
  }
  if (request.path == "/fleet/renew") {
    if (!queue_.renew(lease_in(*asked))) return refuse(410, "this lease has expired");
    reply.send(json_response(Json::object()));
    return true;
  }
  if (request.path != "/fleet/done") return refuse(404, "no such path");
  if (word(*asked, "key").empty() || !asked->contains("result"))
    return refuse(400, "key and result are missing");
  if (request.body.size() > options_.largest_result) return refuse(413, "the result is too large");
  if (options_.is_result && !options_.is_result((*asked)["result"])) return refuse(400, "not a result");
  done(*asked, reply);
  return true;
}

void WorkDesk::lease(const Json& asked, const http::Reply& reply) {
  const Json wait = asked.value("wait", Json(0));
  const double seconds = wait.is_number() ? std::clamp(wait.get<double>(), 0.0, longest_wait_for_work) : 0;
  queue_.take_later(word(asked, "worker").substr(0, longest_name),
                    std::chrono::milliseconds(static_cast<int64_t>(1000 * seconds)),
                    [this, reply](std::optional<Lease> lease) {
                      if (!lease) {
                        reply.send({.status = 204});
                        return;
                      }
                      SharedJson payload = options_.dress ? options_.dress(lease->work) : lease->work.payload;
                      if (!payload) {  // it can't be done
                        queue_.give_up(lease->id);
                        reply.send({.status = 204});
                        return;
                      }
                      reply.send(json_response({{"lease", lease->id},
                                                {"key", lease->work.key},
                                                {"waited", lease->waited},
                                                {"renew_every", options_.renew_every},
                                                {"payload", *payload}}));
                    });
}

void WorkDesk::done(const Json& asked, const http::Reply& reply) {
  auto result = std::make_shared<const Json>(asked["result"]);
  const bool counted = queue_.hand_in(lease_in(asked), word(asked, "key"), std::move(result));
  reply.send(json_response({{"counted", counted}}));
}

std::map<std::string, double> WorkDesk::workers() const {
  std::lock_guard hold(mutex_);
  std::map<std::string, double> out;
  const auto now = WorkQueue::Clock::now();
  for (const auto& [worker, when] : seen_)
    if (now - when < remembered_for) out[worker] = std::chrono::duration<double>(now - when).count();
  return out;
}

namespace {

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t j = 0; j < 3; ++j)
      three = three << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j) out += i + j <= bytes.size() ? digits[three >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

std::string from_base64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    const size_t value = digits.find(c);
    if (value == std::string_view::npos) break;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

}  // namespace stitch::serve
