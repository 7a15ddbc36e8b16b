"""`assay probe`: find the convention that a policy server was trained with."""

from assay.support.plugins import provide

provide("command", {"Rarely used/probe": "assay.extensions.probe.command:probe"})
