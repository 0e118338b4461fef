"""Who does which arcs: load balancing on a GPU, one strategy a file.

The contract of work
--------------------
A *unit* is what some lanes share at a time: (part of) the arcs of one vertex. A *view* says which units there are and
which lanes have them. It is made for a function, the body, that says what is done with a unit:

``make(body, listed)`` gives ``each(vertices, count, offsets, scratch, context)``, which all threads of the grid call:
the vertices are ``vertices[:count]`` where `listed`, else all vertices below `count`. It calls, for every unit,

``body(v, first, end, step, lanes, context)``: this lane's arcs of vertex v are first, first + step, ... below end.

Every view keeps these invariants, and tests/check_views.py holds every view to them:

1. Each arc of each vertex is in the share of exactly one lane of one call; no other arc is in any.
2. All arcs of a vertex are in one unit, which `lanes` adjacent lanes of a warp share, or the whole block where `lanes`
   is the block's size. Each of these lanes calls the body with the same v, also where its share is empty.
3. All lanes of a warp call the body at once, and all threads of a block where a block shares a unit: so the body may
   use warp operations, and barriers of the block for such units. Lanes without a unit have v = -1 and an empty share.
4. What the order is, and in which block a unit is, is not said.

`deal` is another way: arcs are dealt out to lanes whatever their vertex, so a body has one arc at a time and gathers by
atomic operations only. `few` holds small frontiers in the blocks.

Strategies
----------
A *strategy* (`contract.Strategy`) stands for a choice of a schedule, and `registry` says for which. It declares the
arrays that its functions take, has those of a graph, and says what its code depends on. It makes a
`contract.Traversal`: what is noted of vertices that will send, who sends along their out-edges, and who gathers over
in-edges. `mapped` does all that by a view, `edge_based` (EP), `workload_decomposition` (WD and merge path),
`node_splitting` (NS) and `hierarchical` (HP) each in their own way, `automatic` by what wins.

Traversals keep 1, 3 and 4, and give up 2: a unit may be a part of what a vertex gathers. A traversal then says which
part it is, and has all parts of a vertex joined in their order when all were gathered. tests/check_views.py counts the
visits of every arc and joins the parts for all of them.
"""
