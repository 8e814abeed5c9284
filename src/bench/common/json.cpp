#include "common/json.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace bench {

namespace {

std::string escaped(std::string_view text) {
    std::string result = "\"";
    for (const char character : text) {
        const auto code = static_cast<unsigned char>(character);
        if (character == '"' || character == '\\') {
            result += '\\';
            result += character;
        } else if (code < 0x20) {
            std::array<char, 8> buffer{};
            (void)std::snprintf(buffer.data(), buffer.size(), "\\u%04x",
                                static_cast<unsigned>(code));
            result += buffer.data();
        } else {
            result += character;
        }
    }
    return result + '"';
}

} // namespace

void JsonWriter::key(std::string_view name) {
    before_value();
    text_ += escaped(name) + ": ";
    after_key_ = true;
}

void JsonWriter::value(std::string_view text) {
    before_value();
    text_ += escaped(text);
}

void JsonWriter::value(bool truth) {
    before_value();
    text_ += truth ? "true" : "false";
}

void JsonWriter::value(std::uint64_t number) {
    before_value();
    text_ += std::to_string(number);
}

void JsonWriter::value(double number) {
    if (!std::isfinite(number)) {
        null();
        return;
    }
    before_value();
    std::array<char, 32> buffer{};
    (void)std::snprintf(buffer.data(), buffer.size(), "%.9g", number);
    text_ += buffer.data();
}

void JsonWriter::null() {
    before_value();
    text_ += "null";
}

void JsonWriter::open(char bracket) {
    before_value();
    text_ += bracket;
    has_items_.push_back(false);
}

void JsonWriter::close(char bracket) {
    const bool had_items = has_items_.back();
    has_items_.pop_back();
    if (had_items) {
        new_line();
    }
    text_ += bracket;
}

void JsonWriter::before_value() {
    if (after_key_) {
        after_key_ = false;
        return;
    }
    if (has_items_.empty()) {
        return;
    }
    if (has_items_.back()) {
        text_ += ',';
    }
    has_items_.back() = true;
    new_line();
}

void JsonWriter::new_line() {
    text_ += '\n';
    text_.append(2 * has_items_.size(), ' ');
}

} // namespace bench
