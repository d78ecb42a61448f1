#include "agents/brains.h"

namespace stitch::agents {

namespace {

Result<void> check(std::string_view role, std::string_view brain) {
  if (brain == "builtin") return {};
  return user_error("brain", format("there is no {} '{}'", role, brain), "one of: builtin");
}

}  // namespace

Result<std::unique_ptr<Planner>> make_planner(std::string_view brain, Strategy strategy) {
  STITCH_CHECK(check("Planner", brain));
  return strategy == Strategy::step_by_step ? step_by_step_planner()
                                            : direct_planner(strategy == Strategy::first);
}

Result<std::unique_ptr<Coder>> make_coder(std::string_view brain) {
  STITCH_CHECK(check("Coder", brain));
  return builtin_coder();
}

Result<std::unique_ptr<Verifier>> make_verifier(std::string_view brain,
                                                std::unique_ptr<verifier::Verifier> opened,
                                                const VerifierSetup& setup) {
  STITCH_CHECK(check("Verifier", brain));
  return builtin_verifier(std::move(opened), setup);
}

}  // namespace stitch::agents
