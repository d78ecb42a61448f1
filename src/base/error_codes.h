// Codes of errors that decide what happens next. Others are literals, for people and logs.
#pragma once

namespace stitch::error_code {

// The user, or what called us, ended it.
inline constexpr const char* stopped = "stopped";
inline constexpr const char* bug = "bug";  // ours

// The machine.
inline constexpr const char* busy = "busy";
inline constexpr const char* disk = "disk";
inline constexpr const char* memory = "memory";
inline constexpr const char* no_driver = "no_driver";
inline constexpr const char* no_gpu = "no_gpu";
inline constexpr const char* no_python = "no_python";
inline constexpr const char* no_sanitizer = "no_sanitizer";

// Processes of ours.
inline constexpr const char* exporter = "exporter";
inline constexpr const char* worker_lost = "worker_lost";

// The task.
inline constexpr const char* forward = "forward";  // PyTorch can't run the model
inline constexpr const char* no_task = "no_task";

// The candidate.
inline constexpr const char* compile = "compile";
inline constexpr const char* compile_timeout = "compile-timeout";
inline constexpr const char* build_killed = "build_killed";
inline constexpr const char* refused = "refused";  // it returned an error
inline constexpr const char* crashed = "crashed";
inline constexpr const char* hung = "hung";
inline constexpr const char* killed = "killed";
inline constexpr const char* wrong = "wrong";
inline constexpr const char* region_wrong = "region_wrong";

}  // namespace stitch::error_code
