// What verify --all and train would write, with long names and texts of strangers.
#pragma once

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/pages/many_report.h"
#include "verify/many/score.h"

namespace stitch::samples {

inline Json judged_candidates(bool timed) {
  const char* authors[] = {"careful", "hasty", "an-author/with-a-rather-long-name-7b-instruct-v2"};
  const char* tasks[] = {"1_Relu", "level3/6_A_task_with_a_name_that_is_longer_than_any_column_of_it"};
  std::vector<Json> records;
  for (int i = 0; i < 24; ++i) {
    Json record = {{"author", authors[i % 3]},
                   {"task", tasks[i / 3 % 2]},
                   {"sample", std::to_string(i / 6)},
                   {"verdict", format("verdicts/{:016x}.json", i)},
                   {"seconds", 2.5},
                   {"judgement", "passed"},
                   {"honesty", "clean"}};
    if (i % 5 == 1) {
      record.update(Json{{"judgement", "failed"},
                         {"kind", "wrong"},
                         {"gate", "correctness"},
                         {"reason",
                          "output 'output': 3 of 4096 elements are beyond the bound, the worst "
                          "1.3e-2 at [0, 17, 3, 511], on inputs of kind 'large'"}});
    } else if (i % 5 == 2) {
      record.update(Json{{"judgement", "failed"},
                         {"kind", "hack"},
                         {"honesty", "full hack"},
                         {"label", "returns an earlier result"},
                         {"gate", "conduct"},
                         {"reason", "</script><img src=x onerror=alert(1)> the same for other inputs"}});
    } else if (i == 23) {
      record.update(Json{{"judgement", "not judged"}, {"code", "gpu_memory"}, {"reason", "no memory"}});
    } else if (timed) {
      record.update(Json{{"seconds_a_call", 1.4e-5 * (i + 1)}, {"speedups", {{"best", 2.2 / (i + 1)}}}});
    }
    records.push_back(std::move(record));
  }
  Json out = verifier::summarise(records);
  out["run"] = {{"numerics", "default"},         {"version", "0.1.0"}, {"date", "2026-11-17T01:41:09Z"},
                {"device", timed ? "H200" : ""}, {"timed", timed},     {"not_reached", timed ? 0 : 3}};
  out["notes"] = notes_on_judged(out);
  return out;
}

inline Json training() {
  Json document = {{"gpu", "H200"},
                   {"reward", "run"},
                   {"tasks", 300},
                   {"trained", {{"epochs", 40}, {"validation", 0.93}}},
                   {"held_out",
                    {{"time_over_built_in",
                      {{{"who", "the compact Coder"}, {"geomean", 0.94}, {"low", 0.91}, {"high", 0.97}},
                       {{"who", "the best of everything that was measured"},
                        {"geomean", 0.8},
                        {"low", 0.7},
                        {"high", 0.9}}}}}}};
  for (int epoch = 1; epoch <= 40; ++epoch)
    document["curve"].push_back({{"epoch", epoch}, {"loss", 2.0 / epoch}, {"validation", 1 - 0.002 * epoch}});
  return document;
}

}  // namespace stitch::samples
