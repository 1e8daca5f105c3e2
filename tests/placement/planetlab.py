#!/usr/bin/python3
"""Repacks the public files of PlanetLab (traces.md).

    planetlab.py CHECKOUT DIR       DIR/planetlab-2011-cpu-5min.csv.xz of the files CHECKOUT/DAY/HOST_SLICE
"""

import lzma
import pathlib
import sys

import traces

DAYS = ("20110303", "20110306", "20110309", "20110322", "20110325", "20110403")
# Most names of slices have two words; these do not. The last four include a part of the host's name.
SLICES = (
    *("root", "rnp_dcc_ufjf", "umn_net_tools", "umn_net_tools2", "arizona_stork_install"),
    *("usf_mobius_dm", "rwtha_anonymity_ssh", "tauple_planet_39", "utoronto_li_rs"),
    *("technion_dist_stor", "nthu_p2p_live", "cuhk_cse_01", "uab_1_PLC"),
    *("sophia_inria_fr_ cwru_DNS", "br_ufabc_MarceloSlice", "cn_ ucr_slice2", "cn_ cyprus_CFW"),
)


def split(name):
    """Host and slice. Some slices begin with a blank."""
    known = [text for text in SLICES if name.endswith((f"_{text}", f"_ {text}"))]
    text = max(known, key=len, default="_".join(name.split("_")[-2:]))
    return name.removesuffix(text).rstrip("_ "), text.strip()


def fields(path):
    """Day, slice, host and percentages: series are sorted in this order."""
    host, slice_name = split(path.name)
    return path.parent.name, slice_name, host, *path.read_text(encoding="ascii").split()


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    target = pathlib.Path(sys.argv[2], traces.SOURCES["planetlab"][0])
    try:
        files = [path for day in DAYS for path in pathlib.Path(sys.argv[1], day).iterdir()]
        series = sorted(map(fields, files))
        with lzma.open(target, "wt", encoding="utf-8") as text:
            for day, slice_name, host, *percentages in series:
                text.write(",".join((day, host, slice_name, *percentages)) + "\n")
    except (OSError, UnicodeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
