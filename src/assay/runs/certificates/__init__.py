"""Certificates: what the demonstrator showed about a scene and a goal, cached across runs.

claim     the subject of a certificate, a spec reduced to what affects solvability; and its verdict
cache     all certificates of a user, in one file
certify   make missing certificates, admit certified episodes, summarise
"""

from assay.runs.certificates.cache import CertificateCache, cache_file, engine_digest
from assay.runs.certificates.certify import (
    CertificateSummary,
    CertifiedPlan,
    Refusal,
    certify,
    claims,
    count_reasons,
    missing,
    recall,
    remember,
    summarise,
)
from assay.runs.certificates.claim import Certificate, ClaimVerdict, claim

__all__ = [
    "Certificate",
    "CertificateCache",
    "CertificateSummary",
    "CertifiedPlan",
    "ClaimVerdict",
    "Refusal",
    "cache_file",
    "certify",
    "claim",
    "claims",
    "count_reasons",
    "engine_digest",
    "missing",
    "recall",
    "remember",
    "summarise",
]
