"""Which node is at fault, from what the nights have measured already."""
