#include "mpi_matmul/freivalds.hpp"
#include "mpi_matmul/matrices.hpp"
#include "mpi_matmul/memory.hpp"
#include "mpi_matmul/options.hpp"
#include "mpi_matmul/shares.hpp"
#include "tests/fuzzed_arguments.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <unistd.h>

using namespace mpi_matmul;

namespace {

struct Product {
    explicit Product(std::uint64_t n) : a(n * n), b(n * n), c(n * n) {
        fill(a.data(), a.size(), Name::A, 7);
        fill(b.data(), b.size(), Name::B, 7);
        for (std::uint64_t row = 0; row < n; ++row) {
            for (std::uint64_t k = 0; k < n; ++k) {
                for (std::uint64_t column = 0; column < n; ++column) {
                    c[row * n + column] += a[row * n + k] * b[k * n + column];
                }
            }
        }
    }

    std::vector<double> a;
    std::vector<double> b;
    std::vector<double> c;
};

// A tree of files like / of a node.
class FakeRoot {
  public:
    FakeRoot()
        : root_(std::filesystem::temp_directory_path() /
                ("fabricheck-matmul-" + std::to_string(getpid()))) {}
    ~FakeRoot() { std::filesystem::remove_all(root_); }
    FakeRoot(const FakeRoot&) = delete;
    FakeRoot& operator=(const FakeRoot&) = delete;

    void write(const std::string& file, const std::string& text) const {
        std::filesystem::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text;
    }
    [[nodiscard]] const std::filesystem::path& path() const { return root_; }

  private:
    std::filesystem::path root_;
};

} // namespace

TEST_CASE("rows are dealt out evenly, whole and in order") {
    for (const std::uint64_t n : {1U, 2U, 7U, 240U, 10'000U}) {
        for (const int ranks : {1, 2, 3, 8, 32}) {
            CAPTURE(n);
            CAPTURE(ranks);
            std::uint64_t next = 0;
            std::uint64_t fewest = n;
            std::uint64_t most = 0;
            for (const Share& share : shares(n, ranks)) {
                CHECK(share.first == next);
                next += share.rows;
                fewest = std::min(fewest, share.rows);
                most = std::max(most, share.rows);
            }
            CHECK(next == n);
            CHECK(most - fewest <= 1);
        }
    }
    CHECK(shares(7, 3)[0].rows == 3);
    CHECK(shares(2, 4)[3].rows == 0);
}

constexpr std::uint64_t kMost = 2147483647; // that MPI counts

TEST_CASE("a matrix with more elements than MPI can count is counted in rows") {
    const Counting below = counting(46340, kMost);
    CHECK_FALSE(below.in_rows);
    CHECK(below.of(46340, 46340) == 46340 * 46340);
    const Counting above = counting(46341, kMost);
    CHECK(above.in_rows);
    CHECK(above.of(46341, 46341) == 46341);
    CHECK(above.of(10, 46341) == 10);
    CHECK(counting(kLargestOrder, kMost).of(kLargestOrder, kLargestOrder) == 1'000'000);
}

TEST_CASE("a broadcast is parted into pieces of whole rows") {
    struct Case {
        std::uint64_t n, bytes;
        std::vector<std::uint64_t> rows;
    };
    for (const Case& each :
         {Case{10, 800, {10}}, Case{10, 799, {9, 1}}, Case{10, 240, {3, 3, 3, 1}},
          Case{2, 1, {1, 1}}, Case{16268, kMost, {16268}}, Case{16500, kMost, {16268, 232}}}) {
        std::uint64_t first = 0;
        std::vector<std::uint64_t> rows;
        for (const Share& piece : pieces(each.n, each.bytes)) {
            CHECK(piece.first == first);
            first += piece.rows;
            rows.push_back(piece.rows);
        }
        CHECK(first == each.n);
        CHECK(rows == each.rows);
    }
}

TEST_CASE("bytes of the phases") {
    CHECK(transferred_bytes(shares(2000, 8), 2000) == 28'000'000); // 7/8 of 32 MB
    CHECK(broadcast_bytes(2000, 8) == 224'000'000);                // 7 times 32 MB
    CHECK(transferred_bytes(shares(2000, 1), 2000) == 0);
    CHECK(broadcast_bytes(2000, 1) == 0);
    CHECK(transferred_bytes(shares(100'000, 2), 100'000) == 40'000'000'000U);
    CHECK(operations(1000) == 2e9);
}

TEST_CASE("matrices are whole numbers, the same for the same seed") {
    std::vector<double> a(10'000);
    std::vector<double> again(10'000);
    std::vector<double> b(10'000);
    fill(a.data(), a.size(), Name::A, 1);
    fill(again.data(), again.size(), Name::A, 1);
    fill(b.data(), b.size(), Name::B, 1);
    CHECK(a == again);
    CHECK(a != b);
    fill(again.data(), again.size(), Name::A, 2);
    CHECK(a != again);
    CHECK(*std::min_element(a.begin(), a.end()) == -64);
    CHECK(*std::max_element(a.begin(), a.end()) == 64);
    CHECK(std::all_of(a.begin(), a.end(), [](double value) { return value == std::round(value); }));
    // The largest sum of the check stays exact.
    CHECK(std::pow(64.0 * static_cast<double>(kLargestOrder), 2) < std::pow(2.0, 53));
}

TEST_CASE("a right product passes, again and again") {
    const Product product(33);
    Freivalds check(33, 1);
    for (int repetition = 0; repetition < 50; ++repetition) {
        CHECK_FALSE(check.wrong_row(product.a.data(), product.b.data(), product.c.data()));
    }
}

TEST_CASE("one wrong element is always found, wherever it is and however small") {
    const std::uint64_t n = 16;
    Product product(n);
    Freivalds check(n, 1);
    for (std::uint64_t index = 0; index < n * n; ++index) {
        const double right = product.c[index];
        for (const double wrong :
             {right + 1, std::nextafter(right, 1e9), 1e300, -HUGE_VAL, std::nan("")}) {
            product.c[index] = wrong;
            CHECK(check.wrong_row(product.a.data(), product.b.data(), product.c.data()) ==
                  index / n);
        }
        product.c[index] = right;
    }
}

TEST_CASE("errors that hide each other escape one check in eight at most") {
    Product product(16);
    product.c[5] += 3;
    product.c[9] -= 3; // escapes a vector whose signs are equal there: one in two
    Freivalds check(16, 1);
    int missed = 0;
    constexpr int kChecks = 4000;
    for (int repetition = 0; repetition < kChecks; ++repetition) {
        missed += check.wrong_row(product.a.data(), product.b.data(), product.c.data()) ? 0 : 1;
    }
    CHECK(missed == doctest::Approx(kChecks / 8.0).epsilon(0.15));
}

TEST_CASE("what does not arrive is wrong") {
    Product product(16);
    std::fill_n(&product.c[32], 16, std::numeric_limits<double>::quiet_NaN());
    Freivalds check(16, 1);
    CHECK(check.wrong_row(product.a.data(), product.b.data(), product.c.data()) == 2);
}

TEST_CASE("memory that is needed") {
    // 10000: 0.8 GB a matrix.
    CHECK(needed_bytes(10'000, 1250, true) == 3 * 800'000'000ULL + 10'000 * 48ULL);
    CHECK(needed_bytes(10'000, 1250, false) == 800'000'000ULL + 2 * 100'000'000ULL);
    CHECK(needed_bytes(kLargestOrder, 1, true) > 24'000'000'000'000ULL);
    CHECK(in_words(38'400'000'000) == "38.4 GB");
}

TEST_CASE("memory that is there is the least of what kernel and control groups leave") {
    const FakeRoot root;
    CHECK_FALSE(available_bytes(root.path()));
    root.write("proc/meminfo", "MemTotal:       2000 kB\nMemAvailable:   1000 kB\n");
    CHECK(available_bytes(root.path()) == 1'024'000);
    root.write("proc/self/cgroup", "0::/slurm/job_7\n");
    root.write("sys/fs/cgroup/slurm/job_7/memory.max", "max\n");
    root.write("sys/fs/cgroup/slurm/job_7/memory.current", "50000\n");
    CHECK(available_bytes(root.path()) == 1'024'000);
    root.write("sys/fs/cgroup/slurm/memory.max", "600000\n");
    root.write("sys/fs/cgroup/slurm/memory.current", "500000\n");
    CHECK(available_bytes(root.path()) == 100'000);
    root.write("sys/fs/cgroup/slurm/memory.stat", "anon 100\ninactive_file 300000\n");
    CHECK(available_bytes(root.path()) == 400'000);
    root.write("sys/fs/cgroup/slurm/job_7/memory.max", "40000\n");
    CHECK(available_bytes(root.path()) == 0);
}

TEST_CASE("any command line is taken or refused with a sentence") {
    const std::vector<std::string> words = {"-n",
                                            "2000,4000",
                                            "240",
                                            "-m",
                                            "blocking",
                                            "--mode",
                                            "collective",
                                            "-i",
                                            "10",
                                            "-x",
                                            "-c",
                                            "--inject",
                                            "--seed",
                                            "--time-budget",
                                            "--json",
                                            "result.json",
                                            "--largest-count",
                                            "-h",
                                            "--version"};
    bench_tests::fuzz_arguments(words, [](int argc, char** argv) {
        const Options options = parse_options(argc, argv);
        CHECK_FALSE(options.orders.empty());
        CHECK(std::is_sorted(options.orders.begin(), options.orders.end()));
        CHECK(options.orders.back() <= kLargestOrder);
        CHECK(options.repetitions > 0);
    });
}
