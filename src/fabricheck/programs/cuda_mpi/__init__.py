"""MPI on memory of GPUs: CUDA-aware against staged."""
