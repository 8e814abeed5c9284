// NVIDIA's libraries, loaded when they are first asked for: a program needs no toolkit to be built,
// and runs where there is no GPU.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace bench::gpu {

/// There is no GPU to use, or a library of NVIDIA's is missing; one sentence for the user says why.
class NoGpu : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A shared library, which stays loaded.
class Library {
  public:
    /// Loads the first of the names that there is. Throws NoGpu, whose sentence ends with `advice`.
    Library(const std::vector<const char*>& names, const char* advice);

    /// Sets `function` to the library's function of that name. Throws NoGpu if it has none.
    template <class Function>
    void find(Function*& function, const char* symbol) const {
        function = reinterpret_cast<Function*>(symbol_of(symbol));
    }

    /// The name that was loaded.
    [[nodiscard]] const std::string& name() const { return name_; }

  private:
    [[nodiscard]] void* symbol_of(const char* symbol) const;

    std::string name_;
    void* handle_ = nullptr;
};

} // namespace bench::gpu
