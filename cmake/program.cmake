# What programs are made of: the headers they include, and the examples.

define_path_for(src/program/load_package.cpp STITCH_PROGRAM_FILES="${CMAKE_SOURCE_DIR}/src/program")

# The programs in examples/programs: run on the emulated GPU against the oracle, and compiled for a real one.
if(STITCHCUDA_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
  file(GLOB example_program_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/programs/*_test.cpp)
  add_executable(example_programs_test ${example_program_tests})
  target_link_libraries(example_programs_test PRIVATE stitch_program stitch_import stitch_oracle stitch_build
    stitch_emulated_runtime GTest::gtest_main ${CMAKE_DL_LIBS})
  compile_as_test(example_programs_test)
  target_compile_definitions(example_programs_test PRIVATE
    STITCH_SOURCE_DIR="${CMAKE_SOURCE_DIR}" STITCH_BINARY_DIR="${CMAKE_BINARY_DIR}")
  # One test for all: they share the import of their tasks.
  add_test(NAME example_programs COMMAND example_programs_test)
  add_test(NAME example_programs_nvcc COMMAND ${CMAKE_SOURCE_DIR}/examples/programs/compile_with_nvcc.sh)
  set_tests_properties(example_programs_nvcc PROPERTIES SKIP_RETURN_CODE 77)
endif()
