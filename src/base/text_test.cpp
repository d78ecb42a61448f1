#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/bulk.h"
#include "base/json_schema.h"
#include "base/text.h"

namespace stitch {

namespace {

TEST(Text, NumbersReadBackExactly) {
  EXPECT_EQ(number_text(3), "3.0");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(-INFINITY), "-inf");
  for (double value : {1e-310, 1e300, 2.0 / 3, -0.0})
    EXPECT_EQ(std::signbit(*parse_number(number_text(value))), std::signbit(value));
  EXPECT_TRUE(std::isnan(*parse_number("nan")));
  EXPECT_FALSE(parse_number("1.5x"));
  EXPECT_FALSE(parse_integer("99999999999999999999"));
}

TEST(Text, QuotingIsUndone) {
  std::string odd = "a\"b\\c\nd\te\x01 é";
  EXPECT_EQ(*unquote(quote(odd)), odd);
  EXPECT_FALSE(unquote("\"open"));
  EXPECT_FALSE(unquote("\"\\q\""));
}

TEST(Text, UnitsKeepThreeDigits) {
  EXPECT_EQ(si(11689512), "11.7 M");
  EXPECT_EQ(si(999.9), "1.00 k");
  EXPECT_EQ(si(7), "7");
  EXPECT_EQ(bytes_text(46.8e6), "46.8 MB");
  EXPECT_EQ(seconds_text(0.00031), "310 us");
  EXPECT_EQ(seconds_text(13800), "3.83 h");
  EXPECT_EQ(seconds_text(-1.2e-6), "−1.2 us") << "a loss is no zero";
}

TEST(Text, NearestKnowsTyposFromStrangers) {
  std::vector<std::string> words = {"import", "show", "doctor"};
  EXPECT_EQ(nearest("improt", words), "import");
  EXPECT_EQ(nearest("docter", words), "doctor");
  EXPECT_FALSE(nearest("xyzzy", words));
  EXPECT_EQ(nearest("modle", std::vector<std::string>{"mode", "model", "models"}), "model");
}

// The violations of a document, one a line.
std::string said(const char* document, const char* schema) {
  std::vector<std::string> lines;
  for (const SchemaViolation& one : schema_violations(Json::parse(document), Json::parse(schema)))
    lines.push_back(one.text());
  return join(lines, "\n");
}

TEST(JsonSchema, Types) {
  EXPECT_EQ(said("7", R"({"type": "integer"})"), "");
  EXPECT_EQ(said("7.0", R"({"type": "integer"})"), "");
  EXPECT_EQ(said("7.5", R"({"type": "integer"})"), "must be of type integer, is 7.5");
  EXPECT_EQ(said("7", R"({"type": "number"})"), "");
  EXPECT_EQ(said("null", R"({"type": ["string", "null"]})"), "");
  EXPECT_EQ(said("[]", R"({"type": ["string", "null"]})"), "must be of type string or null, is []");
  EXPECT_EQ(said("true", R"({"type": "number"})"), "must be of type number, is true");
}

TEST(JsonSchema, Objects) {
  const char* schema = R"({"type": "object", "required": ["name", "size"], "additionalProperties": false,
    "properties": {"name": {"type": "string", "minLength": 1}, "size": {"type": "integer", "minimum": 1, "maximum": 9}}})";
  EXPECT_EQ(said(R"({"name": "a", "size": 3})", schema), "");
  EXPECT_EQ(said(R"({"name": "a"})", schema), "\"size\" is missing");
  EXPECT_EQ(said(R"({"nam": "", "name": "", "size": 12})", schema),
            "\"nam\" is not known here; did you mean \"name\"?\nname: must have a length of at least 1, is "
            "\"\"\nsize: must be at most 9, is 12");
  EXPECT_EQ(said(R"({"a": 1, "b": "x"})", R"({"additionalProperties": {"type": "integer"}})"),
            "b: must be of type integer, is \"x\"");
}

TEST(JsonSchema, ArraysEnumsAndPaths) {
  const char* schema =
      R"({"type": "object", "properties": {"regions": {"type": "array", "minItems": 1, "maxItems": 2,
    "items": {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "version": {"const": 2}}}}}})";
  EXPECT_EQ(said(R"({"regions": [{"kind": "a", "version": 2}]})", schema), "");
  EXPECT_EQ(said(R"({"regions": []})", schema), "regions: must have at least 1 items, has 0");
  EXPECT_EQ(said(R"({"regions": [{}, {"kind": "c", "version": 3}]})", schema),
            "regions[1].kind: must be one of \"a\", \"b\", is \"c\"\nregions[1].version: must be 2, is 3");
}

TEST(JsonSchema, ChoicesAndReferences) {
  EXPECT_EQ(said("1", R"({"anyOf": [{"type": "integer"}, {"type": "number"}]})"), "");
  EXPECT_EQ(said("1", R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})"),
            "fits 2 of the choices where it must fit one");
  EXPECT_EQ(said("\"z\"", R"({"oneOf": [{"const": "x", "description": "the x"}, {"const": "y"}]})"),
            "must be one of \"x\", \"y\", is \"z\"");
  EXPECT_EQ(said("2", R"({"allOf": [{"minimum": 3}, {"exclusiveMaximum": 2}]})"),
            "must be at least 3, is 2\nmust be below 2, is 2");
  const char* tree = R"({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "required": ["value"],
    "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}}}})";
  EXPECT_EQ(said(R"({"value": 1, "next": {"value": 2, "next": {"value": 3}}})", tree), "");
  EXPECT_EQ(said(R"({"value": 1, "next": {"value": 2, "next": {}}})", tree),
            "next.next: \"value\" is missing");
}

TEST(JsonSchema, SaysNoMoreThanTheLimit) {
  Json list = Json::array();
  for (int i = 0; i < 100; ++i) list.push_back("x");
  EXPECT_EQ(schema_violations(list, Json::parse(R"({"items": {"type": "integer"}})"), 5).size(), 5u);
}

TEST(JsonSchema, AKeywordThatIsNotCheckedIsABug) {
  EXPECT_THROW(said("1", R"({"multipleOf": 2})"), Bug);
  EXPECT_THROW(said("1", R"({"$ref": "#", "type": "integer"})"), Bug);
}

std::vector<std::byte> bytes_of(size_t size) {
  std::vector<std::byte> out(size);
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  return out;
}

TEST(Bulk, CopiesAreEqualUntilOneByteChanges) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{4} << 20, (size_t{37} << 20) + 5}) {
    const std::vector<std::byte> from = bytes_of(size);
    BulkBytes copy = bulk_copy_of(from);
    EXPECT_TRUE(equal_bulk(copy.bytes, from)) << size;
    if (size == 0) continue;
    std::vector<std::byte> other = from;
    EXPECT_TRUE(equal_bulk(other, from));
    other.back() ^= std::byte{1};
    EXPECT_FALSE(equal_bulk(other, from)) << size;
    other.pop_back();
    EXPECT_FALSE(equal_bulk(other, from)) << size;
  }
}

}  // namespace

}  // namespace stitch
