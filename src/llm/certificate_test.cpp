// A server with an unsigned certificate.
#include <gtest/gtest.h>
#include <httplib.h>
#include <openssl/x509.h>

#include <thread>

#include "base/digest/openssl.h"
#include "base/file.h"
#include "llm/connect.h"
#include "llm/testing.h"

namespace stitch::llm {
namespace {

using namespace testing;

// Self-signed for 127.0.0.1's sake by name only: it is neither trusted nor for the host.
struct SelfSigned {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  SelfSigned() {
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* subject = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("nobody"),
                               -1, -1, 0);
    X509_set_issuer_name(certificate, subject);
    X509_sign(certificate, key, EVP_sha256());
  }
  ~SelfSigned() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
};

TEST(HttpTransport, CertificatesAreVerified) {
  SelfSigned own;
  httplib::SSLServer server(own.certificate, own.key);
  bool reached = false;
  server.Post("/v1/chat/completions", [&](const httplib::Request&, httplib::Response&) { reached = true; });
  const int port = server.bind_to_any_port("127.0.0.1");
  ASSERT_GT(port, 0);
  std::thread listening([&] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  auto ask = [&](const char* scheme) {
    Profile profile{
        .name = "p", .url = format("{}://127.0.0.1:{}/v1", scheme, port), .model = "m", .timeout = 5};
    return (*connect({.profile = profile, .retry = {.tries = 1}}))->ask(request("?"));
  };
  const Error error = ask("https").error();
  EXPECT_EQ(error.code, "llm_certificate");
  EXPECT_NE(error.message.find("can't be trusted: self"), std::string::npos) << error.message;
  EXPECT_NE(error.fix.find("SSL_CERT_FILE"), std::string::npos);
  EXPECT_EQ(ask("http").error().code, "llm_dropped");  // plain words to a TLS server
  server.stop();
  listening.join();
  EXPECT_FALSE(reached);
}

TEST(HttpTransport, TlsToAPlainServer) {
  httplib::Server server;
  const int port = server.bind_to_any_port("127.0.0.1");
  std::thread listening([&] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Profile profile{.name = "p", .url = format("https://127.0.0.1:{}/v1", port), .model = "m", .timeout = 5};
  const Error error = (*connect({.profile = profile, .retry = {.tries = 1}}))->ask(request("?")).error();
  EXPECT_EQ(error.code, "llm_certificate") << error.text();
  server.stop();
  listening.join();
}

}  // namespace
}  // namespace stitch::llm
