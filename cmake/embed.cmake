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
