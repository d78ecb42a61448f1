# What the base room has from elsewhere: fmt, where std::format is missing, and OpenSSL's libcrypto for SHA-256 and
# Ed25519. Without OpenSSL's headers the library alone is enough (src/base/digest/openssl.cpp).
if(fmt_FOUND)
  target_link_libraries(stitch_base PUBLIC fmt::fmt)
endif()
find_package(OpenSSL 1.1.1 QUIET)
if(OPENSSL_FOUND)
  target_link_libraries(stitch_base PUBLIC OpenSSL::Crypto)
else()
  find_library(CRYPTO_LIBRARY NAMES crypto libcrypto.so.3 libcrypto.so.1.1)
  if(NOT CRYPTO_LIBRARY)
    message(FATAL_ERROR "OpenSSL's libcrypto not found (Debian: libssl-dev)")
  endif()
  target_link_libraries(stitch_base PUBLIC ${CRYPTO_LIBRARY})
endif()
# The process of a candidate (stitch-runner) hashes nothing: it shall not load libcrypto at every start.
add_link_options(-Wl,--as-needed)
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/base/output_folder.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
