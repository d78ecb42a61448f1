// AddressSanitizer options for sandboxed programs of a sanitized build: seccomp forbids the leak checker's
// tracing, and the orchestrator must see the candidate's signals.
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() { return "detect_leaks=0:handle_segv=0:handle_sigbus=0"; }
#endif
