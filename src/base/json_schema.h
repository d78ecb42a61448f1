// Whether a document is what a JSON Schema asks for. The part of JSON Schema that we write: type, properties,
// required, additionalProperties, enum, const, items, minItems, maxItems, minimum, maximum, exclusiveMinimum,
// exclusiveMaximum, minLength, maxLength, anyOf, oneOf, allOf, $ref to #/…. Annotations (description, title,
// …) mean nothing; any other keyword is a Bug, for it would be silently unchecked.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace stitch {

struct SchemaViolation {
  std::string path;     // regions[2].name; empty for the document itself
  std::string message;  // "must be an integer, is \"7\""
  std::string text() const;
};

// At most `limit` of them; none: the document is fine.
std::vector<SchemaViolation> schema_violations(const Json& document, const Json& schema, size_t limit = 20);

}  // namespace stitch
