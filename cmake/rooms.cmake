# A room is a folder of src/: its sources make a library, its *_test.cpp one test program,
# its *_bench.cpp one benchmark program, each *_fuzz.cpp a fuzz target.

# Paths of this checkout, for the one file that needs them: the others compile alike in every checkout, so that
# a compiler cache serves them all. What is installed elsewhere (STITCHCUDA_RELOCATABLE) knows none: it looks beside itself.
function(define_path_for source)
  if(NOT STITCHCUDA_RELOCATABLE)
    define_for(${source} ${ARGN})
  endif()
endfunction()
function(define_for source)
  set_property(SOURCE ${CMAKE_SOURCE_DIR}/${source} APPEND PROPERTY COMPILE_DEFINITIONS ${ARGN})
endfunction()

# Single files with loops over whole tensors, in rooms that are not HOT as a whole. GCC 12 crashes on a header that was
# precompiled at another level of optimisation, so they do without.
function(optimise_well)
  foreach(source ${ARGN})
    set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/${source} APPEND PROPERTY COMPILE_OPTIONS ${optimise_well})
    set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/${source} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  endforeach()
endfunction()

# HOT: a room of such loops. WARM: a room that searches.
function(add_room room)
  cmake_parse_arguments(ROOM "HOT;WARM" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${room}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|_fuzz|/main|/testdata/.*|/emulator/runtime/.*|/runner/child/.*|/sandbox/launcher/.*|/llm/scripted_.*)\\.cpp$")
  add_library(stitch_${room} STATIC ${sources})
  target_include_directories(stitch_${room} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(stitch_${room} PUBLIC ${ROOM_DEPENDS})
  if(ROOM_HOT)
    target_compile_options(stitch_${room} PRIVATE ${optimise_well})
    target_precompile_headers(stitch_${room} REUSE_FROM stitch_hot_headers)
  elseif(ROOM_WARM)
    target_compile_options(stitch_${room} PRIVATE ${optimise_some})
    target_precompile_headers(stitch_${room} REUSE_FROM stitch_warm_headers)
  else()
    target_precompile_headers(stitch_${room} REUSE_FROM stitch_headers)
  endif()
endfunction()

# ALSO: rooms behind this one that its tests look at it through.
function(add_room_tests room)
  cmake_parse_arguments(TESTS "" "" "ALSO" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${room}/*_test.cpp)
  list(FILTER sources EXCLUDE REGEX "/emulated/")  # see emulated.cmake
  if(sources)
    add_executable(${room}_test ${sources})
    target_link_libraries(${room}_test PRIVATE stitch_${room} ${TESTS_ALSO} GTest::gtest_main)
    compile_as_test(${room}_test)
    target_compile_definitions(${room}_test PRIVATE
      STITCH_SOURCE_DIR="${CMAKE_SOURCE_DIR}" STITCH_BINARY_DIR="${CMAKE_BINARY_DIR}")
    # Signals and limits reach children, not processes that are borrowed (./dev test lends some).
    set(alone "")
    if(room STREQUAL cli)
      set(alone ENVIRONMENT_MODIFICATION STITCHCUDA_TORCH_LENDER=unset:)
    endif()
    gtest_discover_tests(${room}_test TEST_PREFIX ${room}. DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600
                         ENVIRONMENT STITCHCUDA_STORE=none ${alone})
  endif()
endfunction()

function(add_room_benchmarks room)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${room}/*_bench.cpp)
  if(sources)
    add_executable(${room}_bench ${sources})
    target_link_libraries(${room}_bench PRIVATE stitch_${room} benchmark::benchmark_main)
    target_compile_definitions(${room}_bench PRIVATE
      STITCH_SOURCE_DIR="${CMAKE_SOURCE_DIR}" STITCH_BINARY_DIR="${CMAKE_BINARY_DIR}")
  endif()
endfunction()

# Only clang has libFuzzer. Each target starts from the corpus beside it: foo_fuzz.cpp, testdata/foo_corpus/.
# SOURCES: what a target needs beyond DEPENDS, compiled into it, so that a room need not be built whole.
function(add_room_fuzzers room)
  cmake_parse_arguments(FUZZ "" "" "SOURCES;DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${room}/*_fuzz.cpp)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    get_filename_component(folder ${source} DIRECTORY)
    string(REPLACE "_fuzz" "_corpus" corpus ${name})
    add_executable(${name} ${source} ${FUZZ_SOURCES})
    target_link_libraries(${name} PRIVATE ${FUZZ_DEPENDS})
    target_precompile_headers(${name} REUSE_FROM stitch_headers)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME fuzz.${name} COMMAND ${name} -max_total_time=5 -max_len=20000 -timeout=5 -rss_limit_mb=2048
             -artifact_prefix=${CMAKE_BINARY_DIR}/ ${CMAKE_BINARY_DIR}/${corpus} ${folder}/testdata/${corpus})
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/${corpus})
  endforeach()
endfunction()
