"""The record: what runs have measured, a line of JSON for each case (docs/how-to/history.md)."""
