"""How kernels are launched: `Launch` and what it holds, expressions, and their one JSON form.

Takes what users write, gives checked values. Never looks at a kernel or an image: what a launch
means for one is in the room `functions`; limits of the device are the launcher's.
"""
