# Text files inside the binary: embed_text(TARGET FILE SYMBOL) defines
#   namespace stitch { extern const std::string_view embedded_SYMBOL; }
# The file is read when CMake runs, and CMake runs again when the file changes.

function(embed_text target file symbol)
  set(path ${CMAKE_SOURCE_DIR}/${file})
  file(READ ${path} content)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  set(generated ${CMAKE_BINARY_DIR}/embedded/${symbol}.cpp)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT [==[
// Made from @file@ by cmake/embed.cmake.
#include <string_view>
namespace stitch {
extern const std::string_view embedded_@symbol@;
const std::string_view embedded_@symbol@ = R"--embedded--(@content@)--embedded--";
}  // namespace stitch
]==])
  target_sources(${target} PRIVATE ${generated})
endfunction()

# The same of a file that is no text: embed_bytes(TARGET FILE SYMBOL) defines
#   namespace stitch { extern const std::span<const unsigned char> embedded_SYMBOL; }
function(embed_bytes target file symbol)
  set(path ${CMAKE_SOURCE_DIR}/${file})
  file(READ ${path} content HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," content "${content}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  set(generated ${CMAKE_BINARY_DIR}/embedded/${symbol}.cpp)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT [==[
// Made from @file@ by cmake/embed.cmake.
#include <span>
namespace stitch {
static constexpr unsigned char bytes[] = {@content@};
extern const std::span<const unsigned char> embedded_@symbol@;
const std::span<const unsigned char> embedded_@symbol@{bytes};
}  // namespace stitch
]==])
  target_sources(${target} PRIVATE ${generated})
endfunction()

# Every NAME.md of a folder: embed_folder(TARGET FOLDER SYMBOL) defines
#   namespace stitch { extern const std::span<const std::pair<std::string_view, std::string_view>> embedded_SYMBOL; }
# names without .md, in their order, and texts. CMake runs again when a file changes, comes or goes.
function(embed_folder target folder symbol)
  file(GLOB paths CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.md)
  list(SORT paths)
  set(entries "")
  foreach(path IN LISTS paths)
    get_filename_component(name ${path} NAME_WLE)
    if(name STREQUAL README)
      continue()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    file(READ ${path} content)
    string(APPEND entries "    {\"${name}\", R\"--embedded--(${content})--embedded--\"},\n")
  endforeach()
  set(generated ${CMAKE_BINARY_DIR}/embedded/${symbol}.cpp)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT [==[
// Made from @folder@ by cmake/embed.cmake.
#include <span>
#include <string_view>
#include <utility>
namespace stitch {
namespace {
constexpr std::pair<std::string_view, std::string_view> files[] = {
@entries@};
}  // namespace
extern const std::span<const std::pair<std::string_view, std::string_view>> embedded_@symbol@;
const std::span<const std::pair<std::string_view, std::string_view>> embedded_@symbol@ = files;
}  // namespace stitch
]==])
  target_sources(${target} PRIVATE ${generated})
endfunction()
