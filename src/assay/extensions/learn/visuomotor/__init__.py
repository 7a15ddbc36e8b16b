"""Language-conditioned visuomotor policies for LIBERO's world, trained by behaviour cloning with `assay learn`.

    settings        inputs, action head, image size, chunk length
    frames          demonstrations (LeRobotDataset) as arrays, images in memory maps
    instructions    embeddings of instructions, in one or many wordings
    network         maps images, proprioception and instruction to action chunks
    training        the training loop, resumable bit for bit, and the checkpoint
    policy          the network in the simulator

Training and inference require torch (the extra ``learn``).
"""
