"""Write a file as a C array: embed.py INPUT OUTPUT NAME defines NAME[] and NAME_bytes."""

import pathlib
import sys


def main(source, target, name):
    data = pathlib.Path(source).read_bytes()
    lines = [f'#include "policy/{name}.h"', "", f"const unsigned char {name}[] = {{"]
    for start in range(0, len(data), 16):
        lines.append("        " + " ".join(f"{byte}," for byte in data[start : start + 16]))
    lines += ["};", f"const size_t {name}_bytes = sizeof({name});", ""]
    pathlib.Path(target).write_text("\n".join(lines), encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
