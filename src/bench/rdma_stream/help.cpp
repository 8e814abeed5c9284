#include "rdma_stream/options.hpp"

namespace rdma_stream {

std::string help_text() {
    return R"(Usage: mpirun -n NRX+NLINK rdma_stream --nrx NRX --nlink NLINK [options]

Streams numbered messages from transmitters to receivers, and counts what arrived.

Ranks 0 to NRX-1 receive, the others transmit: transmitter t sends to receiver t mod NRX.

Streams
  --nrx N             receivers (1)
  --nlink N           transmitters, at least as many (1)
  --method METHOD     rdma: SEND with immediate over verbs; mpi; udp (rdma)
  --msg-size BYTES    of each message (65536)
  --num-cmsgs N       messages that are posted at once, a block (100)
  --num-blks N        blocks that a side has room for (10)
  --nmsg N            messages of each transmitter (100000)
  --send-delay US     microseconds from one message to the next (0: as fast as possible)
  --test TEST         throughput: content is not looked at; ones: each byte is 1; increment: bytes
                      count up, from another value in each message (throughput)
  --timeout SECONDS   without a message or completion, after which a side gives up (10)
  --inject-loss N     do not send every N-th message, to see it counted
  --json FILE|-       write the results as JSON; with - the table goes to standard error

Verbs, with --method rdma
  --qp-type TYPE      rc, uc or ud (rc); a message of ud must fit into the MTU
  --poll-cq-mode MODE event: sleep until completions come; polling (event)
  --dev DEVICE        RDMA device (the first with the port active); with udp a network interface
  --port N            port of the device (1)
  --gid-index N       address of the port (on Ethernet the first routable one of RoCE v2)
  --mtu BYTES         256, 512, 1024, 2048 or 4096 (the port's active MTU)
  --sl N              service level, 0 to 15 (0)

  -h, --help          this text
  -v, --version       the version

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
