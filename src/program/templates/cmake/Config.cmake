# find_package(@name@): the target @name@::program, and @name@_DIRECTORY with its manifest and, if they were shipped,
# weights.safetensors and constants.safetensors.
include(CMakeFindDependencyMacro)
if(NOT TARGET CUDA::cudart_static)
  find_dependency(CUDAToolkit)
endif()
get_filename_component(@name@_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}/../../@name@" ABSOLUTE)
if(NOT TARGET @name@::program)
  add_library(@name@::program SHARED IMPORTED)
  set_target_properties(@name@::program PROPERTIES
    IMPORTED_LOCATION "${@name@_DIRECTORY}/libprogram.so"
    IMPORTED_NO_SONAME ON
    INTERFACE_INCLUDE_DIRECTORIES "${@name@_DIRECTORY}/include"
    INTERFACE_LINK_LIBRARIES CUDA::cudart_static)
endif()
