#include "rdma_batch/run.hpp"

#include "common/interrupt.hpp"
#include "common/output.hpp"
#include "rdma_batch/children.hpp"
#include "rdma_batch/initiator.hpp"
#include "rdma_batch/plan.hpp"
#include "rdma_batch/report.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <stdexcept>
#include <unistd.h>

namespace rdma_batch {

namespace {

constexpr int kBetweenLooks = 500; // milliseconds between two looks for a signal

std::string host_name() {
    std::array<char, 256> name{};
    (void)gethostname(name.data(), name.size() - 1);
    return name.data();
}

// In a process of its own: the exit code.
int child(const Options& options, unsigned rank, Together& together, Descriptor pipe) {
    NewsWriter news(std::move(pipe));
    Failure failure;
    try {
        initiate(options, rank, together, news);
        return bench::kSuccess;
    } catch (const bench::UsageError& error) {
        failure = {bench::kUsage, error.what()};
    } catch (const PeerError& error) {
        failure = {bench::kUsage, error.what()};
    } catch (const std::bad_alloc&) {
        failure = {bench::kUsage, "out of memory: lower --max-mem or --iters"};
    } catch (const std::exception& error) {
        failure = {bench::kFailure, error.what()};
    }
    news.tell(failure);
    return failure.code;
}

std::vector<NewsReader> start(const Options& options, Together& together, Children& children) {
    std::vector<NewsReader> readers;
    for (unsigned rank = 0; rank < options.initiators; ++rank) {
        std::array<int, 2> ends{};
        if (pipe2(ends.data(), O_CLOEXEC) != 0) {
            throw std::runtime_error(std::string("no pipe to a process: ") +
                                     std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
        }
        readers.emplace_back(Descriptor(ends[0]));
        Descriptor writer(ends[1]);
        children.start([&] { return child(options, rank, together, std::move(writer)); });
    }
    return readers;
}

// Hears all processes until they are done, or until one has failed: the others would wait for it.
void collect(std::vector<NewsReader>& readers, Together& together) {
    while (true) {
        std::vector<pollfd> waiting;
        std::vector<NewsReader*> who;
        for (NewsReader& reader : readers) {
            if (reader.failure) {
                return;
            }
            if (reader.open()) {
                waiting.push_back({reader.number(), POLLIN, 0});
                who.push_back(&reader);
            }
        }
        if (waiting.empty()) {
            return;
        }
        const int ready = poll(waiting.data(), waiting.size(), kBetweenLooks);
        if (bench::interrupted_by() != 0) {
            together.interrupt();
        }
        if (ready < 0) {
            continue;
        }
        for (std::size_t index = 0; index < waiting.size(); ++index) {
            if (waiting[index].revents != 0) {
                who[index]->read();
            }
        }
    }
}

// Adds the identity that a row breaks to the errors.
void check_row(const RowResult& row, std::uint64_t parts, std::vector<std::string>& errors) {
    if (const auto broken = broken_identity(row, parts)) {
        errors.push_back(std::to_string(row.shape.size) + " bytes x " +
                         std::to_string(row.shape.batch) + ": " + *broken);
    }
}

void add_together(const std::vector<NewsReader>& readers, Report& report,
                  std::vector<std::string>& errors) {
    std::size_t rows = report.expected_rows;
    for (const NewsReader& reader : readers) {
        rows = std::min(rows, reader.rows.size());
    }
    for (std::size_t index = 0; readers.size() > 1 && index < rows; ++index) {
        std::vector<std::vector<Sample>> ranks;
        std::optional<bool> valid = readers.front().rows[index].valid;
        for (const NewsReader& reader : readers) {
            ranks.push_back(reader.rows[index].samples);
            valid = valid && reader.rows[index].valid
                        ? std::optional<bool>(*valid && *reader.rows[index].valid)
                        : std::nullopt;
        }
        report.together.push_back(aggregate(ranks, report.initiators.front().rows[index], valid));
        check_row(report.together.back(), readers.size(), errors);
    }
}

Report make_report(const Options& options, const std::vector<NewsReader>& readers,
                   std::vector<std::string>& errors) {
    Report report;
    report.host = host_name();
    report.expected_rows = options.shapes().size();
    for (unsigned rank = 0; rank < readers.size(); ++rank) {
        const NewsReader& reader = readers[rank];
        Initiator initiator;
        initiator.rank = rank;
        initiator.used = reader.used;
        for (const RawRow& raw : reader.rows) {
            initiator.rows.push_back(make_row(raw.shape, raw.slots, raw.samples, raw.valid));
            check_row(initiator.rows.back(), 1, errors);
        }
        report.interrupted |= !reader.finished || reader.rows.size() < report.expected_rows;
        report.initiators.push_back(std::move(initiator));
    }
    report.interrupted |= bench::interrupted_by() != 0;
    add_together(readers, report, errors);
    return report;
}

// The tables and the JSON; returns `code`, or that they could not be written.
int write(const Options& options, const Report& report, int code) {
    bench::print(bench::table_stream(options.json), "%s%s", configuration(options, report).c_str(),
                 tables(options, report).c_str());
    return bench::end_output("rdma_batch", options.json, json_document(options, report), code);
}

} // namespace

int run(const Options& options) {
    (void)buffer_bytes(options.shapes(), options.most_memory);
    if (const std::string reason = bench::why_not_writable(options.json); !reason.empty()) {
        throw bench::UsageError("option --json: " + options.json + " cannot be written: " + reason);
    }
    bench::watch_interrupts();
    Together& together = *Together::make(options.initiators);
    Children children;
    std::vector<NewsReader> readers = start(options, together, children);
    collect(readers, together);

    std::vector<std::string> errors;
    int code = bench::kSuccess;
    for (std::size_t rank = 0; rank < readers.size(); ++rank) {
        if (readers[rank].failure) {
            code = readers[rank].failure->code;
            errors.push_back("initiator rank " + std::to_string(rank) + ": " +
                             readers[rank].failure->sentence);
        }
    }
    const Report report = make_report(options, readers, errors);
    const bool measured = std::any_of(report.initiators.begin(), report.initiators.end(),
                                      [](const Initiator& each) { return !each.rows.empty(); });
    if (measured || errors.empty()) {
        code = write(options, report, code);
    }
    for (const std::string& error : errors) {
        bench::print(stderr, "rdma_batch: %s\n", error.c_str());
    }
    if (const int signal = bench::interrupted_by(); signal != 0) {
        return bench::interrupted_code(signal);
    }
    if (code == bench::kSuccess && (report.interrupted || !errors.empty())) {
        code = bench::kFailure;
    }
    return code;
}

} // namespace rdma_batch
