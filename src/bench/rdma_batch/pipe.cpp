#include "rdma_batch/pipe.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <type_traits>
#include <unistd.h>

namespace rdma_batch {

namespace {

constexpr std::size_t kHead = 1 + sizeof(std::uint64_t);

template <class Value>
void put(std::string& text, const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(std::string& text, const std::string& value) {
    put(text, std::uint64_t{value.size()});
    text += value;
}

class Taker {
  public:
    explicit Taker(const std::string& text) : text_(text) {}

    template <class Value>
    void take(Value& value) {
        std::memcpy(&value, text_.data() + at_, sizeof value);
        at_ += sizeof value;
    }
    std::string text() {
        std::uint64_t size = 0;
        take(size);
        at_ += size;
        return text_.substr(at_ - size, size);
    }

  private:
    const std::string& text_;
    std::size_t at_ = 0;
};

} // namespace

void NewsWriter::write(News kind, const std::string& text) {
    std::string message(1, static_cast<char>(kind));
    put(message, std::uint64_t{text.size()});
    message += text;
    for (std::size_t done = 0; done < message.size();) {
        const ssize_t put = ::write(pipe_.number(), message.data() + done, message.size() - done);
        if (put < 0 && errno != EINTR) {
            _exit(bench::kFailure); // the parent is gone, and nobody else would hear it
        }
        done += static_cast<std::size_t>(put < 0 ? 0 : put);
    }
}

void NewsWriter::tell(const Used& used) {
    std::string text;
    put_text(text, used.device);
    put_text(text, used.link);
    for (const unsigned value :
         {used.gid_index, used.mtu, used.queue_depth, used.reads_in_flight}) {
        put(text, value);
    }
    write(News::Used, text);
}

void NewsWriter::tell(const RawRow& row) {
    std::string text;
    put(text, row.shape);
    put(text, row.slots);
    put(text, row.valid ? static_cast<char>(*row.valid ? 1 : 0) : static_cast<char>(2));
    put_text(text, row.wrong);
    put(text, std::uint64_t{row.samples.size()});
    for (const Sample& sample : row.samples) {
        put(text, sample);
    }
    write(News::Row, text);
}

void NewsWriter::tell(const Failure& failure) {
    std::string text;
    put(text, failure.code);
    put_text(text, failure.sentence);
    write(News::Failed, text);
}

void NewsWriter::done() {
    write(News::Done, {});
}

void NewsReader::read() {
    constexpr std::size_t kPiece = 65536;
    std::array<char, kPiece> piece; // NOLINT: written by the read
    const ssize_t got = ::read(pipe_.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) {
        return;
    }
    if (got <= 0) {
        pipe_.close();
        if (!finished && !failure) {
            failure = Failure{bench::kFailure, "its process died without a word"};
        }
        return;
    }
    pending_.append(piece.data(), static_cast<std::size_t>(got));
    while (pending_.size() >= kHead) {
        std::uint64_t length = 0;
        std::memcpy(&length, pending_.data() + 1, sizeof length);
        if (pending_.size() < kHead + length) {
            return;
        }
        take(static_cast<News>(pending_.front()), pending_.substr(kHead, length));
        pending_.erase(0, kHead + length);
    }
}

void NewsReader::take(News kind, const std::string& text) {
    Taker taker(text);
    if (kind == News::Used) {
        used.device = taker.text();
        used.link = taker.text();
        for (unsigned* const value :
             {&used.gid_index, &used.mtu, &used.queue_depth, &used.reads_in_flight}) {
            taker.take(*value);
        }
    } else if (kind == News::Row) {
        RawRow row;
        char valid = 0;
        std::uint64_t samples = 0;
        taker.take(row.shape);
        taker.take(row.slots);
        taker.take(valid);
        row.wrong = taker.text();
        taker.take(samples);
        row.valid = valid == 2 ? std::nullopt : std::optional<bool>(valid == 1);
        row.samples.assign(samples, Sample{0.0, 0});
        for (Sample& sample : row.samples) {
            taker.take(sample);
        }
        rows.push_back(std::move(row));
    } else if (kind == News::Failed) {
        failure.emplace();
        taker.take(failure->code);
        failure->sentence = taker.text();
    } else {
        finished = true;
    }
}

} // namespace rdma_batch
