// What a reward service would tell its page, with long names and texts of strangers.
#pragma once

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json.h"

namespace stitch::samples {

inline Json service_status() {
  Json curve = Json::array(), latest = Json::array();
  for (int i = 0; i < 120; ++i)
    curve.push_back({{"answers", 4},
                     {"reward", 0.05 + 0.01 * i},
                     {"correct", 0.1 + 0.005 * i},
                     {"hacks", 0.2 - 0.001 * i}});
  const char* labels[] = {"correct, not timed", "hack", "not built", "wrong", "not judged"};
  for (int i = 0; i < 10; ++i)
    latest.push_back(
        {{"key", format("k{}", i)},
         {"task", i % 3 ? "level1/2_Scale" : "level3/a_task_with_a_name_that_is_longer_than_any_column"},
         {"label", labels[i % 5]},
         {"reward", 0.31},
         {"counted", i % 5 != 4},
         {"reason",
          i % 2 ? "" : "</script><img src=x onerror=alert(1)> candidate.cu:44: error: expected ')'"},
         {"seconds", 2.3},
         {"machine", "node-17.cluster.example.org:12345"},
         {"date", "2026-11-16T22:41:09Z"}});
  return {{"labels", {{"correct, not timed", 412}, {"wrong", 130}, {"not built", 88}, {"hack", 31}}},
          {"judged", 661},
          {"from_store", 120},
          {"curve", std::move(curve)},
          {"latest", std::move(latest)},
          {"queue", {{"waiting", 37}, {"judging", 2}, {"lost_leases", 0}}},
          {"workers", {{{"name", "node-17.cluster.example.org:12345"}, {"seconds_ago", 3.2}}}},
          {"verdicts_a_minute", 41.7},
          {"tasks", 250},
          {"answers_kept", 661},
          {"judging",
           {{"version", "0.1.0"}, {"numerics", "default"}, {"device", "emulated"}, {"reward", "combined"}}},
          {"uptime", 4000.0}};
}

}  // namespace stitch::samples
