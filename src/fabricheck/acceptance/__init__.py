"""Acceptance: is the fabric after a change as good as before it?"""
