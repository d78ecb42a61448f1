# What the llm room has from elsewhere: HTTP and TLS (cpp-httplib with OpenSSL), TOML (toml++). Without one of them it
# is built all the same, and says so when that is asked for. Also its scripted server, for the tests of this room and of
# those behind it.

find_path(HTTPLIB_INCLUDE_DIR httplib.h)
find_library(HTTPLIB_LIBRARY cpp-httplib)  # not there: the header alone
find_package(OpenSSL QUIET)
add_library(stitch_httplib INTERFACE)
if(HTTPLIB_INCLUDE_DIR AND OPENSSL_FOUND)
  target_include_directories(stitch_httplib SYSTEM INTERFACE ${HTTPLIB_INCLUDE_DIR})
  target_compile_definitions(stitch_httplib INTERFACE STITCH_HAVE_HTTPLIB CPPHTTPLIB_OPENSSL_SUPPORT)
  target_link_libraries(stitch_httplib INTERFACE OpenSSL::SSL OpenSSL::Crypto Threads::Threads)
  if(HTTPLIB_LIBRARY)
    target_link_libraries(stitch_httplib INTERFACE ${HTTPLIB_LIBRARY})
  endif()
  set(STITCH_HTTP ON)
else()
  message(STATUS "cpp-httplib or OpenSSL not found: no LLM servers (Debian: libcpp-httplib-dev libssl-dev)")
  set(STITCH_HTTP OFF)
endif()
target_link_libraries(stitch_llm PRIVATE stitch_httplib)

find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h)
find_library(TOMLPLUSPLUS_LIBRARY tomlplusplus)
if(TOMLPLUSPLUS_INCLUDE_DIR)
  define_for(src/llm/config_file.cpp STITCH_HAVE_TOML)
  if(TOMLPLUSPLUS_LIBRARY)
    define_for(src/llm/config_file.cpp TOML_HEADER_ONLY=0 TOML_SHARED_LIB=1)
    target_link_libraries(stitch_llm PRIVATE ${TOMLPLUSPLUS_LIBRARY})
  endif()
else()
  message(STATUS "toml++ not found: no stitchcuda.toml (Debian: libtomlplusplus-dev)")
endif()

if(STITCHCUDA_TESTS)
  # What the tests of other rooms link, too; without HTTP it has only the bodies, and ScriptedServer::start is missing.
  add_library(stitch_scripted_server STATIC src/llm/scripted_bodies.cpp)
  target_link_libraries(stitch_scripted_server PUBLIC stitch_llm stitch_httplib)
  target_precompile_headers(stitch_scripted_server REUSE_FROM stitch_headers)
  if(STITCH_HTTP)
    target_sources(stitch_scripted_server PRIVATE src/llm/scripted_server.cpp)
  endif()
endif()
