"""Tables and figures of LIBERO-Para, LIBERO-PRO and LIBERO-X, made from one's own runs."""
