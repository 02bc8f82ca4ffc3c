"""Fitting over data that does not fit into memory: sources, passes and sums.

A *source* gives the rows again and again, in batches of any size. A *pass* (`reading.SumPass`, `reading.CollectPass`)
is what one reading of them must bring; it is a plain value that can be sent anywhere. Sums are made over blocks of
4096 rows of the global row order and reduced pairwise by block number (`reduction`), so the answer does not depend on
batches, threads or workers. An *executor* answers passes: `reading.BatchPasses` from a source, `boscage.dask` on a
cluster. Split families ask (`SplitFamily.grow_in_passes`); none knows where the rows are.
"""
