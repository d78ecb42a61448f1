# The http room's client: cpp-httplib with OpenSSL. Without them it is built all the same, and every call says so; the
# tests need it.
find_path(HTTPLIB_INCLUDE_DIR httplib.h)
find_library(HTTPLIB_LIBRARY cpp-httplib)  # not there: the header alone
add_library(stitch_httplib INTERFACE)
if(HTTPLIB_INCLUDE_DIR AND OPENSSL_FOUND)
  target_include_directories(stitch_httplib SYSTEM INTERFACE ${HTTPLIB_INCLUDE_DIR})
  target_compile_definitions(stitch_httplib INTERFACE STITCH_HAVE_HTTPLIB CPPHTTPLIB_OPENSSL_SUPPORT)
  target_link_libraries(stitch_httplib INTERFACE OpenSSL::SSL OpenSSL::Crypto Threads::Threads)
  if(HTTPLIB_LIBRARY)
    target_link_libraries(stitch_httplib INTERFACE ${HTTPLIB_LIBRARY})
  endif()
elseif(STITCHCUDA_TESTS)
  message(FATAL_ERROR "cpp-httplib or OpenSSL not found: the tests need them (Debian: libcpp-httplib-dev libssl-dev)")
else()
  message(STATUS "cpp-httplib or OpenSSL not found: no LLM servers, no workers (Debian: libcpp-httplib-dev libssl-dev)")
endif()
target_link_libraries(stitch_http PRIVATE stitch_httplib)
