"""Tables and figures of published papers, generated from a user's runs: ``assay report RUN... --paper NAME``."""

from assay.report.papers.base import (
    PAPERS,
    Exhibit,
    Paper,
    PaperError,
    PaperRun,
    PaperSection,
    exhibit,
    exhibit_of_each,
    of_each,
)
from assay.report.papers.page import PaperReport, write_paper

__all__ = [
    "PAPERS",
    "Exhibit",
    "Paper",
    "PaperError",
    "PaperReport",
    "PaperRun",
    "PaperSection",
    "exhibit",
    "exhibit_of_each",
    "of_each",
    "write_paper",
]
