"""What is measured: the registry of benchmarks and the parser of their output."""
