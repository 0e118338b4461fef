"""The parts that algorithms share."""
