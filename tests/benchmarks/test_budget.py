from fabricheck.benchmarks.budget import iterations


def test_iterations_fit_the_budget_within_bounds():
    assert iterations(8, budget=0.05, latency=50, bandwidth=30) == 497
    assert iterations(1 << 20, budget=0.05, latency=50, bandwidth=30) == 10, "never too few"
    assert iterations(8, budget=1, latency=1, bandwidth=10_000) == 10_000, "never too many"
