"""Studies on histories whose changes are known: how often detectors and acceptance are right."""
