"""Certificates: what the demonstrator showed about a scene and a goal, kept across runs.

claim     what a certificate is about: a spec without whatever cannot matter for it
verdict   the demonstrator's rollout as a certificate
engine    a digest of everything that decides a rollout besides its spec
cache     all certificates of a user, in one file
certify   makes those that are missing
serve     lets certified episodes through, and counts the others
summary   what is certified, condition by condition
"""

from assay.runs.certificates.cache import Cache, cache_file
from assay.runs.certificates.certify import certify, missing
from assay.runs.certificates.claim import claim
from assay.runs.certificates.engine import engine_digest
from assay.runs.certificates.serve import Refusal, Service, counted, recall, remember
from assay.runs.certificates.summary import Summary, summarise
from assay.runs.certificates.verdict import Certificate, Verdict

__all__ = [
    "Cache",
    "Certificate",
    "Refusal",
    "Service",
    "Summary",
    "Verdict",
    "cache_file",
    "certify",
    "claim",
    "counted",
    "engine_digest",
    "missing",
    "recall",
    "remember",
    "summarise",
]
