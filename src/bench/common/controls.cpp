#include "common/controls.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace bench {

namespace {

// The value of a control variable of the tools interface as text; empty for what is no number and
// no text, and for what belongs to an object.
std::string value_of_control(int index) {
    std::array<char, MPI_MAX_INFO_VAL> text{};
    int length = static_cast<int>(text.size());
    int verbosity = 0;
    int binding = 0;
    int scope = 0;
    int count = 0;
    int none = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    if (MPI_T_cvar_get_info(index, text.data(), &length, &verbosity, &type, nullptr, nullptr, &none,
                            &binding, &scope) != MPI_SUCCESS ||
        binding != MPI_T_BIND_NO_OBJECT ||
        MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) {
        return {};
    }
    std::vector<std::uint64_t> value(static_cast<std::size_t>(std::max(count, 1)) + 1);
    const bool is_read = MPI_T_cvar_read(handle, value.data()) == MPI_SUCCESS;
    static_cast<void>(MPI_T_cvar_handle_free(&handle));
    if (!is_read) {
        return {};
    }
    if (type == MPI_CHAR) {
        return reinterpret_cast<const char*>(value.data());
    }
    if (count == 1 && (type == MPI_INT || type == MPI_UNSIGNED)) {
        return std::to_string(*reinterpret_cast<const int*>(value.data()));
    }
    const bool is_long = type == MPI_UNSIGNED_LONG || type == MPI_UNSIGNED_LONG_LONG;
    return count == 1 && is_long ? std::to_string(value.front()) : std::string();
}

std::vector<std::string> control_variables(const std::string& names) {
    std::vector<std::string> found;
    int provided = 0;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
        return found;
    }
    std::istringstream words(names);
    for (std::string name; words >> name;) {
        int index = 0;
        if (MPI_T_cvar_get_index(name.c_str(), &index) == MPI_SUCCESS) {
            found.push_back(name + "=" + value_of_control(index));
        }
    }
    static_cast<void>(MPI_T_finalize());
    return found;
}

} // namespace

void add_controls(Report& report) {
    const char* const names = std::getenv("FABRICHECK_VARIABLES");
    if (names != nullptr && *names != '\0') {
        report.fact("control_variables", control_variables(names));
    }
}

} // namespace bench
