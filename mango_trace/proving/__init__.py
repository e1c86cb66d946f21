"""Proving oracles on traces: what passes must pass, what is broken on purpose must fail."""

from mango_trace.proving.gate import Finding, KindScore, Limits, Proof
from mango_trace.proving.mutants import Kind, Mutant
from mango_trace.proving.records import ProofRecord, forget_proof, read_proofs, record_of, write_proofs
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
    "forget_proof",
    "prove",
    "prove_all",
    "read_proofs",
    "record_of",
    "write_proofs",
]
