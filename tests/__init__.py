"""Tests, sorted by what they need."""
