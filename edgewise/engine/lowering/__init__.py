"""From a program and a graph to what both engines compile and lay out."""
