"""The engine that spreads a program over several processes, on one machine or many."""
