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

constexpr int kBetweenSignals = 500; // milliseconds between two looks for a signal

std::string host_name() {
    std::array<char, 256> name{};
    (void)gethostname(name.data(), name.size() - 1);
    return name.data();
}

// In a process of its own: the exit code.
int child(const Options& options, unsigned rank, SharedBarrier& barrier, Descriptor pipe) {
    ResultWriter messages(std::move(pipe));
    Failure failure;
    try {
        initiate(options, rank, barrier, messages);
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
    messages.tell(failure);
    return failure.code;
}

std::vector<ResultReader> start(const Options& options, SharedBarrier& barrier,
                                Children& children) {
    std::vector<ResultReader> readers;
    for (unsigned rank = 0; rank < options.initiators; ++rank) {
        std::array<int, 2> ends{};
        if (pipe2(ends.data(), O_CLOEXEC) != 0) {
            throw std::runtime_error(std::string("no pipe to a process: ") +
                                     std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
        }
        readers.emplace_back(Descriptor(ends[0]));
        Descriptor writer(ends[1]);
        children.start([&] { return child(options, rank, barrier, std::move(writer)); });
    }
    return readers;
}

// Hears all processes until they are done, or until one has failed: the others would wait for it.
void collect(std::vector<ResultReader>& readers, SharedBarrier& barrier) {
    while (true) {
        std::vector<pollfd> waiting;
        std::vector<ResultReader*> who;
        for (ResultReader& reader : readers) {
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
        const int ready = poll(waiting.data(), waiting.size(), kBetweenSignals);
        if (bench::interrupted_by() != 0) {
            barrier.interrupt();
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

// All rows of one initiator, or of all together, as a table.
class Table {
  public:
    Table(bench::Report& report, std::string title, std::optional<unsigned> initiator,
          std::uint64_t parts)
        : report_(report), title_(std::move(title)), initiator_(initiator), parts_(parts) {}

    void add(const RowResult& row) {
        rows_.push_back(row_of(row, initiator_));
        if (const auto broken = broken_identity(row, parts_)) {
            report_.fail(std::to_string(row.shape.size) + " bytes x " +
                         std::to_string(row.shape.batch) + ": " + *broken);
        }
    }

    void print(Columns columns) {
        bench::print(report_.stream(), "%s", table(title_, rows_, columns).c_str());
        for (bench::Row& row : rows_) {
            report_.add(std::move(row));
        }
    }

  private:
    bench::Report& report_;
    std::string title_;
    std::optional<unsigned> initiator_;
    std::uint64_t parts_;
    std::vector<bench::Row> rows_;
};

RowResult result_of(const RawRow& raw) {
    return make_row(raw.shape, raw.slots, raw.samples, raw.valid);
}

void add_together(bench::Report& report, const Options& options,
                  const std::vector<ResultReader>& readers) {
    std::size_t rows = readers.front().rows.size();
    for (const ResultReader& reader : readers) {
        rows = std::min(rows, reader.rows.size());
    }
    Table all(report, "Aggregate of " + std::to_string(readers.size()) + " Initiators", {},
              readers.size());
    for (std::size_t index = 0; index < rows; ++index) {
        const RawRow& first = readers.front().rows[index];
        std::vector<std::vector<Sample>> ranks;
        std::optional<bool> valid = first.valid;
        for (const ResultReader& reader : readers) {
            ranks.push_back(reader.rows[index].samples);
            valid = valid ? std::optional(*valid && reader.rows[index].valid.value_or(false))
                          : std::nullopt;
        }
        all.add(aggregate(ranks, result_of(first), valid));
    }
    all.print(options.columns);
}

// The tables and the JSON; the exit code.
int tell(bench::Report& report, Options& options, const std::vector<ResultReader>& readers) {
    std::vector<Used> used;
    used.reserve(readers.size());
    for (const ResultReader& reader : readers) {
        used.push_back(reader.used);
    }
    tell_place(report, options, host_name(), used);
    for (unsigned rank = 0; rank < readers.size(); ++rank) {
        Table own(report, "Initiator Rank " + std::to_string(rank), rank, 1);
        for (const RawRow& row : readers[rank].rows) {
            own.add(result_of(row));
        }
        own.print(options.columns);
    }
    if (readers.size() > 1) {
        add_together(report, options, readers);
    }
    const std::size_t tables = readers.size() + (readers.size() > 1 ? 1 : 0);
    return report.end(options.json, table_of(options), tables * options.shapes().size(), "rows",
                      bench::interrupted_by());
}

} // namespace

int run(Options& options) {
    (void)buffer_bytes(options.shapes(), options.most_memory);
    if (const std::string reason = bench::why_not_writable(options.json); !reason.empty()) {
        throw bench::UsageError("option --json: " + options.json + " cannot be written: " + reason);
    }
    bench::watch_interrupts();
    SharedBarrier& barrier = *SharedBarrier::make(options.initiators);
    Children children;
    std::vector<ResultReader> readers = start(options, barrier, children);
    collect(readers, barrier);

    bench::Report report(bench::table_stream(options.json), "rdma_batch",
                         bench::word_of(kOperations, options.operation));
    int code = bench::kSuccess;
    bool measured = false;
    for (std::size_t rank = 0; rank < readers.size(); ++rank) {
        measured = measured || !readers[rank].rows.empty();
        if (const auto& failure = readers[rank].failure) {
            code = failure->code;
            report.fail("initiator rank " + std::to_string(rank) + ": " + failure->sentence);
        }
    }
    if (measured || code == bench::kSuccess) {
        const int ended = tell(report, options, readers);
        code = code == bench::kSuccess || bench::interrupted_by() != 0 ? ended : code;
    }
    for (const std::string& failure : report.failures()) {
        bench::print(stderr, "rdma_batch: %s\n", failure.c_str());
    }
    return code;
}

} // namespace rdma_batch
