"""Language-conditioned visuomotor policies for LIBERO's world, by behaviour cloning: `assay learn`.

    choices, settings    what a network takes in and gives: inputs, head, image size, chunk
    frames               demonstrations (LeRobotDataset) as arrays, images in memory maps
    instructions         instructions as vectors, one wording or many
    network              images, proprioception and words to features;  heads: features to chunks of actions
    training             the loop, resumable to the bit;  checkpoint: the file;  policy: the network that acts

Torch, the extra ``learn``, is needed to train and to act.
"""
