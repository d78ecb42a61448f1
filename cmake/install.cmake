# stitchcuda._call: what makes a program's call from Python cheap. On Python's stable ABI, so that one build serves
# every Python from 3.10 on; where there is no Python.h, everything else builds without it.

if(NOT Python3_EXECUTABLE)
  if(DEFINED Python_EXECUTABLE)
    set(Python3_EXECUTABLE ${Python_EXECUTABLE})
  elseif(EXISTS ${CMAKE_SOURCE_DIR}/.venv/bin/python)
    set(Python3_EXECUTABLE ${CMAKE_SOURCE_DIR}/.venv/bin/python)
  endif()
endif()
find_package(Python3 3.10 QUIET COMPONENTS Interpreter Development.Module)
if(Python3_Development.Module_FOUND)
  file(GLOB call_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/stitchcuda/call/*.cpp)
  add_library(stitch_python_call MODULE ${call_sources})
  target_include_directories(stitch_python_call PRIVATE ${CMAKE_SOURCE_DIR}/src/program/include)
  target_include_directories(stitch_python_call SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
  target_compile_definitions(stitch_python_call PRIVATE Py_LIMITED_API=0x030A0000)
  target_compile_options(stitch_python_call PRIVATE -O2 -fvisibility=hidden)
  target_link_libraries(stitch_python_call PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(stitch_python_call PROPERTIES PREFIX "" OUTPUT_NAME _call SUFFIX ".abi3.so")
else()
  message(STATUS "no Python.h: the Python package's C extension is left out")
endif()

# Where an installation has its files, below one prefix: each program looks for the others beside itself
# (../libexec, ../lib, ../share), so the whole can be moved. The wheel has it as stitchcuda/tool.

install(TARGETS stitchcuda RUNTIME DESTINATION bin)
install(TARGETS stitch-confine stitch-compile-emulated stitch-runner RUNTIME DESTINATION libexec/stitchcuda)
install(TARGETS stitch_emulated_runtime stitch-walls LIBRARY DESTINATION lib)
install(DIRECTORY src/emulator/include DESTINATION share/stitchcuda/emulated)
install(DIRECTORY src/program/include src/program/templates DESTINATION share/stitchcuda/program)
install(DIRECTORY python/stitchcuda_torch DESTINATION share/stitchcuda/python
        FILES_MATCHING PATTERN "*.py" PATTERN "*_test.py" EXCLUDE PATTERN "__pycache__" EXCLUDE)
if(TARGET stitch_python_call)
  install(TARGETS stitch_python_call LIBRARY DESTINATION lib)
endif()
if(STITCHCUDA_RELOCATABLE)
  install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} \"-DFOLDER=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\"
                                        \"-DPATHS=${CMAKE_SOURCE_DIR};${CMAKE_BINARY_DIR}\" -P ${CMAKE_SOURCE_DIR}/cmake/no_build_paths.cmake
                                COMMAND_ERROR_IS_FATAL ANY)")
endif()
