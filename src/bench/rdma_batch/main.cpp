// rdma_batch: batches of RDMA reads and writes, as MORI-IO's benchmark measures them. Method and
// options: docs/reference/programs/rdma_batch.md.
#include "common/arguments.hpp"
#include "common/output.hpp"
#include "rdma_batch/options.hpp"
#include "rdma_batch/run.hpp"
#include "rdma_batch/target.hpp"
#include "rdma_batch/wire.hpp"

#include <cstdio>
#include <exception>
#include <string>

namespace {

int tell(const std::string& sentence, int code) {
    (void)std::fprintf(stderr, "rdma_batch: %s\n", sentence.c_str());
    return code;
}

int start(int argc, char** argv) {
    using namespace rdma_batch;
    Options options = parse_options(argc, argv);
    if (options.action != bench::Action::Run) {
        bench::answer(options.action, "rdma_batch", help_text());
        return bench::kSuccess;
    }
    for (const std::string& note : options.notes) {
        (void)tell("note: " + note, bench::kSuccess);
    }
    return options.host.empty() ? serve(options) : run(options);
}

} // namespace

int main(int argc, char** argv) {
    try {
        return start(argc, argv);
    } catch (const bench::UsageError& error) {
        return tell(error.what(), bench::kUsage);
    } catch (const rdma_batch::PeerError& error) {
        return tell(error.what(), bench::kUsage);
    } catch (const std::exception& error) {
        return tell(error.what(), bench::kFailure);
    }
}
