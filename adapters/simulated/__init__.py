"""Schedulers in memory, in the shape of Slurm and of Kubeflow: everything is computed from a clock inside calls.

No thread, no event loop, no real time, no randomness: the same calls at the same instants give the same answers.
`truth` says what really runs, for whoever checks; `mishaps` and `people` are everything that can go wrong or
that somebody does by hand; a `Channel` decides what is lost, late, or lands after its caller has gone.

    cluster = SlurmCluster(name="sim", clock=clock)
    adapter = SlurmAdapter(cluster)
"""
