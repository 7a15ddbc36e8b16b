"""Language-conditioned visuomotor policies for LIBERO's world, by behaviour cloning: `assay learn`.

    settings        inputs, head, image size, chunk
    frames          demonstrations (LeRobotDataset) as arrays, images in memory maps
    instructions    embeddings of instructions, one wording or many
    network         images, proprioception and words to chunks of actions
    training        the loop, resumable bit for bit, and the checkpoint;  policy: the network in the simulator

Torch, the extra ``learn``, is needed to train and to act.
"""
