"""Trend: alarms of tonight, dated changes, and the events that they make up."""
