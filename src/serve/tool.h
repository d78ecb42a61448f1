// What a client may ask for: a name, a schema of arguments, what is done. Tools know no protocol.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace stitch::serve {

// What a tool may do while it runs.
class Call {
 public:
  virtual ~Call() = default;
  virtual void progress(std::string_view text) = 0;
  // The client gave it up: return soon, whatever with.
  virtual bool stopped() const = 0;
  // A document too large for an answer, or worth reading again: kept under a URI of this kind.
  virtual std::string keep(std::string_view kind, std::string_view title, std::string text) = 0;
};

struct Answer {
  std::string text;                        // for people and models
  std::shared_ptr<const Json> structured;  // the same for programs: an object
  std::vector<std::string> resources;      // URIs of what was kept
};

struct Tool {
  std::string name, title, description;
  std::shared_ptr<const Json> schema;  // of the arguments: schema.h
  bool quick = false;                  // answers at once, beside whatever runs
  bool writes_files = false;
  bool runs_code = false;              // a model's Python, or a candidate
  std::shared_ptr<const Json> output;  // of the structured answer: schema.h; null: not described
  std::function<Result<Answer>(const Json& arguments, Call& call)> run;
};

}  // namespace stitch::serve
