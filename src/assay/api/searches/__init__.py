"""The smallest change that breaks a policy: thresholds with confidence sets, and failures of small changes together."""
