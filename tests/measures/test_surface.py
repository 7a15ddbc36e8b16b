from __future__ import annotations

import pytest

from assay.measures.diagnosis import diagnose
from assay.measures.findings import Claim, Shows, Verdict
from assay.measures.flaws import Degree, Flaw
from assay.measures.measure import profile
from assay.measures.sentences import format_finding

FORMS = ("full_stop", "capitals", "please")


def written(made, lost: set[str]):
    for seed in range(10):
        yield made(True, seed=seed, condition="control")
        for form in FORMS:
            labels = {"axis": "words", "plausible": True, "change": "surface", "surface": form}
            yield made(form not in lost, seed=seed, condition=f"surface/{form}", labels=labels)


@pytest.fixture
def found(run, made):
    def diagnosed(*lost: str):
        findings = diagnose(profile(run(written(made, set(lost)))))
        assert not any(
            each.flaw in (Flaw.CHANGE, Flaw.LOSS, Flaw.WORDING) and each.evidence for each in findings
        )
        return next(each for each in findings if each.flaw is Flaw.SURFACE)

    return diagnosed


def test_sensitivity_to_a_full_stop_is_found(found) -> None:
    finding = found("full_stop")
    assert finding.verdict is Verdict.FOUND and finding.degree is Degree.MOSTLY
    assert [each.part for each in finding.evidence if each.shows is Shows.LOSS] == ["full_stop"]
    assert format_finding(finding).text.startswith(
        "Fails when the same words are written differently: a final full stop alone costs 100 points: "
        "0 of 10 succeed, 10 of 10 unperturbed"
    )
    both = format_finding(found("full_stop", "capitals")).text
    assert both.endswith("; further losses, in points: all capitals (\N{MINUS SIGN}100.0).")


def test_insensitive_policy_has_no_surface_flaw(found) -> None:
    finding = found()
    assert finding.verdict is Verdict.NOT_FOUND and finding.claim is Claim.NO_SIGN
    assert "the worst variant is a final full stop: 10 of 10 succeed" in format_finding(finding).text
