// Ray by its Jobs interface over HTTP: a job a worker.
#include <nlohmann/json.hpp>
#include <random>

#include "base/json.h"
#include "http/client.h"
#include "serve/fleet/fleet.h"

namespace stitch::serve {

namespace {

struct RayHead {
  http::Url url;
  std::string token;
};

Result<Json> ask(const RayHead& ray, std::string method, const std::string& path, const Json& body = {}) {
  http::Call call{.method = std::move(method), .url = ray.url, .time_limit = std::chrono::seconds(60)};
  call.url.path = path;
  if (!ray.token.empty()) call.headers.emplace_back("Authorization", "Bearer " + ray.token);
  if (!body.is_null()) {
    call.body = line_text(body);
    call.headers.emplace_back("Content-Type", "application/json");
  }
  auto called = http::call(call);
  if (!called)
    return work_error("ray",
                      format("Ray at {} can't be reached: {}", ray.url.origin(), called.error().message),
                      "start Ray there (ray start --head), or name its dashboard with --ray URL");
  const http::Response answer = *std::move(called);
  if (answer.status != 200)
    return work_error("ray", format("Ray at {} answered {}: {}", ray.url.origin(), answer.status,
                                    answer.body.substr(0, 300)));
  return parse_json(answer.body);
}

class RayJobs final : public Fleet {
 public:
  explicit RayJobs(RayHead ray) : ray_(std::move(ray)) {}
  ~RayJobs() override {
    for (const std::string& job : jobs_)
      (void)ask(ray_, "POST", "/api/jobs/" + job + "/stop", Json::object());
  }
  std::string name() const override { return "Ray at " + ray_.url.origin(); }
  std::string logs() const override {
    return format("ray job logs {} --address {}, or its dashboard", jobs_.empty() ? "JOB" : jobs_.front(),
                  ray_.url.origin());
  }

  Result<void> submit(const Json& job) {
    STITCH_TRY(Json said, ask(ray_, "POST", "/api/jobs/", job));
    const std::string id =
        word(said, "submission_id").empty() ? word(said, "job_id") : word(said, "submission_id");
    if (id.empty()) return work_error("ray", "Ray answered without a job id");
    jobs_.push_back(id);
    return {};
  }

  Result<FleetState> state() override {
    FleetState out;
    for (const std::string& job : jobs_) {
      STITCH_TRY(Json said, ask(ray_, "GET", "/api/jobs/" + job));
      const std::string now = word(said, "status");
      ++(now == "RUNNING" ? out.running : now == "PENDING" ? out.waiting : out.ended);
    }
    return out;
  }

 private:
  const RayHead ray_;
  std::vector<std::string> jobs_;
};

}  // namespace

Result<std::unique_ptr<Fleet>> start_ray(const FleetOptions& options) {
  STITCH_TRY(http::Url url, http::parse_address(options.ray));
  auto out = std::make_unique<RayJobs>(RayHead{std::move(url), options.ray_token});
  const std::string name = format("stitchcuda-{:08x}", std::random_device{}());
  for (int i = 0; i < options.workers; ++i) {
    Json job = {{"entrypoint", "exec " + shell_text(worker_words(options))},
                {"submission_id", format("{}-{}", name, i)},
                {"runtime_env", {{"env_vars", {{token_variable, options.token}}}}}};
    // With a resource of its own it is put on any node, not only on the head.
    if (options.gpu)
      job["entrypoint_num_gpus"] = 1;
    else
      job["entrypoint_num_cpus"] = 1;
    STITCH_CHECK(out->submit(job));
  }
  return std::unique_ptr<Fleet>(std::move(out));
}

}  // namespace stitch::serve
