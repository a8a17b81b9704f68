"""Clients with the methods of those of other agents."""
