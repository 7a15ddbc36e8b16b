"""Multimodal prompts and their perturbations."""
