"""The dashboard for Grafana, written with Grafana's own library."""
