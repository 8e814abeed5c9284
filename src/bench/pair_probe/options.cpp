#include "pair_probe/options.hpp"

namespace pair_probe {

using bench::UsageError;

bench::OptionTable table_of(Options& options) {
    bench::OptionTable table("pair_probe");
    table.section("Options");
    table.text("s,steer=COMMAND", options.steer,
               "command of a shell that says who measures with whom, on rank 0's host");
    table.seconds("t,seconds=SECONDS", options.seconds, "how long a round takes");
    table.flag("nccl", options.nccl,
               "NCCL carries the data, between a GPU of each rank; MPI only starts it");
    add_common(table, options, "check the data of the last window of each direction");
    return table;
}

Options parse_options(int argc, char** argv) {
    return bench::parse(
        table_of, argc, argv, [](Options& options, const bench::OptionTable& table) {
            table.refuse_words();
            if (options.steer.empty()) {
                throw UsageError("option --steer is missing: the command that says the pairs");
            }
            check_common(options);
        });
}

std::string help_text() {
    Options defaults;
    return "Usage: mpirun -n RANKS pair_probe --steer COMMAND [options]\n"
           "\n"
           "Latency of 8 B and bandwidth of 1 MiB, in both directions, between the ranks of\n"
           "disjoint pairs, all at once, in rounds. The command gets a line with the hosts of the\n"
           "ranks, and one with the results of each round; before each round it prints a line "
           "with\n"
           "the ranks of the pairs, such as \"0 3 1 2\", or \"end\".\n"
           "\n" +
           table_of(defaults).help() +
           "\n"
           "Exit codes: 0 all rounds measured; 1 wrong data, an MPI error, a command that failed,\n"
           "or the JSON file could not be written; 2 bad options or ranks; 130 and 143 ended "
           "early\n"
           "by SIGINT or SIGTERM: what was measured is printed and marked.\n"
           "\n"
           "Examples\n"
           "  mpirun -n 4 --map-by ppr:1:node pair_probe -s 'printf \"0 1 2 3\\n0 2 1 "
           "3\\nend\\n\"'\n"
           "  srun --ntasks-per-node=1 pair_probe -s 'cat rounds.txt' --json rounds.json\n";
}

} // namespace pair_probe
