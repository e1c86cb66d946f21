"""Proving oracles on traces: what passes must pass, what is broken on purpose must fail."""

from mango_trace.proving.gate import Finding, KindScore, Limits, Proof
from mango_trace.proving.mutants import Kind, Mutant
from mango_trace.proving.records import ProofRecord, read_proofs, record_of, write_proofs
from mango_trace.proving.run import ProofReport, prove, prove_all

__all__ = [
    "Finding",
    "Kind",
    "KindScore",
    "Limits",
    "Mutant",
    "Proof",
    "ProofRecord",
    "ProofReport",
    "prove",
    "prove_all",
    "read_proofs",
    "record_of",
    "write_proofs",
]
