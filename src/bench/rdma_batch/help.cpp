#include "rdma_batch/options.hpp"

namespace rdma_batch {

std::string help_text() {
    Options defaults;
    return "Usage: rdma_batch [options]          on the target\n"
           "       rdma_batch [options] TARGET   on the initiator, with the same options\n"
           "\n"
           "Measures batches of RDMA reads or writes: the time from the first post of a batch to "
           "its\n"
           "last completion, and the bandwidth that follows.\n"
           "\n"
           "" +
           table_of(defaults).help() +
           "\n"
           "Exit codes: 0 all rows measured; 1 wrong data, a failed transfer, or an identity that "
           "does\n"
           "not hold; 2 bad options, no such device, too little memory, or no other end; 128 + N\n"
           "interrupted by signal N, after printing what was measured.\n"
           "\n"
           "Examples\n"
           "  rdma_batch --all --enable-sess --enable-batch-transfer --num-qp-per-transfer 2\n"
           "  rdma_batch --all --enable-sess --enable-batch-transfer --num-qp-per-transfer 2 "
           "node1\n"
           "  rdma_batch --op write --all-batch --buffer-size 1024 --enable-sess \\\n"
           "      --enable-batch-transfer --num-qp-per-transfer 16 --json batch.json node1\n"
           "  rdma_batch --op write --buffer-size 8 --inject-error node1   # must exit with code "
           "1\n";
}

} // namespace rdma_batch
