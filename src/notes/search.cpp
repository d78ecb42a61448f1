#include "notes/search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "notes/words.h"

namespace stitch::notes {

namespace {

// Saturation and length as usual; notes are of about one length, so that it counts for less.
constexpr double k1 = 1.2, b = 0.5;

struct Indexed {
  std::map<std::string, double> counts;  // weighted
  double length = 0;
};

Indexed index(const Note& note) {
  Indexed out;
  auto add = [&](std::string_view text, double weight) {
    for (std::string& word : words_of(text)) {
      out.counts[std::move(word)] += weight;
      out.length += weight;
    }
  };
  std::string name = note.name;
  std::ranges::replace(name, '-', ' ');
  add(note.title, 4);
  add(name, 2);
  add(join(note.tags, " "), 3);
  add(note.when, 2);
  add(note.body, 1);
  return out;
}

}  // namespace

std::vector<Hit> search(const Collection& all, std::string_view question, size_t most,
                        std::string_view architecture) {
  std::vector<Indexed> indexed;
  std::map<std::string, int> notes_with;
  double length = 0;
  for (const Note& note : all) {
    indexed.push_back(index(note));
    length += indexed.back().length;
    for (const auto& [word, count] : indexed.back().counts) ++notes_with[word];
  }
  const double mean = all.empty() ? 1 : length / static_cast<double>(all.size());
  const std::vector<std::string> asked_words = words_of(question);
  const std::set<std::string> asked(asked_words.begin(), asked_words.end());

  std::vector<Hit> hits;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!architecture.empty() && !all[i].applies(architecture)) continue;
    double score = 0;
    for (const std::string& word : asked) {
      auto found = indexed[i].counts.find(word);
      if (found == indexed[i].counts.end()) continue;
      const double with = notes_with[word], without = static_cast<double>(all.size()) - with;
      const double rarity = std::log(1 + (without + 0.5) / (with + 0.5));
      score +=
          rarity * found->second * (k1 + 1) / (found->second + k1 * (1 - b + b * indexed[i].length / mean));
    }
    if (score > 0) hits.push_back({&all[i], score});
  }
  std::ranges::stable_sort(hits, std::ranges::greater{}, &Hit::score);
  if (hits.size() > most) hits.resize(most);
  return hits;
}

}  // namespace stitch::notes
