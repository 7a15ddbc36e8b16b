"""`assay probe`: find the conventions with which the policy behind a server was trained."""

from assay.support.plugins import provide

provide("command", {"Rarely used/probe": "assay.extensions.probe.command:probe"})
