// Other ways for the regions that are furthest from their floor. One program tries a way for several kinds of
// regions at once, and its profile says of each kind whether it won: builds are few, and regions many.
#pragma once

#include <optional>
#include <string>

#include "agents/loop/ledger.h"
#include "agents/roles.h"
#include "plan/plan.h"

namespace stitch::agents {

class Alternatives {
 public:
  // The next program to judge: a trial of other ways, or the best one with those that won. Nothing: no way is
  // left that could gain, or nothing is measured.
  std::optional<Proposal> next(const Situation& now);
  void add_untried(std::vector<plan::Step>& out) const;

 private:
  // Regions that differ in names and weights alone.
  struct Kind {
    std::vector<std::string> regions;
    std::vector<plan::Region> ways;  // of the first region, most promising first; tried from the front
    double seconds = 0;              // of all its regions, measured
    double above_floor = 0;          // of that
  };
  struct Trial {
    plan::Plan base;
    std::map<std::string, double> before;  // seconds by region
    std::vector<std::pair<Kind, plan::Region>> changes;
  };

  void find(const Situation& now);
  std::optional<Proposal> with_winners(const Situation& now);
  std::optional<Proposal> trial(const Situation& now);

  bool found_ = false;
  int trials_ = 0;
  std::vector<Kind> kinds_;     // with ways left, most above the floor first
  std::optional<Trial> asked_;  // of the last proposal
};

// A step that failed in one region is applied to the others.

// The region that made a program fail, if the Verifier found one that is wrong alone; else empty.
std::string wrong_region_of(const LedgerEntry& entry);

// `after`, with the change that contains this region undone. Nothing if that undoes all changes or none.
std::optional<plan::Plan> without_region(const Graph& graph, const plan::Plan& before,
                                         const plan::Plan& after, const std::string& region);

}  // namespace stitch::agents
