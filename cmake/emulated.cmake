# The emulated GPU has two halves. Its compiler is a room; its runtime is a library of its
# own that emulated programs link, so that every program in a process sees one device. Tests that are
# themselves CUDA sources are compiled against its headers, apart from the room's other tests.

file(GLOB_RECURSE emulated_runtime CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/emulator/runtime/*.cpp)
add_library(stitch_emulated_runtime SHARED ${emulated_runtime})
target_include_directories(stitch_emulated_runtime PUBLIC ${CMAKE_SOURCE_DIR}/src/emulator/include)
target_include_directories(stitch_emulated_runtime PRIVATE ${CMAKE_SOURCE_DIR}/src/emulator/runtime)
target_link_libraries(stitch_emulated_runtime PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
target_precompile_headers(stitch_emulated_runtime PRIVATE <algorithm> <atomic> <cmath> <condition_variable> <cstdint>
  <cstring> <functional> <map> <memory> <mutex> <optional> <string> <thread> <vector>)
target_compile_options(stitch_emulated_runtime PRIVATE ${optimise_well})
# The loops of the libraries' emulation are worth fused multiply-adds too.
file(GLOB_RECURSE emulated_loops CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/emulator/runtime/library/*.cpp)
if(NOT STITCHCUDA_SANITIZE)
  set_source_files_properties(${emulated_loops} PROPERTIES
    COMPILE_OPTIONS "${optimise_well};-ffp-contract=fast" SKIP_PRECOMPILE_HEADERS ON)
endif()
define_path_for(src/build/compile_emulated/compile.cpp
  STITCH_EMULATED_HEADERS="${CMAKE_SOURCE_DIR}/src/emulator/include"
  STITCH_EMULATED_RUNTIME="$<TARGET_FILE:stitch_emulated_runtime>")
add_dependencies(stitch_build stitch_emulated_runtime)

function(add_emulated_tests)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/emulator/*_test.cpp)
  add_executable(emulated_test ${sources})
  target_link_libraries(emulated_test PRIVATE stitch_build stitch_emulated_runtime GTest::gtest_main ${CMAKE_DL_LIBS})
  compile_as_test(emulated_test)
  target_compile_definitions(emulated_test PRIVATE
    STITCH_SOURCE_DIR="${CMAKE_SOURCE_DIR}" STITCH_BINARY_DIR="${CMAKE_BINARY_DIR}")
  # constants_test.cpp holds our numbers against NVIDIA's, where those are.
  find_path(STITCH_CUDA_INCLUDE_DIR cublasLt.h PATHS $ENV{CUDA_HOME}/include /usr/local/cuda/include)
  find_path(STITCH_CUDNN_INCLUDE_DIR cudnn.h HINTS ${STITCH_CUDA_INCLUDE_DIR} PATHS /usr/local/cuda/include)
  if(STITCH_CUDA_INCLUDE_DIR AND STITCH_CUDNN_INCLUDE_DIR)
    target_compile_definitions(emulated_test PRIVATE
      STITCH_CUDA_INCLUDE="${STITCH_CUDA_INCLUDE_DIR}" STITCH_CUDNN_INCLUDE="${STITCH_CUDNN_INCLUDE_DIR}")
  endif()
  # One test for all: a process each would be 700 starts.
  add_test(NAME emulated COMMAND emulated_test)
endfunction()

function(add_emulated_benchmark)
  add_executable(emulated_bench ${CMAKE_SOURCE_DIR}/src/emulator/emulated_bench.cpp)
  target_link_libraries(emulated_bench PRIVATE stitch_build stitch_emulated_runtime benchmark::benchmark_main)
endfunction()
