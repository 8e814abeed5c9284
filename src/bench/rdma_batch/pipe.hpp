// What an initiator's process tells its parent, through a pipe.
#pragma once

#include "common/output.hpp"
#include "rdma_batch/accounting.hpp"
#include "rdma_batch/channel.hpp"
#include "rdma_batch/report.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rdma_batch {

enum class Message : char { Used = 'U', Row = 'R', Failed = 'F', Done = 'D' };

/// A row as its process measured it.
struct RawRow {
    Shape shape{0, 0};
    std::uint64_t slots = 0;
    std::optional<bool> valid;
    std::string wrong; ///< what was wrong with the data
    std::vector<Sample> samples;
};

/// The end of an initiator's process: an exit code and why.
struct Failure {
    int code = 0;
    std::string sentence;
};

class ResultWriter {
  public:
    explicit ResultWriter(Descriptor pipe) : pipe_(std::move(pipe)) {}

    void tell(const Used& used);
    void tell(const RawRow& row);
    void tell(const Failure& failure);
    void done();

  private:
    template <class... Words>
    void write(Message kind, const Words&... words);

    Descriptor pipe_;
};

/// Collects what comes through one pipe.
class ResultReader {
  public:
    explicit ResultReader(Descriptor pipe) : pipe_(std::move(pipe)) {}

    [[nodiscard]] int number() const { return pipe_.number(); }
    [[nodiscard]] bool open() const { return pipe_.number() >= 0; }

    /// Reads once what is there; at the end of the pipe it closes.
    void read();

    Used used;
    std::vector<RawRow> rows;
    std::optional<Failure> failure; ///< also of a process that died without a word
    bool finished = false;

  private:
    void take(const std::string& line);

    Descriptor pipe_;
    std::string pending_;
};

} // namespace rdma_batch
