"""One run of the checks, from the look before it to the verdict after it."""
