"""Fleet: run the same thing in many places, behind one Executor: this process, ssh, Slurm, Ray.

Hands work out and brings results back, with what failed and where. Not a scheduler: it holds no queue and
decides no order.
"""
