"""Before anything runs: new sites, what a site measures and what not, and what judges it."""
