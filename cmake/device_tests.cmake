# Tests in which compiled programs run on the emulated GPU or are compiled by nvcc, and the benchmark of techniques.
enable_testing()
find_package(GTest REQUIRED)

# The techniques of a folder against the oracle: the regions of one suite or file are one library, and all are one test.
function(add_device_test name folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/code/${folder}/emulated/*_test.cpp)
  add_executable(${name}_test ${sources})
  target_link_libraries(${name}_test PRIVATE ${ARGN} stitch_code stitch_build stitch_oracle stitch_emulated_runtime
    GTest::gtest_main ${CMAKE_DL_LIBS})
  target_compile_options(${name}_test PRIVATE ${optimise_some})  # it draws and compares whole tensors
  target_precompile_headers(${name}_test REUSE_FROM stitch_warm_headers)
  target_compile_definitions(${name}_test PRIVATE
    STITCH_SOURCE_DIR="${CMAKE_SOURCE_DIR}" STITCH_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name}_test)
endfunction()
add_device_test(code_device loops stitch_import)
add_device_test(products_device products)

# Programs written for a GPU of each architecture, compiled for it; ./dev architectures does this for all examples.
add_test(NAME architectures_nvcc COMMAND ${CMAKE_SOURCE_DIR}/examples/compile_for_architectures.sh
         $<TARGET_FILE:stitchcuda> ${CMAKE_BINARY_DIR}/architectures lenet5 gpt_block)
set_tests_properties(architectures_nvcc PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)

# The programs in examples/programs, which src/verify/torch_test.cpp runs, compiled for a real GPU.
add_test(NAME example_programs_nvcc COMMAND ${CMAKE_SOURCE_DIR}/examples/programs/compile_with_nvcc.sh)
set_tests_properties(example_programs_nvcc PROPERTIES SKIP_RETURN_CODE 77)
