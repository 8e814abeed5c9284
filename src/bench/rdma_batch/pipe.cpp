#include "rdma_batch/pipe.hpp"

#include <array>
#include <cerrno>
#include <iomanip>
#include <limits>
#include <sstream>
#include <unistd.h>

namespace rdma_batch {

namespace {

constexpr char kEnd = '\0'; // of what is told at once

} // namespace

// One line of words, the texts among them quoted.
template <class... Words>
void ResultWriter::write(Message kind, const Words&... words) {
    std::ostringstream line;
    line << std::setprecision(std::numeric_limits<double>::max_digits10) << static_cast<char>(kind);
    ((line << ' ' << words), ...);
    line << kEnd;
    const std::string text = line.str();
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t put = ::write(pipe_.number(), text.data() + done, text.size() - done);
        if (put < 0 && errno != EINTR) {
            _exit(bench::kFailure); // the parent is gone, and nobody else would hear it
        }
        done += static_cast<std::size_t>(put < 0 ? 0 : put);
    }
}

void ResultWriter::tell(const Used& used) {
    write(Message::Used, std::quoted(used.device), std::quoted(used.link), used.gid_index, used.mtu,
          used.queue_depth, used.reads_in_flight);
}

void ResultWriter::tell(const RawRow& row) {
    constexpr int kNotCompared = 2;
    std::ostringstream samples;
    samples << std::setprecision(std::numeric_limits<double>::max_digits10);
    for (const Sample& sample : row.samples) {
        samples << sample.seconds << ' ' << sample.bytes << ' ';
    }
    write(Message::Row, row.shape.size, row.shape.batch, row.slots,
          row.valid ? static_cast<int>(*row.valid) : kNotCompared, std::quoted(row.wrong),
          samples.str());
}

void ResultWriter::tell(const Failure& failure) {
    write(Message::Failed, failure.code, std::quoted(failure.sentence));
}

void ResultWriter::done() {
    write(Message::Done);
}

void ResultReader::read() {
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
    std::size_t begin = 0;
    std::size_t end = pending_.size(); // what came before has no end
    pending_.append(piece.data(), static_cast<std::size_t>(got));
    while ((end = pending_.find(kEnd, end)) != std::string::npos) {
        take(pending_.substr(begin, end - begin));
        begin = ++end;
    }
    pending_.erase(0, begin);
}

void ResultReader::take(const std::string& line) {
    std::istringstream words(line.substr(1));
    switch (static_cast<Message>(line.front())) {
    case Message::Used:
        words >> std::quoted(used.device) >> std::quoted(used.link) >> used.gid_index >> used.mtu >>
            used.queue_depth >> used.reads_in_flight;
        break;
    case Message::Row: {
        RawRow& row = rows.emplace_back();
        int valid = 0;
        words >> row.shape.size >> row.shape.batch >> row.slots >> valid >> std::quoted(row.wrong);
        row.valid = valid > 1 ? std::nullopt : std::optional<bool>(valid == 1);
        for (Sample sample{}; words >> sample.seconds >> sample.bytes;) {
            row.samples.push_back(sample);
        }
        break;
    }
    case Message::Failed:
        failure.emplace();
        words >> failure->code >> std::quoted(failure->sentence);
        break;
    case Message::Done:
        finished = true;
    }
}

} // namespace rdma_batch
