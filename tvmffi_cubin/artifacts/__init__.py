"""Files with images: what is in one, read without loading it; an image put into an object.

Takes paths or bytes of modules, objects and images; gives an `Inspection`, an `Artifact` (manifest,
images, exports), or an object file. Never loads or runs what it reads.
"""
