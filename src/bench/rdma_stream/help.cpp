#include "rdma_stream/options.hpp"

namespace rdma_stream {

std::string help_text() {
    Options defaults;
    return R"(Usage: mpirun -n NRX+NLINK rdma_stream --nrx NRX --nlink NLINK [options]

Streams numbered messages from transmitters to receivers, and counts what arrived.

Ranks 0 to NRX-1 receive, the others transmit: transmitter t sends to receiver t mod NRX.

)" + table_of(defaults).help() +
           R"(
Exit codes: 0 every stream came to its end, lost messages or not; 1 a side gave up, wrong content
arrived, MPI or verbs failed, or the JSON file could not be written; 2 bad options, the wrong number
of ranks, or no such device; 128 + signal after SIGINT or SIGTERM, with what was measured until then.

Examples
  mpirun -n 2 rdma_stream --nmsg 10000                        # one pair over the first RDMA device
  mpirun -n 3 rdma_stream --nlink 2 --nmsg 10000              # two streams into one receiver
  mpirun -n 2 rdma_stream --qp-type uc --msg-size 4096        # losses show: nothing is repeated
  mpirun -n 2 rdma_stream --method udp --msg-size 8192 --send-delay 100 --nmsg 10000
  mpirun -n 2 rdma_stream --method mpi --test increment --nmsg 1000
  mpirun -n 2 rdma_stream --method mpi --inject-loss 100      # must count 1 % as missed
)";
}

} // namespace rdma_stream
