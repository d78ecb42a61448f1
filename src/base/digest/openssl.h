// The few functions of OpenSSL's libcrypto (1.1.1 or later) that sha256.cpp and ed25519.cpp call. A machine
// that has the library without its headers, as GPU machines often do, gets them declared here.
#pragma once

#if __has_include(<openssl/evp.h>)
#include <openssl/evp.h>
#else
#include <cstddef>

extern "C" {
using EVP_MD = struct evp_md_st;
using EVP_MD_CTX = struct evp_md_ctx_st;
using EVP_PKEY = struct evp_pkey_st;
using EVP_PKEY_CTX = struct evp_pkey_ctx_st;
using ENGINE = struct engine_st;
inline constexpr int EVP_PKEY_ED25519 = 1087;

EVP_MD_CTX* EVP_MD_CTX_new();
void EVP_MD_CTX_free(EVP_MD_CTX*);
const EVP_MD* EVP_sha256();
int EVP_DigestInit_ex(EVP_MD_CTX*, const EVP_MD*, ENGINE*);
int EVP_DigestUpdate(EVP_MD_CTX*, const void*, size_t);
int EVP_DigestFinal_ex(EVP_MD_CTX*, unsigned char*, unsigned*);

EVP_PKEY* EVP_PKEY_new_raw_private_key(int, ENGINE*, const unsigned char*, size_t);
EVP_PKEY* EVP_PKEY_new_raw_public_key(int, ENGINE*, const unsigned char*, size_t);
int EVP_PKEY_get_raw_public_key(const EVP_PKEY*, unsigned char*, size_t*);
void EVP_PKEY_free(EVP_PKEY*);
int EVP_DigestSignInit(EVP_MD_CTX*, EVP_PKEY_CTX**, const EVP_MD*, ENGINE*, EVP_PKEY*);
int EVP_DigestSign(EVP_MD_CTX*, unsigned char*, size_t*, const unsigned char*, size_t);
int EVP_DigestVerifyInit(EVP_MD_CTX*, EVP_PKEY_CTX**, const EVP_MD*, ENGINE*, EVP_PKEY*);
int EVP_DigestVerify(EVP_MD_CTX*, const unsigned char*, size_t, const unsigned char*, size_t);
}
#endif
