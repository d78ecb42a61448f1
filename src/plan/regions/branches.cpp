#include "plan/regions/fusion.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "plan/cost/estimate.h"
#include "plan/cost/live_memory.h"

namespace stitch::plan {

namespace {

constexpr int most_branches = 4;
// What fills the GPU for longer than this has no room beside it.
constexpr double small_seconds = 3.73e-6;

struct Branch {
  std::vector<size_t> regions;
  double seconds = 0;

  void add(size_t region, double more) {
    regions.push_back(region);
    seconds += more;
  }
};

// Roughly: only to tell long branches from short ones.
double alone_seconds(const GpuSpec& gpu, const Work& work) {
  return gpu.kernel_overhead + work.bytes / gpu.bandwidth + work.flops / (0.5 * gpu.tensor_fp16);
}

// Alone on the GPU: by its bytes, or by its operations, products among them.
bool is_small(const GpuSpec& gpu, const Work& work) {
  return work.bytes <= small_seconds * gpu.bandwidth && work.flops <= small_seconds * gpu.tensor_fp16;
}

class Brancher {
 public:
  Brancher(const Context& context, Plan plan)
      : graph_(context.graph), gpu_(context.gpu), plan_(std::move(plan)) {}

  // The plan with sections, or nothing if there are none to be had.
  std::optional<Plan> run() {
    begin_ = constants_first();
    const std::vector<Region>& regions = plan_.regions;
    seconds_.resize(regions.size());
    for (size_t r = 0; r < regions.size(); ++r)
      for (ValueId id : regions[r].writes) writer_[id] = r;
    for (size_t r = begin_; r < regions.size(); ++r) {
      const Work work = work_of(graph_, plan_, regions[r]);
      seconds_[r] = alone_seconds(gpu_, work);
      if (regions[r].section != 0 || !is_small(gpu_, work)) {
        close(r);
        begin_ = r + 1;
        branches_.clear();
      } else {
        add(r);
      }
    }
    close(regions.size());
    if (sections_ == 0) return std::nullopt;
    return std::move(plan_);
  }

 private:
  // They run when a program is created, and would only stand between others.
  size_t constants_first() {
    const std::vector<bool> constant = constant_regions(graph_, plan_);
    std::vector<Region> first, rest;
    for (size_t r = 0; r < constant.size(); ++r)
      (constant[r] ? first : rest).push_back(std::move(plan_.regions[r]));
    const size_t count = first.size();
    std::ranges::move(rest, std::back_inserter(first));
    plan_.regions = std::move(first);
    return count;
  }

  // What a region reads of the regions from begin_ on.
  std::set<size_t> sources(size_t r) const {
    std::set<size_t> out;
    for (ValueId id : plan_.regions[r].reads)
      if (auto found = writer_.find(id); found != writer_.end() && found->second >= begin_)
        out.insert(found->second);
    return out;
  }

  size_t branch_of(size_t r) const {
    for (size_t b = 0; b < branches_.size(); ++b)
      if (std::ranges::find(branches_[b], r) != branches_[b].end()) return b;
    return branches_.size();
  }

  void add(size_t r) {
    const std::set<size_t> from = sources(r);
    if (from.empty()) {
      branches_.push_back({r});
      return;
    }
    std::set<size_t> met;
    for (size_t source : from) met.insert(branch_of(source));
    if (met.size() > 1) {
      start_at(r, r);
    } else if (std::vector<size_t>& branch = branches_[*met.begin()]; branch.back() == *from.rbegin()) {
      branch.push_back(r);
    } else {
      start_at(*from.rbegin() + 1, r);  // here ways part
    }
  }

  // A new section from `begin` on, in which everything up to `r` finds its branch.
  void start_at(size_t begin, size_t r) {
    close(begin);
    begin_ = begin;
    branches_.clear();
    for (size_t each = begin; each <= r; ++each) add(each);
  }

  // What came before `end` is a section, if there is more than one way through it.
  void close(size_t end) {
    std::vector<Branch> branches;
    for (const std::vector<size_t>& regions : branches_) {
      Branch branch;
      for (size_t r : regions)
        if (r < end) branch.add(r, seconds_[r]);
      if (!branch.regions.empty()) branches.push_back(std::move(branch));
    }
    if (branches.size() < 2) return;
    ++sections_;
    // Long ones first, each beside the shortest so far.
    std::ranges::stable_sort(branches, std::greater{}, &Branch::seconds);
    std::vector<Branch> sides(std::min<size_t>(branches.size(), most_branches));
    for (const Branch& branch : branches) {
      Branch& side = *std::ranges::min_element(sides, {}, &Branch::seconds);
      for (size_t r : branch.regions) side.add(r, seconds_[r]);
    }
    const double second = sides[1].seconds;
    for (size_t b = 0; b < sides.size(); ++b) {
      double passed = 0;
      for (size_t r : sides[b].regions) {
        // The rest of a long branch runs alone, after the section: dead values are freed by then.
        if (b == 0 && passed >= second) break;
        passed += seconds_[r];
        plan_.regions[r].section = sections_;
        plan_.regions[r].branch = static_cast<int>(b);
      }
    }
    std::stable_partition(plan_.regions.begin() + static_cast<ptrdiff_t>(begin_),
                          plan_.regions.begin() + static_cast<ptrdiff_t>(end),
                          [](const Region& region) { return region.section > 0; });
  }

  const Graph& graph_;
  const GpuSpec& gpu_;
  Plan plan_;
  std::map<ValueId, size_t> writer_;
  std::vector<double> seconds_;
  size_t begin_ = 0;
  std::vector<std::vector<size_t>> branches_;  // of the section that begins there
  int sections_ = 0;
};

}  // namespace

namespace {

bool has_one_branch(const Plan& plan, size_t first, size_t end) {
  return std::all_of(plan.regions.begin() + static_cast<ptrdiff_t>(first),
                     plan.regions.begin() + static_cast<ptrdiff_t>(end),
                     [&](const Region& region) { return region.branch == plan.regions[first].branch; });
}

// The first regions of all branches, then the second ones.
void interleave(Plan& plan, size_t first, size_t end) {
  std::map<int, int> so_far;
  std::vector<std::pair<int, Region>> placed;
  for (size_t r = first; r < end; ++r)
    placed.emplace_back(so_far[plan.regions[r].branch]++, std::move(plan.regions[r]));
  std::ranges::stable_sort(placed, {}, &std::pair<int, Region>::first);
  for (size_t r = first; r < end; ++r) plan.regions[r] = std::move(placed[r - first].second);
}

// Regions [first, end) as a section of its own, if there is more than one way through it.
void make_section(Plan& plan, size_t first, size_t end, int number) {
  std::map<int, int> branches;
  for (size_t r = first; r < end; ++r)
    branches.try_emplace(plan.regions[r].branch, static_cast<int>(branches.size()));
  for (size_t r = first; r < end; ++r) {
    plan.regions[r].section = branches.size() > 1 ? number : 0;
    plan.regions[r].branch = branches.size() > 1 ? branches[plan.regions[r].branch] : 0;
  }
}

// What runs at once has its memory at once: sections that hold too much are halved until they don't.
Plan within_memory(const Context& context, Plan plan, int64_t allowed) {
  int sections = 0;
  for (const Region& region : plan.regions) sections = std::max(sections, region.section);
  for (bool changed = true; changed;) {
    changed = false;
    const LiveMemory live = live_memory(context, plan);
    for (const Section& section : sections_of(plan)) {
      if (live.at[section.first] <= allowed) continue;
      const size_t middle = section.first + (section.end - section.first) / 2;
      if (has_one_branch(plan, section.first, middle) && has_one_branch(plan, middle, section.end))
        interleave(plan, section.first, section.end);
      make_section(plan, section.first, middle, ++sections);
      make_section(plan, middle, section.end, ++sections);
      changed = true;
    }
  }
  return plan;
}

}  // namespace

Result<Plan> run_side_by_side(const Context& context, Plan plan, const Catalogue&) {
  if (context.lean) return plan;
  auto branched = Brancher(context, plan).run();
  if (!branched) return plan;
  const int64_t allowed = std::max(memory_allowed(context.graph), live_memory(context, plan).peak);
  return within_memory(context, *std::move(branched), allowed);
}

}  // namespace stitch::plan
