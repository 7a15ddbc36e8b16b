from __future__ import annotations

import re

import pytest

from assay.errors import PolicyError
from assay.policies.registry import check_address, load_policy
from assay.policies.remote.address import Address
from assay.policies.remote.openpi import OpenPI


def test_an_address_has_hosts_ports_a_path_and_options():
    address = Address.parse("openpi://gpu-1:9000?replan=10&timeout=2.5&connect=1&size=256&wait=0", "openpi")
    assert (address.text, address.places) == ("openpi://gpu-1:9000", ("gpu-1:9000",))
    assert (address.options.timeout, address.options.connect) == (2.5, 1.0)
    assert dict(address.adjusted) == {"replan": 10, "size": 256, "wait": 0}
    address = Address.parse("openpi://a:1,b,[::1]:3/v1/robot?tls=1", "openpi")
    assert address.text == "openpi://a:1,b:8000,[::1]:3/v1/robot"
    assert address.places == ("a:1/v1/robot", "b:8000/v1/robot", "[::1]:3/v1/robot") and address.options.tls


def test_a_key_is_read_from_the_environment_and_never_printed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ROBOT_KEY", "s3cret")
    for option, header in (("key=ROBOT_KEY", "Api-Key s3cret"), ("bearer=ROBOT_KEY", "Bearer s3cret")):
        address = Address.parse(f"openpi://h:1?{option}", "openpi")
        assert address.headers() == {"Authorization": header}
        assert "s3cret" not in repr(address)


def test_the_libero_x_preset_yields_to_explicit_options():
    like = Address.parse("openpi://h:1?client=libero-x", "openpi").adjusted
    assert like == Address.parse("openpi://h:1?orientation=upright&replan=25&wait=0", "openpi").adjusted
    changed = OpenPI("openpi://h:1?client=libero-x&wait=10").convention
    assert (changed.orientation, changed.replan, changed.wait) == ("upright", 25, 10)
    assert changed.size == OpenPI.default.size


def test_an_invalid_address_names_valid_ones():
    for text, words in (
        ("openpy://h:1", "did you mean 'openpi'?"),
        ("openpi://", "should be openpi://host:port"),
        ("gr00t://h:1/path", "should be gr00t://host:port, without a path"),
        ("openpi://h:1?tls=perhaps", "tls=perhaps: expected true or false"),
        ("openpi://h:1?key=NO_SUCH_KEY", "key: expected the name of an environment variable"),
        ("openpi://a, b:1", "openpi://host:port"),
        ("openpi://h:1?unnorm_key=x", "has no option 'unnorm_key'"),
        ("starvla://h:1?batch=2&relay=/tmp/socket", "has no option 'relay'"),
        ("openpi://me@h:1", "should be openpi://host:port"),
        ("openpi://h:port", "expected openpi://host:port"),
        ("openpi://[::1", "expected openpi://host:port"),
        ("openpi://h:1?replans=5", "did you mean 'replan'?"),
        ("openpi://h:1?client=libero_x", "there is no client 'libero_x': did you mean 'libero-x'?"),
        ("openpi://h:1?replan=5&replan=6", "sets 'replan' twice"),
        ("openpi://h:1?replan=0", "replan=0: "),
        ("openpi://h:1?timeout=nan", "timeout=nan: "),
        ("openpi://h:1?orientation=flipped", "orientation=flipped: "),
    ):
        with pytest.raises(PolicyError, match=re.escape(words)):
            load_policy(text)


def test_no_error_repeats_a_key_or_a_password():
    for text in (
        "openpi://h:1?key=sk-S3CRET",
        "openpi://h:1?replans=5&key=sk-S3CRET",
        "openpi://h:1?key=sk-S3CRET&key=A",
        "openpi://me:S3CRET@h:1",
        "openpi://h:port,me:S3CRET@h:x",
        "openpy://me:S3CRET@h:1?key=sk-S3CRET",
    ):
        for load in (load_policy, check_address):
            with pytest.raises(PolicyError) as caught:
                load(text)
            assert "S3CRET" not in str(caught.value)
