"""Load balancing on a GPU: which threads do which arcs.

The contract of work
--------------------
A *unit* is arcs of one vertex that some lanes share at a time. A *view* says which units there are, and which lanes
have them. It is made for a body, a function that says what is done with a unit:

``make(body, listed)`` gives ``each(vertices, low, high, offsets, scratch, context)``, which all threads of the grid
call. The vertices are ``vertices[low:high]`` if `listed`, else low to high - 1. For every unit it calls

``body(v, first, end, step, lanes, context)``: this lane's arcs of vertex v are first, first + step, ... below end.

Every view keeps these invariants, and tests/check_views.py holds every view to them:

1. Each arc of each vertex is in the share of exactly one lane of one call. No other arc is in any share.
2. All arcs of a vertex are in one unit, which `lanes` adjacent lanes of a warp share, or the whole block if `lanes` is
   the block's size. Each of these lanes calls the body with the same v, even if its share is empty.
3. All lanes of a warp call the body at once, and so do all threads of a block that share a unit. So the body may use
   warp operations, and barriers of the block for such units. Lanes without a unit have v = -1 and an empty share.
4. Units come in any order, in any block.

`edgewise.primitives.deal` shares arcs out in another way, one by one to lanes, whatever their vertices: a body has one
arc at a time, and combines messages only by atomic operations.

Strategies
----------
A *strategy* (`contract.Strategy`) stands for a schedule's choice, and `registry` says for which. It declares the arrays
that its functions take, makes them for a graph, and says what its code depends on. It makes a `contract.Traversal`:
functions that note which vertices will send, send along their out-edges, and gather over in-edges. `mapped` does so by
a view; `edge_based` (EP), `workload_decomposition` (WD and merge path), `node_splitting` (NS) and `hierarchical` (HP)
do so in their own ways; `automatic` picks what is fastest.

Traversals keep 1, 3 and 4, but not 2: several units may be parts of what one vertex gathers. A traversal then gives
each part a number, and has the parts of a vertex joined in their order after all were gathered. tests/check_views.py
counts the visits of every arc and joins the parts for all traversals.
"""
