#include "agents/record/remembering_planner.h"

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <set>

#include "agents/loop/measured_gain.h"
#include "base/digest/sha256.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/sharing.h"
#include "code/write_program.h"
#include "code/written.h"
#include "plan/cost/estimate.h"
#include "plan/document/difference.h"
#include "plan/document/document.h"
#include "plan/document/signature.h"
#include "plan/steps.h"
#include "verify/clock/clock.h"
#include "verify/signing_key.h"

namespace stitch::agents {

namespace {

constexpr size_t most_of_a_region = 2;  // kernels that are tried, the best first

// Everything that is relied on, in a fixed order.
std::string signed_text(const store::Observation& one, const Json& document) {
  return line_text({one.signature, one.machine, one.numerics, one.version, word(document, "function"),
                    word(document, "text"), word(document, "author"),
                    document.value("workspace_bytes", int64_t{0})});
}

class ArchivePlanner final : public Planner {
 public:
  ArchivePlanner(std::unique_ptr<Planner> planner, Remembering remembering)
      : planner_(std::move(planner)), known_(std::move(remembering)), memory_(*known_.store) {}

  Result<std::optional<Proposal>> propose(const Situation& now) override {
    if (!looked_ && now.best) {
      looked_ = true;
      look(now);
    }
    while (!found_.empty() && now.best) {
      const Found next = std::move(found_.front());
      found_.pop_front();
      if (auto proposal = proposal_of(now, next)) return proposal;
    }
    return planner_->propose(now);
  }
  Result<bool> replan(const Situation& now) override { return planner_->replan(now); }
  std::vector<plan::Step> remaining(const Situation& now) override { return planner_->remaining(now); }
  bool asks_models() const override { return planner_->asks_models(); }

 private:
  struct Found {
    std::string region, key;
    ArchivedKernel kernel;
  };

  // An archive that can't be read is an empty one.
  void look(const Situation& now) {
    auto keys = kernel_keys(now.context, now.best->plan);
    auto own = verifier::own_public_key();
    if (!keys || !own || !*own) return;
    std::set<std::string> seen;
    for (size_t r = 0; r < keys->size(); ++r) {
      const std::string& region = now.best->plan.regions[r].name;
      if (!seen.insert((*keys)[r]).second) continue;
      for (ArchivedKernel& kernel : kernels_for(now, (*keys)[r], region, **own))
        found_.push_back({region, (*keys)[r], std::move(kernel)});
    }
  }

  std::vector<ArchivedKernel> kernels_for(const Situation& now, const std::string& key,
                                          const std::string& region, const KeyBytes& own) const {
    auto entries = memory_.recall(store::Scope::kernel, key, known_.machine,
                                  std::string(name(now.context.numerics)), known_.until);
    std::vector<ArchivedKernel> out;
    if (!entries) return out;
    std::set<std::string> sources;
    for (auto one = entries->rbegin(); one != entries->rend(); ++one) {
      if (one->measured != now.ledger.measured) continue;
      auto kernel = read_kernel(*one, known_.version, own);
      if (!kernel) {
        const std::string text =
            format("an archived kernel for {} is ignored: {}", region, kernel.error().message);
        if (known_.events) known_.events->on(Notice{text});
      } else if (sources.insert(kernel->source.text).second) {
        out.push_back(*std::move(kernel));
      }
    }
    auto gain = [](const ArchivedKernel& each) { return each.before.value_or(0) - each.after.value_or(0); };
    std::ranges::stable_sort(out, std::ranges::greater(), gain);
    if (out.size() > most_of_a_region) out.resize(most_of_a_region);
    return out;
  }

  // Nothing where an earlier step changed the region, or the same source is there.
  std::optional<Proposal> proposal_of(const Situation& now, const Found& found) const {
    const plan::Plan& plan = now.best->plan;
    auto keys = kernel_keys(now.context, plan);
    if (!keys) return std::nullopt;
    auto fits = std::ranges::find(*keys, found.key);
    if (fits == keys->end()) return std::nullopt;
    const plan::Region& region = plan.regions[static_cast<size_t>(fits - keys->begin())];
    if (region.source) return std::nullopt;
    auto with = code::with_source(now.context, plan, region.name, found.kernel.source);
    if (!with) return std::nullopt;
    return Proposal{
        .step = format("archived {} {}", region.name, sha256(found.kernel.source.text).substr(0, 8)),
        .why = format("a kernel by {} that was kept before ({})", printable(found.kernel.source.author),
                      found.kernel.when.substr(0, 10)),
        .plan = *std::move(with),
        .predicted_seconds = now.best->predicted_seconds - 1e-9,
        .judging = Judging::wholly};
  }

  std::unique_ptr<Planner> planner_;
  const Remembering known_;
  store::Memory memory_;
  bool looked_ = false;
  std::deque<Found> found_;
};

}  // namespace

Result<std::vector<std::string>> kernel_keys(const plan::Context& context, const plan::Plan& plan) {
  plan::Plan bare = plan;
  for (plan::Region& region : bare.regions) {
    region.technique = &code::written();
    region.offer = {};
    region.choices.clear();
    region.source.reset();
  }
  STITCH_TRY(std::vector<code::RegionRequest> requests, code::requests_of(context, bare));
  std::vector<std::string> out;
  for (const code::RegionRequest& request : requests)
    out.push_back(format("{} {}", shorten(plan::signature_of(context.graph, request.region), 80),
                         sha256(code::structure_of(request)).substr(0, 32)));
  return out;
}

Result<std::vector<store::Observation>> observe_kernels(const Observer& observer,
                                                        const plan::Context& context, const plan::Plan& plan,
                                                        const plan::Plan* base, const LedgerEntry& entry,
                                                        int64_t number) {
  std::vector<store::Observation> out;
  const std::vector<std::string> changed =
      base ? plan::changed_regions(*base, plan) : std::vector<std::string>();
  auto is_new = [&](const plan::Region& region) {
    return region.source && std::ranges::find(changed, region.name) != changed.end();
  };
  if (std::ranges::none_of(plan.regions, is_new)) return out;
  STITCH_TRY(std::vector<std::string> keys, kernel_keys(context, plan));
  STITCH_TRY(KeyBytes seed, verifier::signing_key());
  std::set<std::string> seen;
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    const plan::Region& region = plan.regions[r];
    if (!is_new(region) || !seen.insert(keys[r]).second) continue;
    store::Observation one{.origin = observer.origin,
                           .number = number++,
                           .scope = store::Scope::kernel,
                           .signature = keys[r],
                           .machine = observer.machine,
                           .numerics = std::string(name(context.numerics)),
                           .version = observer.version,
                           .technique = "written by " + region.source->author,
                           .knobs = {},
                           .outcome = std::string(name(entry.outcome)),
                           .why = {},
                           .measured = observer.measured,
                           .when = verifier::utc_now(),
                           .document = {}};
    if (entry.before > 0) one.before = entry.before;
    if (entry.after > 0) one.after = entry.after;
    Json document = {{"function", region.source->function},
                     {"text", region.source->text},
                     {"author", region.source->author},
                     {"workspace_bytes", region.source->workspace_bytes}};
    // As it will be read back: broken UTF-8 is replaced.
    STITCH_TRY(document, parse_json(line_text(document)));
    document["signature"] = hex_of(sign(signed_text(one, document), seed));
    one.document = line_text(document);
    out.push_back(std::move(one));
  }
  return out;
}

Result<ArchivedKernel> read_kernel(const store::Observation& one, const std::string& version,
                                   const KeyBytes& key) {
  if (one.version != version)
    return user_error(
        "archive", format("it is of version {}, this is {}", shorten(printable(one.version), 40), version));
  auto document = parse_json(one.document);
  if (!document || !document->is_object()) return user_error("archive", "it can't be read");
  auto workspace = document->find("workspace_bytes");
  if (workspace == document->end() || !workspace->is_number_integer())
    return user_error("archive", "it can't be read");
  const auto signature = parse_signature(word(*document, "signature"));
  if (!signature || !is_signed_by(signed_text(one, *document), *signature, key))
    return user_error("archive", "its signature is not this installation's");
  return ArchivedKernel{.source = {.function = word(*document, "function"),
                                   .text = word(*document, "text"),
                                   .author = word(*document, "author"),
                                   .workspace_bytes = workspace->get<int64_t>()},
                        .when = one.when,
                        .before = one.before,
                        .after = one.after};
}

std::unique_ptr<Planner> archive_planner(std::unique_ptr<Planner> planner, Remembering remembering) {
  return std::make_unique<ArchivePlanner>(std::move(planner), std::move(remembering));
}

namespace {

constexpr std::string_view remembered_step = "remembered";
// A step that failed with several regions in it proves nothing of one of them, until it has happened often.
constexpr int often = 3;

class RememberingPlanner final : public Planner {
 public:
  RememberingPlanner(std::unique_ptr<Planner> planner, Remembering remembering)
      : planner_(std::move(planner)), memory_(*remembering.store), known_(std::move(remembering)) {}

  Result<std::optional<Proposal>> propose(const Situation& now) override {
    if (!asked_) {
      asked_ = true;
      recall_graph(now);
      if (auto proposal = remembered_program(now)) return proposal;
    }
    for (;;) {
      STITCH_TRY(std::optional<Proposal> proposal, planner_->propose(seen_by_planner(now)));
      began_ = true;
      if (!proposal) return proposal;
      if (proposal->needed) {
        without_refused_regions(now, *proposal);
        return proposal;
      }
      std::string why;
      const std::string step = observed_step(proposal->step, proposal->to_write.empty() ? "" : known_.coder);
      if (auto found = refused_.find(step); found != refused_.end())
        why = found->second;
      else
        why = without_refused_regions(now, *proposal);
      if (why.empty()) return proposal;
      if (known_.events) known_.events->on(RefusedBefore{proposal->step, why});
    }
  }

  Result<bool> replan(const Situation& now) override { return planner_->replan(seen_by_planner(now)); }
  std::vector<plan::Step> remaining(const Situation& now) override {
    std::vector<plan::Step> out = planner_->remaining(seen_by_planner(now));
    std::erase_if(out, [&](const plan::Step& step) { return refused_.contains(step.title); });
    return out;
  }

  bool asks_models() const override { return planner_->asks_models(); }

 private:
  // If the remembered program failed, the Planner begins at its beginning.
  Situation seen_by_planner(const Situation& now) const {
    Situation out = now;
    if (!began_ && !now.best) out.plan = nullptr;
    return out;
  }

  // An error of the memory is no knowledge.
  std::vector<store::Observation> recall(store::Scope scope, const std::string& signature,
                                         const Situation& now) const {
    auto found = memory_.recall(scope, signature, known_.machine, std::string(name(now.context.numerics)),
                                known_.until);
    if (!found) return {};
    // What another version refused, this one may do better.
    std::erase_if(*found, [&](const store::Observation& one) {
      return scope != store::Scope::program && one.version != known_.version;
    });
    return *std::move(found);
  }

  void recall_graph(const Situation& now) {
    graph_ = plan::graph_hash(now.context.graph);
    for (const store::Observation& one : recall(store::Scope::step, graph_, now)) {
      if (one.technique == remembered_step) {
        if (is_refusal(one)) refused_programs_.insert(one.knobs);
      } else if (is_refusal(one)) {
        refused_[one.technique] = format("{} ({})", one.why, one.when.substr(0, 10));
      } else if (one.outcome == name(Outcome::better)) {
        refused_.erase(one.technique);  // later than the refusal
      }
    }
  }

  std::optional<Proposal> remembered_program(const Situation& now) const {
    auto programs = recall(store::Scope::program, graph_, now);
    std::erase_if(programs, [&](const store::Observation& one) {
      return refused_programs_.contains(store::blob_hash(one.document)) ||
             one.measured != now.ledger.measured;
    });
    // The fastest; of programs as fast as each other, the last.
    std::ranges::reverse(programs);
    std::ranges::stable_sort(programs, {},
                             [](const store::Observation& one) { return one.after.value_or(1e30); });
    for (const store::Observation& one : programs) {
      auto document = parse_json(one.document);
      if (!document) continue;
      auto plan = plan::read_plan(*document, now.context, code::catalogue());
      if (!plan) continue;  // of a technique that is no longer there
      const double seconds = plan::estimate(now.context, *plan);
      Proposal out{.step = std::string(remembered_step),
                   .why = format("the best program of earlier runs ({})", one.when.substr(0, 10)),
                   .plan = *std::move(plan),
                   .predicted_seconds = seconds,
                   .judging = Judging::as_shipped};
      auto settings = parse_json(one.knobs);
      if (settings && settings->is_object())
        for (const auto& [name, value] : settings->items())
          if (value.is_number_integer()) out.settings[name] = value.get<int64_t>();
      return out;
    }
    return std::nullopt;
  }

  // Why a region should not be made this way; empty: nothing is known against it.
  std::string against(const Situation& now, const plan::Region& region) {
    const std::string technique = technique_of(region), knobs = knobs_of(region);
    std::string why;
    int refusals = 0;
    for (const store::Observation& one :
         recall(store::Scope::region, plan::signature_of(now.context.graph, region), now)) {
      if (one.technique != technique || one.knobs != knobs) continue;
      if (one.outcome == name(Outcome::better)) return "";
      if (!is_refusal(one)) continue;
      // Slower in one program need not be slower in another.
      const bool alone = one.among == 1 && one.outcome != name(Outcome::not_better);
      refusals += alone ? often : 1;
      why = format("{} ({})", one.why, one.when.substr(0, 10));
    }
    return refusals >= often ? why : "";
  }

  // Changes that are known to fail are taken out of the step; why, if nothing is left of it.
  std::string without_refused_regions(const Situation& now, Proposal& proposal) {
    plan::Plan plain;
    if (!now.best) {
      auto first = plan::first_plan(now.context, code::catalogue());
      if (!first) return "";
      plain = *std::move(first);
    }
    const plan::Plan& base = now.best ? now.best->plan : plain;
    std::vector<plan::Change> changes = plan::difference(now.context.graph, base, proposal.plan);
    std::map<std::string, const plan::Region*> regions;
    for (const plan::Region& region : proposal.plan.regions) regions[region.name] = &region;
    std::string why;
    const auto refused = std::erase_if(changes, [&](const plan::Change& change) {
      return std::ranges::any_of(change.after, [&](const std::string& name) {
        auto found = regions.find(name);
        const std::string reason = found == regions.end() ? "" : against(now, *found->second);
        if (!reason.empty()) why = reason;
        return !reason.empty();
      });
    });
    if (refused > 0) {
      if (changes.empty()) return "on regions of this kind: " + why;
      auto rest = plan::take_changes(now.context.graph, base, proposal.plan, changes);
      // Neither part nor whole is known to be bad for certain: the whole it is.
      if (rest && plan::check_whole(now.context, *rest)) {
        rest->steps = proposal.plan.steps;
        proposal.plan = *std::move(rest);
        proposal.predicted_seconds = plan::estimate(now.context, proposal.plan);
        if (now.best) proposal.predicted_gain = predicted_gain(now.context, *now.best, proposal.plan);
        proposal.why +=
            format("; not where it was refused before ({} of {})", refused, refused + changes.size());
      }
    }
    return "";
  }

  std::unique_ptr<Planner> planner_;
  store::Memory memory_;
  const Remembering known_;
  bool asked_ = false, began_ = false;  // for the remembered program; the Planner behind this
  std::string graph_;
  std::map<std::string, std::string> refused_;  // steps of this graph, and why
  std::set<std::string> refused_programs_;      // by the hash of their plan
};

}  // namespace

std::unique_ptr<Planner> remembering_planner(std::unique_ptr<Planner> planner, Remembering remembering) {
  return std::make_unique<RememberingPlanner>(std::move(planner), std::move(remembering));
}

}  // namespace stitch::agents
