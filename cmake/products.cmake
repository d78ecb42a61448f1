# Techniques for products and sequences, run on the emulated GPU against the oracle: the regions of one file are
# one library.
if(STITCHCUDA_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  file(GLOB product_device_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/code/products/emulated/*_test.cpp)
  add_executable(products_device_test ${product_device_tests})
  target_link_libraries(products_device_test PRIVATE stitch_code stitch_build stitch_oracle stitch_emulated_runtime
    GTest::gtest_main ${CMAKE_DL_LIBS})
  target_compile_options(products_device_test PRIVATE ${optimise_some})  # it draws and compares whole tensors
  target_precompile_headers(products_device_test REUSE_FROM stitch_warm_headers)
  target_compile_definitions(products_device_test PRIVATE
    STITCH_SOURCE_DIR="${CMAKE_SOURCE_DIR}" STITCH_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME products_device COMMAND products_device_test)
endif()
