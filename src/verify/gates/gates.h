// The gates, one file each, in the order in which a program meets them (gates.cpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "verify/session.h"

namespace stitch::verifier {

std::span<const Gate> all_gates();

// The build's work before its turn, so that many programs are compiled at once: the gate finds the library in
// the cache. What goes wrong is found again there.
void build_ahead(const VerifyOptions& options, const std::optional<GpuSpec>& gpu);

Result<Passed> build(Session& session, Json& evidence);
// Places where what is compiled depends on the compiler: with another one the program is another.
std::vector<std::string> conditions_on_compiler(const Package& package, const build::FilesRead& read);
Result<Passed> screen(Session& session, Json& evidence);
Result<Passed> load(Session& session, Json& evidence);
Result<Passed> correctness(Session& session, Json& evidence);
// What it will ask: before the build, so that the reference can begin.
std::vector<Question> questions_of(Session& session);
// What it may ask besides, in the order in which it is tried: kinds that were not `asked`.
std::vector<Question> more_questions(Session& session, const std::vector<Question>& asked);
// Of outputs that no trial with such weights says anything about: what the verdict says of that.
std::string unproven_with(Weights weights, const std::vector<std::string>& outputs);
Result<Passed> sensitivity(Session& session, Json& evidence);
Result<Passed> conduct(Session& session, Json& evidence);
// Its part about addresses: unaligned tensors, reads outside of them.
Result<void> right_wherever_tensors_lie(Session& session, Attempt& attempt, Json& evidence);
// As one of many things in a caller's stream. The last question to an attempt: it may leave it broken.
Result<void> right_in_a_callers_stream(Session& session, Attempt& attempt, Json& evidence);
Result<Passed> thread_order(Session& session, Json& evidence);
// Of a program whose results are off: the first region that gives wrong results alone, too. Empty: none does
// in the seconds that are spent on it.
std::string wrong_region(Session& session);
Result<Passed> regions(Session& session, Json& evidence);
Result<Passed> sanitizer(Session& session, Json& evidence);
Result<Passed> profile(Session& session, Json& evidence);
Result<Passed> coverage(Session& session, Json& evidence);
Result<Passed> timing(Session& session, Json& evidence);
Result<Passed> physical_floor(Session& session, Json& evidence);

}  // namespace stitch::verifier
