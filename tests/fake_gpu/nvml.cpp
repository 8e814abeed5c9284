// A libnvidia-ml.so.1 for tests: the driver's version, and what UCX links.
#include <cstdio>

extern "C" {

const char* nvmlErrorString(int) {
    return "not supported by the fake";
}
int nvmlInit_v2() {
    return 0;
}
int nvmlShutdown() {
    return 0;
}
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
    std::snprintf(text, length, "0.0-fake");
    return 0;
}

} // extern "C"
