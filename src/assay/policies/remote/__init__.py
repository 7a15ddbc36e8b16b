"""Policies on servers, and a server for policies.

address       scheme://host:port?option=value
convention    names, images, state and gripper on the wire
codec         messages as msgpack or JSON
transport     connect with retries, exchange messages, close: websocket, HTTP, ZeroMQ
batching      requests from several workers, sent as one
client        the policy; openpi (and starVLA, RoboArena), vla_eval, gr00t, openvla_oft: one protocol each
serve         `assay serve`
"""
