"""What people look at: the table on the terminal and the offline page."""
