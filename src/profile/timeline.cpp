#include "profile/timeline.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/format.h"

namespace stitch::profile {

namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// The runtime calls the driver: of nested calls of a thread only the outer one is told.
std::vector<Activity> outermost(std::vector<Activity> calls) {
  std::ranges::stable_sort(calls, [](const Activity& a, const Activity& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  std::map<int64_t, int64_t> covered;  // by thread, until when
  std::vector<Activity> out;
  for (Activity& call : calls) {
    auto [until, first] = covered.try_emplace(call.stream, call.start_ns);
    if (!first && call.end_ns <= until->second) continue;
    until->second = std::max(until->second, call.end_ns);
    out.push_back(std::move(call));
  }
  return out;
}

// How long of [start, end) the host was inside calls that wait.
int64_t waited(const std::vector<Activity>& host, int64_t start, int64_t end) {
  int64_t sum = 0;
  for (const Activity& call : host) {
    if (call.start_ns >= end) break;
    if (waits_for_device(call.name))
      sum += std::max<int64_t>(0, std::min(end, call.end_ns) - std::max(start, call.start_ns));
  }
  return sum;
}

void add_to_sums(Summary& summary, std::map<std::string, size_t>& known, const Activity& activity,
                 size_t number) {
  auto [found, first] = known.try_emplace(activity.name, summary.by_name.size());
  if (first)
    summary.by_name.push_back({.name = activity.name,
                               .short_name = short_name(activity.name),
                               .kind = activity.kind,
                               .first = number});
  KernelSum& sum = summary.by_name[found->second];
  ++sum.count;
  sum.nanoseconds += activity.nanoseconds();
  sum.longest_ns = std::max(sum.longest_ns, activity.nanoseconds());
  sum.bytes += activity.bytes;
}

void add_host(Summary& summary, const Timeline& timeline) {
  for (const Activity& call : timeline.host) {
    ++summary.host_calls;
    summary.host_ns += call.nanoseconds();
    if (call.kind == ActivityKind::graph_launch) ++summary.graph_launches;
    if (waits_for_device(call.name)) {
      ++summary.synchronisations;
      summary.waiting_ns += call.nanoseconds();
    } else if (launches(call.name)) {
      summary.launching_ns += call.nanoseconds();
    }
  }
}

}  // namespace

std::string_view name(Side side) { return side == Side::pytorch ? "PyTorch" : "program"; }

std::string_view name(Times times) {
  return times == Times::measured ? "measured" : times == Times::estimated ? "estimated" : "none";
}

bool waits_for_device(std::string_view api_call) {
  if (contains(api_call, "Synchronize")) return true;
  // Copies that are not asynchronous wait for the device too.
  return (api_call.starts_with("cudaMemcpy") || api_call.starts_with("cuMemcpy")) &&
         !contains(api_call, "Async");
}

bool launches(std::string_view api_call) { return contains(api_call, "Launch"); }

std::string short_name(std::string_view kernel) {
  std::string_view text = kernel;
  if (text.starts_with("void ")) text.remove_prefix(5);
  // Up to the first argument list or template argument list that is not inside a namespace's name.
  size_t end = 0, begin = 0;
  for (; end < text.size(); ++end) {
    if (text.substr(end).starts_with("(anonymous namespace)::")) {
      end += std::string_view("(anonymous namespace)::").size() - 1;
      begin = end + 1;
    } else if (text.substr(end).starts_with("::")) {
      begin = end + 2;
      ++end;
    } else if (text[end] == '<' || text[end] == '(' || text[end] == ' ') {
      break;
    }
  }
  // Sentences ("copy host to device") stay whole.
  if (end < text.size() && text[end] == ' ') return std::string(kernel);
  return begin < end ? std::string(text.substr(begin, end - begin)) : std::string(kernel);
}

Timeline make_timeline(Side side, std::string device, std::vector<Activity> activities) {
  Timeline out{.side = side, .device = std::move(device)};
  for (Activity& activity : activities)
    (on_host(activity.kind) ? out.host : out.activities).push_back(std::move(activity));
  std::ranges::stable_sort(out.activities, {}, &Activity::start_ns);
  out.host = outermost(std::move(out.host));
  const bool timed =
      std::ranges::any_of(out.activities, [](const Activity& one) { return one.nanoseconds() > 0; });
  out.times = timed ? Times::measured : Times::none;
  if (out.activities.empty()) return out;
  int64_t origin = out.activities.front().start_ns;
  if (!out.host.empty()) origin = std::min(origin, out.host.front().start_ns);
  for (auto* list : {&out.activities, &out.host})
    for (Activity& activity : *list) {
      activity.start_ns -= origin;
      activity.end_ns -= origin;
    }
  return out;
}

Summary summarise(const Timeline& timeline) {
  Summary out;
  std::map<std::string, size_t> known;
  add_host(out, timeline);
  const std::vector<Activity>& all = timeline.activities;
  if (all.empty()) return out;
  int64_t last = all.front().start_ns;
  size_t last_number = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const Activity& activity = all[i];
    add_to_sums(out, known, activity, i);
    const bool kernel = activity.kind == ActivityKind::kernel;
    out.kernels += kernel;
    out.copies += activity.kind == ActivityKind::copy;
    out.fills += activity.kind == ActivityKind::fill;
    (kernel ? out.kernel_ns : out.copy_ns) += activity.nanoseconds();
    if (activity.start_ns > last)
      out.gaps.push_back(
          {last, activity.start_ns, last_number, i, waited(timeline.host, last, activity.start_ns)});
    // What runs side by side keeps the device busy once.
    out.busy_ns += std::max<int64_t>(0, activity.end_ns - std::max(activity.start_ns, last));
    if (activity.end_ns >= last) {
      last = activity.end_ns;
      last_number = i;
    }
  }
  out.span_ns = last - all.front().start_ns;
  std::ranges::stable_sort(out.by_name, std::greater(), &KernelSum::nanoseconds);
  return out;
}

Json to_json(const Summary& summary) {
  Json out = {{"span_ns", summary.span_ns},
              {"busy_ns", summary.busy_ns},
              {"idle_share", summary.idle_share()},
              {"kernel_ns", summary.kernel_ns},
              {"copy_ns", summary.copy_ns},
              {"kernels", summary.kernels},
              {"copies", summary.copies},
              {"fills", summary.fills},
              {"gaps", summary.gaps.size()},
              {"host_calls", summary.host_calls},
              {"host_ns", summary.host_ns},
              {"waiting_ns", summary.waiting_ns},
              {"launching_ns", summary.launching_ns},
              {"graph_launches", summary.graph_launches},
              {"synchronisations", summary.synchronisations},
              {"by_name", Json::array()}};
  for (const KernelSum& sum : summary.by_name)
    out["by_name"].push_back({{"name", sum.name},
                              {"short_name", sum.short_name},
                              {"kind", name(sum.kind)},
                              {"count", sum.count},
                              {"nanoseconds", sum.nanoseconds}});
  return out;
}

Json to_json(const Timeline& timeline) {
  Json out = {{"side", name(timeline.side)},
              {"device", timeline.device},
              {"times", name(timeline.times)},
              {"activities", Json::array()},
              {"host", Json::array()}};
  if (!timeline.note.empty()) out["note"] = timeline.note;
  for (const Activity& activity : timeline.activities) out["activities"].push_back(to_json(activity));
  for (const Activity& call : timeline.host) out["host"].push_back(to_json(call));
  return out;
}

}  // namespace stitch::profile
