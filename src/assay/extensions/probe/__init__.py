"""`assay probe`: find the convention with which a policy server was trained."""

from assay.support.plugins import provide

provide("command", {"Rarely used/probe": "assay.extensions.probe.command:probe"})
