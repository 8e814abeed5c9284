// A writer for the programs' --json. Own code and not a library, because the programs must build on
// a cluster's login node from a compiler and an MPI alone, and writing (not reading) JSON is
// little.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// Builds one JSON document, indented by two spaces. The caller opens and closes in order.
class JsonWriter {
  public:
    void begin_object() { open('{'); }
    void end_object() { close('}'); }
    void begin_array() { open('['); }
    void end_array() { close(']'); }
    void key(std::string_view name);

    void value(std::string_view text);
    void value(const char* text) { value(std::string_view(text)); }
    void value(bool truth);
    void value(std::uint64_t number);
    void value(double number); ///< null for what JSON cannot hold: NaN and infinities
    void null();

    /// null where there is none.
    template <class Value>
    void value(const std::optional<Value>& content) {
        if (content) {
            value(*content);
        } else {
            null();
        }
    }

    /// An array.
    template <class Value>
    void value(const std::vector<Value>& items) {
        begin_array();
        for (const Value& item : items) {
            value(item);
        }
        end_array();
    }

    template <class Value>
    void member(std::string_view name, const Value& content) {
        key(name);
        value(content);
    }

    /// The document, ended by a newline.
    [[nodiscard]] std::string text() const { return text_ + "\n"; }

  private:
    void open(char bracket);
    void close(char bracket);
    void before_value();
    void new_line();

    std::string text_;
    std::vector<bool> has_items_; ///< for each open bracket: does it hold something yet
    bool after_key_ = false;
};

} // namespace bench
