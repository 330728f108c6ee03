"""Bugs planted in the adapters: what they check, and in which order."""

from __future__ import annotations

from tests.simulator.mutants.plant import Edit, Mutant

CALLS = "adapters.simulated.kubeflow_calls:KubeflowCalls"
ADMIT = "adapters.simulated.adapter:KubeflowAdapter._admit"
READ = 'version = await self._read(f"{verb}: read", lambda: self._calls.read_gate(call))'
LIST = 'await self._read(f"{verb}: list pods", lambda: self._calls.list_pods(call))'
PLAIN = ("kubeflow-unfenced",)

SCHEDULING = (
    Mutant(
        name="pods-listed-before-the-read",
        rule="the resource version is read before the pods are listed",
        edits=(
            Edit(ADMIT, f"    {READ}\n    {LIST}\n", f"    {LIST}\n    {READ}\n"),
            Edit(f"{CALLS}.read_gate", "    if not job.closed:\n", "    if not job.suspend:\n"),
        ),
        laws=("L4",),
        steps=500,
        theme="hands",
        shapes=PLAIN,
        marked=True,
    ),
    Mutant(
        name="pods-not-listed",
        rule="nothing is admitted while a pod of the job may hold a process",
        edits=(
            Edit(ADMIT, LIST, "pass"),
            Edit("dispatch.next_steps.gate:_others_gone", "_unproven(_others(situation, held))", "[]"),
            Edit("dispatch.next_steps.gate:_earlier_runs_gone", "if r.run < run or r.ended", "if False"),
        ),
        laws=("L4",),
        steps=500,
        theme="hands",
        shapes=PLAIN,
    ),
    Mutant(
        name="pods-of-one-object-listed",
        rule="pods are selected by the job, not by one object of it",
        edits=(
            Edit(
                f"{CALLS}.list_pods",
                "remaining = self.cluster.pods(call.name)",
                "remaining = [p for p in self.cluster.pods(call.name) if p.job.ref == call.object]",
            ),
            Edit("dispatch.next_steps.gate:_others_gone", "_unproven(_others(situation, held))", "[]"),
        ),
        laws=("L4",),
        theme="strangers",
        shapes=PLAIN,
    ),
    Mutant(
        name="write-without-the-version",
        rule="the admitting write carries the resource version read before the list",
        edits=(Edit(f"{CALLS}.write_admission", "    if job.version != version:\n", "    if False:\n"),),
        laws=("L4", "L10", "L1"),
        steps=500,
        theme="hands",
        shapes=("kubeflow-unfenced", "kubeflow", "kueue"),
        marked=True,
    ),
    Mutant(
        name="chain-not-closed",
        rule="every controller below has seen the suspension before the pods are listed",
        edits=(
            Edit("adapters.simulated.trainjob:TrainJob.closed", "self.suspend and self.seen_suspend", "self.suspend"),
            Edit("adapters.simulated.trainjob:TrainJob.phase", "if self.seen_suspend and not live", "if not live"),
        ),
        laws=("L4", "L3", "L2"),
        steps=500,
        shapes=PLAIN,
        theme="lagging-below",
        marked=True,
    ),
    Mutant(
        name="stop-that-leaves-the-version",
        rule="a stop always changes the resource version, so that an admission in flight fails",
        edits=(
            Edit(
                "adapters.simulated.kubeflow:KubeflowCluster.suspend", "    self.write(job)\n", "    self.touch(job)\n"
            ),
        ),
        laws=("L10", "L3", "L2", "L4", "L1"),
        steps=500,
        shapes=("kubeflow-unfenced", "kubeflow", "kueue"),
        theme="clean-up",
        marked=True,
    ),
    Mutant(
        name="kueue-without-the-pod-fence",
        rule="in Kueue mode a pod scheduling gate makes the pods of an old Ready harmless",
        edits=(
            Edit(
                "tests.simulator.swarm:Swarm.kubeflow", 'pod_fence=self.shape != "kubeflow-unfenced"', "pod_fence=False"
            ),
        ),
        laws=("L4", "L1"),
        theme="quota",
        shapes=("kueue",),
        marked=True,
    ),
    Mutant(
        name="requeue-not-into-the-gate",
        rule="a requeue lands gated: the next run needs its own open",
        edits=(
            Edit(
                "adapters.simulated.slurm_calls:SlurmCalls.requeue",
                "        self.cluster.hold(job, HoldSeen.NONE)\n        job.requeueing, job.revived = True, None\n",
                "        job.requeueing, job.revived = True, None\n",
            ),
        ),
        laws=("L1",),
        theme="in-place",
        shapes=("slurm", "slurm-plain", "slurm-fenced"),
        marked=True,
    ),
    Mutant(
        name="start-not-gated",
        rule="a started object is gated: nothing of it runs",
        edits=(
            Edit(
                "adapters.simulated.slurm_calls:SlurmCalls.start",
                "    self.cluster.add(job)\n",
                "    self.cluster.add(job)\n    self.cluster.unhold(job, Lift(BegunBy.CALL, call))\n",
            ),
        ),
        laws=("L1",),
        shapes=("slurm", "slurm-plain", "slurm-fenced"),
    ),
    Mutant(
        name="cessation-while-the-node-is-lost",
        rule="processes on a node that does not answer are not gone",
        edits=(
            Edit(
                "adapters.simulated.slurm_calls:SlurmCalls._node",
                "name in job.executions[run].alive or (not node.reachable)",
                "node.reachable and name in job.executions[run].alive",
            ),
        ),
        laws=("L4", "L3"),
        theme="nodes",
        shapes=("slurm", "slurm-plain", "slurm-fenced"),
    ),
    Mutant(
        name="as-of-read-after-the-query",
        rule="the host's clock is read before the query",
        edits=(
            Edit(
                "adapters.simulated.slurm_calls:SlurmCalls.find",
                "    as_of = self.cluster.advance()\n",
                "    from datetime import timedelta\n    as_of = self.cluster.advance() + timedelta(seconds=90)\n",
            ),
        ),
        laws=("L10", "L3", "L9", "L4", "L2"),
        steps=500,
        theme="in-place",
        shapes=("slurm", "slurm-plain", "slurm-fenced"),
    ),
)
