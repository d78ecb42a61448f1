# Programs of our own that run in processes of their own, because they handle untrusted code: the one that
# confines others, the one that compiles for the emulated GPU and the one that holds a candidate.

set(sanitizer_options ${CMAKE_SOURCE_DIR}/src/runner/child/sanitizer_options.cpp)
add_executable(stitch-confine ${CMAKE_SOURCE_DIR}/src/sandbox/launcher/main.cpp ${sanitizer_options})
target_link_libraries(stitch-confine PRIVATE stitch_sandbox)
target_precompile_headers(stitch-confine REUSE_FROM stitch_headers)
define_path_for(src/sandbox/sandbox.cpp STITCH_CONFINE="$<TARGET_FILE:stitch-confine>")

# The same walls for a process that forks instead of becoming another program. One source that includes the others, since
# they are compiled once more, position-independent.
add_library(stitch-walls SHARED ${CMAKE_SOURCE_DIR}/src/sandbox/launcher/walls.cpp)
target_include_directories(stitch-walls PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(stitch-walls PRIVATE nlohmann_json::nlohmann_json Threads::Threads)
target_compile_definitions(stitch-walls PRIVATE FMT_HEADER_ONLY)
set_target_properties(stitch-walls PROPERTIES CXX_VISIBILITY_PRESET hidden UNITY_BUILD OFF)
target_link_options(stitch-walls PRIVATE -Wl,-z,relro,-z,now -Wl,--no-undefined)

add_executable(stitch-compile-emulated ${CMAKE_SOURCE_DIR}/src/build/compile_emulated/main.cpp ${sanitizer_options})
target_link_libraries(stitch-compile-emulated PRIVATE stitch_build)
target_precompile_headers(stitch-compile-emulated REUSE_FROM stitch_headers)
define_path_for(src/build/emulated_toolchain.cpp STITCH_COMPILE_EMULATED="$<TARGET_FILE:stitch-compile-emulated>")

file(GLOB runner_child CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/runner/child/*.cpp)
add_executable(stitch-runner ${runner_child} ${CMAKE_SOURCE_DIR}/src/runner/wire.cpp
               ${CMAKE_SOURCE_DIR}/src/runner/activity.cpp)
target_include_directories(stitch-runner PRIVATE ${CMAKE_SOURCE_DIR}/src/program/include)
target_link_libraries(stitch-runner PRIVATE stitch_graph stitch_sandbox ${CMAKE_DL_LIBS})
target_precompile_headers(stitch-runner REUSE_FROM stitch_headers)
# What a program does on a real GPU is told by CUPTI, looked up when it is needed: only its header counts here.
find_path(CUPTI_INCLUDE cupti.h PATHS $ENV{CUDA_HOME}/include $ENV{CUDA_HOME}/extras/CUPTI/include
          /usr/local/cuda/include /usr/local/cuda/extras/CUPTI/include)
find_path(CUDA_INCLUDE cuda.h PATHS $ENV{CUDA_HOME}/include /usr/local/cuda/include)
if(CUPTI_INCLUDE AND CUDA_INCLUDE)
  target_compile_definitions(stitch-runner PRIVATE STITCH_HAVE_CUPTI)
  target_include_directories(stitch-runner SYSTEM PRIVATE ${CUPTI_INCLUDE} ${CUDA_INCLUDE})
endif()
# Every symbol is bound before a candidate is loaded, and the table of them can't be written to any more.
target_link_options(stitch-runner PRIVATE -Wl,-z,relro,-z,now)

define_path_for(src/runner/borrow.cpp STITCH_WALLS="$<TARGET_FILE:stitch-walls>")
define_path_for(src/runner/start.cpp
  STITCH_RUNNER="$<TARGET_FILE:stitch-runner>" STITCH_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
add_dependencies(stitch_runner stitch-confine stitch-walls stitch-runner stitch-compile-emulated stitch_emulated_runtime)
if(STITCHCUDA_TESTS)
  # The tests of rooms before this one, which are defined later.
  cmake_language(DEFER CALL add_dependencies sandbox_test stitch-confine)
  cmake_language(DEFER CALL add_dependencies build_test stitch-confine stitch-compile-emulated)
endif()
