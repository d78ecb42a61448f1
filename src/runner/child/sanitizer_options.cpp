// For the programs that run behind the walls, when StitchCUDA itself is built with AddressSanitizer: behind a
// filter there is no tracing for leaks, and a candidate's signals are to be seen from outside.
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() { return "detect_leaks=0:handle_segv=0:handle_sigbus=0"; }
#endif
