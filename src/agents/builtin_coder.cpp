// The built-in Coder: the catalogue of techniques. It has one way to write a plan, and nothing to revise.
#include "agents/brains.h"
#include "code/write_program.h"

namespace stitch::agents {

namespace {

class BuiltinCoder final : public Coder {
 public:
  Result<Draft> write(const Situation& now, const Proposal& step) override {
    STITCH_TRY(PackageContents contents, code::write_program(now.context, step.plan));
    if (!step.settings.empty()) code::set_values(contents, step.settings);
    return Draft{step.plan, std::move(contents), {}};
  }

  Result<std::optional<Draft>> revise(const Situation&, const Proposal&) override {
    return std::optional<Draft>();
  }
};

}  // namespace

std::unique_ptr<Coder> builtin_coder() { return std::make_unique<BuiltinCoder>(); }

}  // namespace stitch::agents
