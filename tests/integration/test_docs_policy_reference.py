"""The parser, the CRD and the reference have the same fields."""

import re
import sys

from pages import TOP

sys.path.insert(0, str(TOP / "tests" / "tools"))
import policy_reference  # noqa: E402  pylint: disable=wrong-import-position

FIELDS = re.compile(r"static const char \*const (?:\w*_)?fields\[\] =\s*\{([^}]*)\}")
CONSTANT = re.compile(r'\b(\w+)\[\] =\s*"(\w+)"')


def parsed_objects():
    """The sets of names that the parser takes in one object, aliases among them."""
    found = []
    for path in sorted((TOP / "policy").glob("*.c")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.S)
        # From one list of fields to the next, with the constants of the function that it is in.
        for function in text.split("\n}\n"):
            constants = dict(CONSTANT.findall(function))
            for inner in FIELDS.findall(function):
                names = {
                    word.strip('"') if word[0] == '"' else constants[word]
                    for word in re.findall(r'"\w+"|\w+', inner)
                    if word != "NULL"
                }
                if ".alias = alias" in function:
                    names.add(constants["alias"])
                found.append(names)
    return found


def test_parser_and_crd_have_the_same_fields():
    root = policy_reference.root()
    there = {tuple(sorted(schema["properties"])) for _, schema in policy_reference.objects(root)}
    parsed = {tuple(sorted(names)) for names in parsed_objects()}
    assert len(parsed) > 7
    assert parsed == there


def test_taint_levels_are_one_number():
    """The header's, the schema's, and the keys that the guard of nodes lets the controller write."""
    header = (TOP / "policy/policy.h").read_text("utf-8")
    most = int(re.search(r"POLICY_MAX_LEVELS = (\d+)", header)[1])
    crd = (TOP / "deploy/base/crd.yaml").read_text("utf-8")
    levels = crd[crd.index("levels:\n", crd.index("              taints:\n")) :]
    assert int(re.search(r"maxItems: (\d+)", levels)[1]) == most
    guard = (TOP / "deploy/base/node-guard.yaml").read_text("utf-8")
    assert set(re.findall(r"plimsoll\[\.\]io/(\S+?)\$", guard)) == {f"[1-{most}]"}
