"""Files with images: reading one without loading it, and embedding an image into an object.

Takes paths or bytes of modules, objects and images; returns an `Inspection`, an `Artifact`
(manifest, images, exports) or an object file. Never loads or runs what it reads.
"""
