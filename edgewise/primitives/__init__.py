"""What kernels share: dealing arcs out, queues, buffers of a warp, row sums, near and far vertices, control words."""
