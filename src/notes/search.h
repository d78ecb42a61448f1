// Which notes a question is about: BM25 over their words, titles and tags counting more than text.
#pragma once

#include <string_view>
#include <vector>

#include "notes/collection.h"

namespace stitch::notes {

struct Hit {
  const Note* note;  // of the collection
  double score;
};

// The best first; none that shares no word with the question. architecture: empty means all.
std::vector<Hit> search(const Collection& all, std::string_view question, size_t most = 5,
                        std::string_view architecture = {});

}  // namespace stitch::notes
