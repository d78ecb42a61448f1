// A task of `bench` as work for a worker: it gets the task's files and flags of `optimize`, and returns the
// output and the program's files.
#pragma once

#include "agents/bench.h"
#include "base/json.h"

namespace stitch::serve {

inline constexpr size_t largest_program = size_t{24} << 20;  // bytes of files that come back

Result<Json> optimize_payload(const agents::BenchTask& task, const agents::BenchOptions& options);
// On the worker. `python`: its own, empty: the usual one.
Json optimize_leased(const Json& payload, const std::string& python);
bool is_optimize_result(const Json& result);
// On the server: writes the program below `programs`, and returns the record with the machine's name.
Json optimize_record(const agents::BenchTask& task, const Json& result, const agents::BenchOptions& options);

}  // namespace stitch::serve
