# What the llm room has from elsewhere: TOML (toml++). Without it it is built all the same, and says so when that is asked
# for. Also its scripted server, for the tests of this room and of those behind it.

find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h)
find_library(TOMLPLUSPLUS_LIBRARY tomlplusplus)
if(TOMLPLUSPLUS_INCLUDE_DIR)
  define_for(src/llm/profiles/config_file.cpp STITCH_HAVE_TOML)
  define_for(src/cli/flags/settings_file.cpp STITCH_HAVE_TOML)
  if(TOMLPLUSPLUS_LIBRARY)
    define_for(src/llm/profiles/config_file.cpp TOML_HEADER_ONLY=0 TOML_SHARED_LIB=1)
    define_for(src/cli/flags/settings_file.cpp TOML_HEADER_ONLY=0 TOML_SHARED_LIB=1)
    target_link_libraries(stitch_llm PRIVATE ${TOMLPLUSPLUS_LIBRARY})
  endif()
else()
  message(STATUS "toml++ not found: no stitchcuda.toml (Debian: libtomlplusplus-dev)")
endif()

if(STITCHCUDA_TESTS)
  add_library(stitch_scripted_server STATIC src/llm/scripted_bodies.cpp src/llm/scripted_server.cpp)
  target_link_libraries(stitch_scripted_server PUBLIC stitch_llm stitch_httplib)
  target_precompile_headers(stitch_scripted_server REUSE_FROM stitch_headers)
endif()
