# Techniques made from expressions, run on the emulated GPU against the oracle: many regions are one library.
include_guard(GLOBAL)
if(STITCHCUDA_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  file(GLOB loop_device_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/code/loops/emulated/*_test.cpp)
  add_executable(code_device_test ${loop_device_tests})
  target_link_libraries(code_device_test PRIVATE stitch_code stitch_import stitch_oracle stitch_build
    stitch_emulated_runtime GTest::gtest_main ${CMAKE_DL_LIBS})
  target_compile_options(code_device_test PRIVATE ${optimise_some})  # it draws and compares whole tensors
  target_precompile_headers(code_device_test REUSE_FROM stitch_warm_headers)
  target_compile_definitions(code_device_test PRIVATE
    STITCH_SOURCE_DIR="${CMAKE_SOURCE_DIR}" STITCH_BINARY_DIR="${CMAKE_BINARY_DIR}")
  # One test for all: a suite's regions are compiled together.
  add_test(NAME code_device COMMAND code_device_test)
  # Programs written for a GPU of each architecture, compiled for it; ./dev architectures does this for all examples.
  add_test(NAME architectures_nvcc COMMAND ${CMAKE_SOURCE_DIR}/examples/compile_for_architectures.sh
           $<TARGET_FILE:stitchcuda> ${CMAKE_BINARY_DIR}/architectures lenet5 gpt_block)
  set_tests_properties(architectures_nvcc PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
endif()
# Times techniques on this machine's GPU.
add_executable(techniques_bench EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/src/learn/coder/techniques_bench.cpp)
target_link_libraries(techniques_bench PRIVATE stitch_learn)
