"""Steps of training jobs."""
