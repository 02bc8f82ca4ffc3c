"""Fitting over data that does not fit into memory: sources, passes and sums.

A *source* gives the rows again and again, in batches of any size. A *pass* (`passes.Pass`) is what
one reading of them must bring: a kind and arrays. An *executor* answers passes: `reading.BatchPasses` from a source,
`reading.MemoryPasses` from arrays, `boscage.dask` on a cluster; it finds the arithmetic by the kind (`kernels`). Sums
are made over blocks of 4096 rows of the global row order and reduced pairwise by block number (`reduction`), so the
answer does not depend on batches, threads or workers. Split families ask (`SplitFamily.grow_in_passes`); none knows
where the rows are.
"""
