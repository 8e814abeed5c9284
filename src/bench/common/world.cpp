#include "common/world.hpp"

#include "common/arguments.hpp"
#include "common/clock.hpp"
#include "common/controls.hpp"
#include "common/interrupt.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <new>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace bench {

namespace {

const char* program_name = "";

std::string library_line() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> buffer{};
    int length = 0;
    check(MPI_Get_library_version(buffer.data(), &length), "MPI_Get_library_version");
    std::string line(buffer.data());
    line.resize(std::min(line.find('\n'), line.size()));
    std::replace(line.begin(), line.end(), '\t', ' ');
    line.erase(line.find_last_not_of(" \r") + 1);
    return line;
}

std::array<char, MPI_MAX_PROCESSOR_NAME> processor_name() {
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    check(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
    return name;
}

// MPICH 4.0 closes its UCX endpoints in MPI_Finalize and then waits in a PMI barrier, where it no
// longer answers. Over TCP a close is a request that the peer must answer: a rank that still makes
// progress in MPI when another one begins to close may send its own request too late, and then
// hangs. So every rank is out of MPI before the first one finalizes, and a rank whose MPI_Finalize
// does not return all the same says so and leaves with its results, instead of holding the job
// until its time limit.
constexpr std::chrono::milliseconds kLongerThanATimeSlice{100};
constexpr unsigned kSecondsToFinalize = 10;
constexpr timespec kToPassOn{0, 500'000'000};
constexpr int kTimesToPassOn = 10;
constexpr unsigned kSecondsToAbort = 5;
constexpr int kGreeting = 103;
constexpr int kMostToGreet = 128;
int exit_code_without_finalize = kSuccess;

std::string note_without_finalize;

extern "C" void leave_without_finalize(int /*signal*/) {
    [[maybe_unused]] const ssize_t written =
        write(STDERR_FILENO, note_without_finalize.data(), note_without_finalize.size());
    _exit(exit_code_without_finalize);
}

extern "C" void leave_without_abort(int /*signal*/) {
    _exit(kFailure);
}

// Whether a launcher has yet to read what this rank printed.
bool is_unread(int stream) {
    struct stat kind {};
    int bytes = 0;
    return fstat(stream, &kind) == 0 && S_ISFIFO(kind.st_mode) &&
           ioctl(stream, FIONREAD, &bytes) == 0 && bytes > 0;
}

// MPICH's launcher ends its proxies at once, with what they have not passed on yet.
void pass_on() {
    for (int count = 0; count < kTimesToPassOn; ++count) {
        (void)nanosleep(&kToPassOn, nullptr);
        if (!is_unread(STDOUT_FILENO) && !is_unread(STDERR_FILENO)) {
            return;
        }
    }
}

// MPI_Init, MPI_ERRORS_RETURN, and rank and size.
World start_world(int* argc, char*** argv) {
    check(MPI_Init(argc, argv), "MPI_Init");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    World world;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &world.rank), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &world.size), "MPI_Comm_size");
    return world;
}

// MPICH 4.0 also hangs with two ranks that have never talked: their connection is made while it is
// closed, and one that has none left to close answers no more. So each two of them exchange a word,
// unless they are so many that the connections cost more than they are worth.
void greet_all(const World& world) {
    if (world.size > kMostToGreet || library_line().rfind("MPICH Version", 0) != 0) {
        return;
    }
    std::vector<MPI_Request> requests;
    for (int peer = 0; peer < world.size; ++peer) {
        if (peer != world.rank) {
            check(MPI_Irecv(nullptr, 0, MPI_CHAR, peer, kGreeting, MPI_COMM_WORLD,
                            &requests.emplace_back()),
                  "MPI_Irecv");
            check(MPI_Isend(nullptr, 0, MPI_CHAR, peer, kGreeting, MPI_COMM_WORLD,
                            &requests.emplace_back()),
                  "MPI_Isend");
        }
    }
    std::vector<MPI_Status> statuses(requests.size());
    wait_all(static_cast<int>(requests.size()), requests.data(), statuses.data());
}

void finish_world(const World& world, int code) {
    static_cast<void>(std::fflush(nullptr));
    exit_code_without_finalize = code;
    note_without_finalize = std::string(program_name) + ": MPI_Finalize did not return within " +
                            std::to_string(kSecondsToFinalize) + " s\n";
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    static_cast<void>(std::signal(SIGALRM, leave_without_finalize));
    alarm(kSecondsToFinalize);
    greet_all(world);
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    std::this_thread::sleep_for(kLongerThanATimeSlice);
    // What UCX says of connections that it closes is no part of the results.
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    check(MPI_Finalize(), "MPI_Finalize");
    alarm(0);
}

// Rank 0's words are what the others compare theirs with.
void require_same_words(const World& world, int argc, char** argv) {
    std::string own = program_name;
    for (int index = 1; index < argc; ++index) {
        own += std::string(" ") + argv[index];
    }
    std::uint64_t length = own.size();
    check(MPI_Bcast(&length, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD), "MPI_Bcast");
    std::string first = own;
    first.resize(length);
    check(MPI_Bcast(first.data(), static_cast<int>(length), MPI_CHAR, 0, MPI_COMM_WORLD),
          "MPI_Bcast");
    agree(world, own == first
                     ? std::string()
                     : "start all ranks with the same options: rank " + std::to_string(world.rank) +
                           " has \"" + own + "\", rank 0 \"" + first + "\"");
}

constexpr int kHere = 101;
constexpr int kAllHere = 102;

// What rank 0 says when the time is over.
std::string absent(const World& world, const std::vector<MPI_Request>& requests) {
    std::string names;
    for (std::size_t rank = 1; rank < requests.size(); ++rank) {
        if (requests[rank] != MPI_REQUEST_NULL) {
            names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank) +
                     (world.host_of_rank.empty() ? "" : " on " + world.host_of_rank[rank]);
        }
    }
    return names;
}

[[noreturn]] void give_up_meeting(const std::string& who, const std::string& where,
                                  double seconds) {
    abort_job(who + " did not come to " + where + " within " +
              std::to_string(std::lround(seconds)) +
              " s: stopped, much slower than the others, or on a node that hangs");
}

} // namespace

bool wait_within(MPI_Request& request, double seconds) {
    const double end = MPI_Wtime() + seconds;
    int done = 0;
    while (done == 0) {
        check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done == 0 && MPI_Wtime() > end) {
            return false;
        }
    }
    return true;
}

void meet(const World& world, const std::string& where, double seconds) {
    // Rank 0 knows who is missing, so that it speaks first.
    constexpr double kMoment = 1.0;
    if (world.rank != 0) {
        std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        check(MPI_Isend(nullptr, 0, MPI_CHAR, 0, kHere, MPI_COMM_WORLD, requests.data()),
              "MPI_Isend");
        check(MPI_Irecv(nullptr, 0, MPI_CHAR, 0, kAllHere, MPI_COMM_WORLD, &requests[1]),
              "MPI_Irecv");
        for (MPI_Request& request : requests) {
            if (!wait_within(request, seconds + kMoment)) {
                give_up_meeting("rank 0", where, seconds);
            }
        }
        return;
    }
    std::vector<MPI_Request> requests(static_cast<std::size_t>(world.size), MPI_REQUEST_NULL);
    for (int rank = 1; rank < world.size; ++rank) {
        check(MPI_Irecv(nullptr, 0, MPI_CHAR, rank, kHere, MPI_COMM_WORLD,
                        &requests[static_cast<std::size_t>(rank)]),
              "MPI_Irecv");
    }
    const double end = MPI_Wtime() + seconds;
    bool late = false;
    for (MPI_Request& request : requests) {
        late = !wait_within(request, std::max(end - MPI_Wtime(), 0.0)) || late;
    }
    if (late) {
        give_up_meeting(absent(world, requests), where, seconds);
    }
    for (int rank = 1; rank < world.size; ++rank) {
        check(MPI_Send(nullptr, 0, MPI_CHAR, rank, kAllHere, MPI_COMM_WORLD), "MPI_Send");
    }
}

void end_job() {
    pass_on();
    // An MPI that a signal has stopped anywhere may hang or fault once more.
    sigset_t signals{};
    (void)sigemptyset(&signals);
    for (const int signal : {SIGALRM, SIGSEGV, SIGBUS}) {
        (void)std::signal(signal, leave_without_abort);
        (void)sigaddset(&signals, signal);
    }
    (void)sigprocmask(SIG_UNBLOCK, &signals, nullptr);
    alarm(kSecondsToAbort);
    (void)MPI_Abort(MPI_COMM_WORLD, kFailure);
    _exit(kFailure);
}

void abort_job(const std::string& sentence) {
    int rank = -1;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)std::fprintf(stderr, "%s: rank %d: %s\n", program_name, rank, sentence.c_str());
    (void)std::fflush(nullptr);
    end_job();
}

void abort_mpi(const char* call, int error) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    if (MPI_Error_string(error, text.data(), &length) != MPI_SUCCESS) {
        (void)std::snprintf(text.data(), text.size(), "error code %d", error);
    }
    abort_job(std::string(call) + " failed: " + text.data());
}

void abort_wait(int error, int count, const MPI_Status* statuses) {
    int kind = error;
    (void)MPI_Error_class(error, &kind);
    for (int request = 0; kind == MPI_ERR_IN_STATUS && request < count; ++request) {
        const int found = statuses[request].MPI_ERROR;
        if (found != MPI_SUCCESS && found != MPI_ERR_PENDING) {
            const std::string which =
                "MPI_Waitall, request " + std::to_string(request) + " of " + std::to_string(count);
            abort_mpi(which.c_str(), found);
        }
    }
    abort_mpi("MPI_Waitall", error);
}

std::string own_host() {
    return processor_name().data();
}

std::vector<std::string> gather(const World& world, const std::string& text) {
    constexpr std::size_t kWidth = 256;
    std::array<char, kWidth> own{};
    text.copy(own.data(), own.size() - 1);
    const bool root = world.rank == 0;
    std::vector<char> all(root ? kWidth * static_cast<std::size_t>(world.size) : 0);
    check(MPI_Gather(own.data(), kWidth, MPI_CHAR, all.data(), kWidth, MPI_CHAR, 0, MPI_COMM_WORLD),
          "MPI_Gather");
    std::vector<std::string> texts;
    for (std::size_t start = 0; start < all.size(); start += kWidth) {
        texts.emplace_back(&all[start]);
    }
    return texts;
}

void describe_world(World& world) {
    world.library = library_line();
    world.host_of_rank = gather(world, own_host());
    const double overhead = clock_overhead([] { return MPI_Wtime(); });
    if (world.rank == 0) {
        world.clock_overhead.resize(static_cast<std::size_t>(world.size));
    }
    check(MPI_Gather(&overhead, 1, MPI_DOUBLE, world.clock_overhead.data(), 1, MPI_DOUBLE, 0,
                     MPI_COMM_WORLD),
          "MPI_Gather");
}

void add_facts(Report& report, const World& world) {
    std::vector<std::string> hosts;
    for (const std::string& host : world.host_of_rank) {
        if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) {
            hosts.push_back(host);
        }
    }
    report.fact("ranks", static_cast<std::uint64_t>(world.size), "Ranks");
    report.fact("hosts", hosts, "Hosts");
    report.fact("mpi", world.library, "MPI");
    report.fact("clock_overhead", world.clock_overhead, "Clock");
    add_controls(report);
}

bool answered(const World& world, Action action, const std::string& help) {
    if (action != Action::Run && world.rank == 0) {
        answer(action, program_name, help);
    }
    return action != Action::Run;
}

bool begins(World& world, const CommonOptions& options, const std::string& help,
            std::string (*refusal)(const World& world)) {
    if (answered(world, options.action, help)) {
        return false;
    }
    check_writable(world, options.json);
    describe_world(world);
    agree(world, refusal(world));
    watch_interrupts();
    return true;
}

int run_world(const char* program, int argc, char** argv, const char* when_out_of_memory,
              int (*run)(World& world, int argc, char** argv)) {
    program_name = program;
    World world = start_world(&argc, &argv);
    int code = kSuccess;
    try {
        require_same_words(world, argc, argv);
        code = run(world, argc, argv);
        check(MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
    } catch (const UsageError& error) {
        // Every rank returns the same code, so that none waits for another.
        code = kUsage;
        if (world.rank == 0) {
            (void)std::fprintf(stderr, "%s: %s\n", program, error.what());
        }
    } catch (const std::bad_alloc&) {
        abort_job(std::string("out of memory: ") + when_out_of_memory);
    } catch (const std::exception& error) {
        abort_job(error.what());
    }
    finish_world(world, code);
    return code;
}

void check_writable(const World& world, const std::string& json) {
    const std::string reason = world.rank == 0 ? why_not_writable(json) : std::string();
    int refused = reason.empty() ? 0 : 1;
    check(MPI_Bcast(&refused, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
    if (refused != 0) {
        throw UsageError("option --json: " + json + " cannot be written: " + reason);
    }
}

void agree(const World& world, const std::string& refusal) {
    const int mine = refusal.empty() ? world.size : world.rank;
    int first = world.size;
    check(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
    if (first == world.size) {
        return;
    }
    std::array<char, 1024> text{};
    if (first == world.rank) {
        (void)std::snprintf(text.data(), text.size(), "on %s: %s", processor_name().data(),
                            refusal.c_str());
    }
    check(MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, first, MPI_COMM_WORLD),
          "MPI_Bcast");
    throw UsageError(text.data());
}

int common_signal() {
    const int own = interrupted_by();
    int any = 0;
    check(MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
    return any;
}

} // namespace bench
