# Headers that most files include (the standard library, JSON, formatting, GoogleTest), compiled once for all rooms
# and once for all tests. Files still include what they use: a precompiled header only makes that cheap, and
# `./dev tidy` and -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON build without.

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A compiler that refuses one (other flags, say) reads the headers instead.
  add_compile_options(-Wno-error=invalid-pch)
  # A twelfth of its time goes into collecting garbage of a heap that fits into memory.
  add_compile_options(--param=ggc-min-heapsize=1000000)
endif()
if(CCACHE AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  # What ccache's manual asks for with precompiled headers.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()

# Loops over whole tensors are worth the compiler's time, and so, less, is the search for plans, which takes seconds.
# The rest runs for milliseconds and is compiled as the preset says: -O2 in a release, -Og in dev.
set(optimise_well "")
set(optimise_some "")
if(NOT STITCHCUDA_SANITIZE)
  set(optimise_well $<$<NOT:$<CONFIG:Debug>>:-O3>)
  set(optimise_some $<$<NOT:$<OR:$<CONFIG:Debug>,$<CONFIG:Release>>>:-O1>)
endif()

# add_precompiled(NAME HEADERS … DEPENDS …): the owner that other targets name in REUSE_FROM, so that none of them
# waits for a whole room.
function(add_precompiled name)
  cmake_parse_arguments(PRECOMPILED "" "" "HEADERS;DEPENDS" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Nothing: a target needs a source.\n")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${name} PRIVATE ${PRECOMPILED_DEPENDS})
  target_precompile_headers(${name} PRIVATE ${PRECOMPILED_HEADERS})
endfunction()

set(formatting "")
if(fmt_FOUND)
  set(formatting fmt::fmt)
endif()
set(common_headers <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem>
    <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <thread>
    <utility> <variant> <vector> <nlohmann/json_fwd.hpp> ${CMAKE_SOURCE_DIR}/src/base/format.h)
set(common_libraries nlohmann_json::nlohmann_json Threads::Threads ${formatting})
add_precompiled(stitch_headers HEADERS ${common_headers} DEPENDS ${common_libraries})
add_precompiled(stitch_hot_headers HEADERS ${common_headers} DEPENDS ${common_libraries})
target_compile_options(stitch_hot_headers PRIVATE ${optimise_well})
add_precompiled(stitch_warm_headers HEADERS ${common_headers} DEPENDS ${common_libraries})
target_compile_options(stitch_warm_headers PRIVATE ${optimise_some})
if(STITCHCUDA_TESTS)
  find_package(GTest REQUIRED)
  add_precompiled(stitch_test_headers HEADERS ${common_headers} <gtest/gtest.h> DEPENDS ${common_libraries} GTest::gtest)
  target_compile_options(stitch_test_headers PRIVATE -O0)
endif()

# Tests run once after they are compiled: what they call is optimised, they themselves are not.
function(compile_as_test target)
  target_precompile_headers(${target} REUSE_FROM stitch_test_headers)
  target_compile_options(${target} PRIVATE -O0)
endfunction()
