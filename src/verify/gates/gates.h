// The gates, one file each, in the order in which a program meets them (gates.cpp).
#pragma once

#include <set>
#include <span>
#include <string>

#include "verify/session.h"

namespace stitch::verifier {

std::span<const Gate> all_gates();

// The screen's and the build's work before their turn, so that many programs are compiled at once: the gate
// finds the library in the cache. What goes wrong is found again there.
void build_ahead(const VerifyOptions& options, const std::optional<GpuSpec>& gpu);
Result<void> screen_sources(const Package& package, Json& evidence);
// What was built: the symbols that it wants of others.
Result<void> screen_imports(const std::set<std::string>& imports);

Result<Passed> screen(Session& session, Json& evidence);
Result<Passed> build(Session& session, Json& evidence);
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
