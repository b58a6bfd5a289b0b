"""Formats: what a tool printed, as text in, and records out.

One file per tool (dmidecode, lspci, nvidia-smi, fio, smartctl, the BMC's event log, nccl-tests and so on).
Runs no command and opens no file: ``probe``, ``readers``, ``accept`` and ``ledger`` bring the text. Training
logs are not here; they are streams and belong to ``readers``.
"""
