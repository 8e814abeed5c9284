"""Metrics for Prometheus: what the exporter and the textfile serve, from one catalogue."""
