"""Source files: kernels in a .cu file, launched by a function of your own in a .cc file."""

from pathlib import Path

from gpu import arch, no_launch

import tvmffi_cubin as tc

# [docs:build]
folder = Path(__file__).parent / "source_files"
mod = tc.load(
    "squares",
    sources=[folder / "squares.cu", folder / "fourth_powers.cc"],
    functions={
        "squares": tc.Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"}),
    },
    arch=arch(),  # [docs:skip]
)
# [docs:end]


def main() -> None:
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    x = torch.rand(1000, device="cuda")
    y = torch.empty_like(x)

    mod.squares(x, y)  # as `functions` declares it
    torch.testing.assert_close(y, x**2)

    mod.fourth_powers(x, y)  # exported by the .cc file
    torch.testing.assert_close(y, x**4)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
