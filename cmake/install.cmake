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
