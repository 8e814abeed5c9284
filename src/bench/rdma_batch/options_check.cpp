#include "rdma_batch/options_check.hpp"

#include "common/arguments.hpp"

namespace rdma_batch {

namespace {

using bench::UsageError;

void refuse(bool given, const char* option, const char* where) {
    if (given) {
        throw UsageError(std::string("option ") + option + " is for " + where +
                         "; leave one of the two away");
    }
}

void check_sweep(const Options& options, const bench::OptionTable& table) {
    refuse(options.all && options.all_batch, "--all-batch", "a sweep of its own, not for --all");
    refuse(table.given("sizes") && !options.all, "--sizes", "the sweep of --all");
    refuse(table.given("batches") && !options.all_batch, "--batches", "the sweep of --all-batch");
}

} // namespace

void check_combination(const Options& options, const bench::OptionTable& table) {
    check_sweep(options, table);
    const bool reads = options.operation == Operation::Read;
    refuse(table.given("max-rd-atomic") && !reads, "--max-rd-atomic", "--op read");
    refuse(table.given("inline") && reads, "--inline",
           "--op write: a request to read carries no data");
    refuse(table.given("post-batch") && !options.batch_transfer, "--post-batch",
           "--enable-batch-transfer");
    check_common(options);
    if (!options.devices.empty() && options.devices.size() != options.own_devices()) {
        throw UsageError("option --dev names " + std::to_string(options.devices.size()) +
                         " device(s), expected " + std::to_string(options.own_devices()) +
                         ", one for each of " +
                         (options.host.empty() ? "--num-target-dev" : "--num-initiator-dev") +
                         " (one may be named twice)");
    }
    if (options.workers > options.queue_pairs) {
        throw UsageError("expected a queue pair or more for each worker thread, found " +
                         std::to_string(options.workers) + " threads and " +
                         std::to_string(options.queue_pairs) +
                         " queue pairs: raise --num-qp-per-transfer");
    }
}

void note_unused(Options& options, const bench::OptionTable& table) {
    if (table.given("buffer-size") && options.all) {
        options.notes.emplace_back("option --buffer-size changes nothing: --all sweeps the size");
    }
    if (table.given("transfer-batch-size") && options.all_batch) {
        options.notes.emplace_back(
            "option --transfer-batch-size changes nothing: --all-batch sweeps the batch");
    }
    if (options.targets > options.initiators) {
        options.notes.emplace_back(
            std::to_string(options.targets - options.initiators) + " of " +
            std::to_string(options.targets) +
            " target devices are not used: each initiator device has one of them");
    }
}

} // namespace rdma_batch
