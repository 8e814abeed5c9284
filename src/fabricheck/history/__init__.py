"""The record: the line format of the perflog, its writer and its reader."""
