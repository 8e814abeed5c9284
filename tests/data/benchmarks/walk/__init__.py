"""walk: how long a step through memory takes."""
