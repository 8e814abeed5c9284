"""The stress controller: a mix of collectives, block after block, in a job that yields to users."""
