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

void check_sweep(const Options& options, const Given& given) {
    refuse(options.all && options.all_batch, "--all-batch", "a sweep of its own, not for --all");
    refuse(given.sizes && !options.all, "--sizes", "the sweep of --all");
    refuse(given.batches && !options.all_batch, "--batches", "the sweep of --all-batch");
    refuse(given.buffer_size && options.all, "--buffer-size",
           "one size, but --all sweeps the sizes");
    refuse(given.batch && options.all_batch, "--transfer-batch-size",
           "one batch size, but --all-batch sweeps them");
}

} // namespace

void check_combination(const Options& options, const Given& given) {
    check_sweep(options, given);
    const bool reads = options.operation == Operation::Read;
    refuse(given.reads && !reads, "--max-rd-atomic", "--op read");
    refuse(given.inlined && reads, "--inline", "--op write: a request to read carries no data");
    refuse(given.chain && !options.batch_transfer, "--post-batch", "--enable-batch-transfer");
    if (options.inject_error && !options.validate) {
        throw UsageError("option --inject-error falsifies what the validation must find; take "
                         "--no-validate away");
    }
    if (options.initiators != options.targets) {
        throw UsageError("expected as many initiator as target devices, found " +
                         std::to_string(options.initiators) + " and " +
                         std::to_string(options.targets) + ": each has one process at each end");
    }
    if (!options.devices.empty() && options.devices.size() != options.initiators) {
        throw UsageError("option --dev names " + std::to_string(options.devices.size()) +
                         " device(s), expected " + std::to_string(options.initiators) +
                         ", one for each of --num-initiator-dev (one may be named twice)");
    }
    if (options.devices.empty() && options.initiators > 1) {
        throw UsageError("expected option --dev with a device for each of " +
                         std::to_string(options.initiators) + " initiators, found none");
    }
    if (options.workers > options.queue_pairs) {
        throw UsageError("expected a queue pair or more for each worker thread, found " +
                         std::to_string(options.workers) + " threads and " +
                         std::to_string(options.queue_pairs) +
                         " queue pairs: raise --num-qp-per-transfer");
    }
}

} // namespace rdma_batch
