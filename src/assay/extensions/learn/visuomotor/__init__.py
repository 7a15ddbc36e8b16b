"""Language-conditioned visuomotor policies for LIBERO's world, trained by behaviour cloning with `assay learn`.

    inputs      settings of a network, encodings of instructions and states, demonstrations as arrays
    network     maps images, proprioception and instruction to action chunks
    training    the training loop, resumable bit for bit, and the checkpoint
    policy      the network in the simulator

Training and inference require torch (the extra ``learn``).
"""
