"""Checks an evidence pack of Adjutant: the folder that is given, else the one that this file is in.

Python 3.8, nothing else. Exit code 0 if nothing is wrong, 1 if something is, 2 for wrong usage. Writes nothing.
"""

import hashlib
import json
import os
import re
import sys

try:
    from blake3 import blake3
except ImportError:
    blake3 = None

FIXED = {"VERIFY.md", "journal.ndjson", "hashes.txt", "verify.py"}
ALWAYS = FIXED - {"hashes.txt"}
MANIFEST_BYTES_MAX = 32 * 1024 * 1024
ARTIFACT = re.compile(r"artifacts/[0-9a-f]{64}")
HASH = re.compile(r"[0-9a-f]{64}")


def files_below(folder):
    """Every file by its name in the pack; what is no plain file is named too, and a folder that holds nothing."""
    found = set()
    for here, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(here, name))]
        empty = [name for name in folders if name not in links and not os.listdir(os.path.join(here, name))]
        for name in names + links + empty:
            found.add(os.path.relpath(os.path.join(here, name), folder).replace(os.sep, "/"))
    return found


def check_file(folder, name, facts):
    path = os.path.join(folder, name)
    if os.path.islink(path) or not os.path.isfile(path):
        return f"{name}: it is not there, or not a plain file"
    if os.path.getsize(path) != facts["bytes"]:
        return f"{name}: it has another length"
    sha256, other = hashlib.sha256(), blake3() if blake3 else None
    with open(path, "rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            sha256.update(part)
            if other:
                other.update(part)
    if sha256.hexdigest() != facts["sha256"]:
        return f"{name}: it was changed (SHA-256)"
    if other and other.hexdigest() != facts["blake3"]:
        return f"{name}: it was changed (BLAKE3)"
    return None


def check_journal(folder, manifest):
    """The lines: how many, their numbers, their run, what they name, and their links as far as they can be checked."""
    facts, packed = manifest["journal"], set(manifest["files"])
    left_out = {one.get("hash") for one in manifest["left_out"]}
    if facts["faults"]:
        yield f"journal.ndjson: {facts['faults']} faults were found in it when it was packed"
    hashes = None
    if facts["redacted"]:
        with open(os.path.join(folder, "hashes.txt"), encoding="ascii") as file:
            hashes = file.read().splitlines()
        if not all(HASH.fullmatch(line) for line in hashes):
            yield "hashes.txt: a line is no hash"
            return
    number, before, expected = 0, None, 0
    with open(os.path.join(folder, "journal.ndjson"), "rb") as file:
        for number, line in enumerate(file, 1):
            text = line.rstrip(b"\n")
            try:
                event = json.loads(text)
            except ValueError:
                event = None
            event = event if isinstance(event, dict) else {}
            if event.get("seq") != expected:
                yield f"line {number}: its number is {event.get('seq')} where {expected} should follow"
            expected = event["seq"] + 1 if isinstance(event.get("seq"), int) else expected + 1
            if before is not None and event.get("prev") != before:
                yield f"line {number}: it does not name the line before"
            artifact = event.get("artifact") if event.get("type") == "tool_result" else None
            if isinstance(artifact, str) and HASH.fullmatch(artifact):
                if f"artifacts/{artifact}" not in packed and artifact not in left_out:
                    yield f"line {number}: the content {artifact} is not in the pack"
            if event.get("type") == "run_start" and event.get("run_id") != manifest["run"]:
                yield f"line {number}: it is of another run than the manifest says"
            if hashes is not None:
                before = hashes[number - 1][:16] if number <= len(hashes) else None
                is_marked = b"[redacted: " in text or b"redacted_bytes" in text or b"unreadable_line" in text
                if blake3 and not is_marked and blake3(text).hexdigest() != (hashes + [None] * number)[number - 1]:
                    yield f"line {number}: it is neither what was written nor redacted"
            elif blake3:
                before = blake3(text).hexdigest()[:16]
    if number and expected - 1 != facts["last_seq"]:
        yield f"journal.ndjson: its last number is {expected - 1} where the manifest says {facts['last_seq']}"
    if number != facts["lines"]:
        yield f"journal.ndjson: it has {number} lines where the manifest says {facts['lines']}"
    if hashes is not None and len(hashes) != facts["lines"]:
        yield f"hashes.txt: it has {len(hashes)} lines where the manifest says {facts['lines']}"
    if before is not None and before != facts["last_hash"]:
        yield "journal.ndjson: its last line is not the one that the manifest names"


def each_once(pairs):
    """An object of which no name is given twice: readers would disagree on what it says."""
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name is given twice")
    return dict(pairs)


def check(folder):
    path = os.path.join(folder, "MANIFEST.json")
    if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > MANIFEST_BYTES_MAX:
        return ["MANIFEST.json: it is not there, no plain file, or too large to be one"]
    with open(path, "rb") as file:
        text = file.read()
    print("SHA-256 of MANIFEST.json:", hashlib.sha256(text).hexdigest())
    manifest = json.loads(text, object_pairs_hook=each_once)
    version = manifest.get("version")
    if manifest.get("format") != "adjutant-evidence-pack" or type(version) is not int or version != 1:
        return ["MANIFEST.json: it is not the manifest of a pack that this program knows"]
    named = manifest["files"]
    if not all(isinstance(one["what"], str) and isinstance(one["why"], str) for one in manifest["left_out"]):
        return ["MANIFEST.json: something that it says was left out has no name or no reason"]
    faults = [f"{name}: no pack holds a file of that name" for name in named if not (name in FIXED or ARTIFACT.fullmatch(name))]
    faults += [f"MANIFEST.json: it does not name {name}, which every pack holds" for name in sorted(ALWAYS - set(named))]
    if ("hashes.txt" in named) != manifest["journal"]["redacted"]:
        faults.append("MANIFEST.json: hashes.txt belongs to a redacted journal, and to no other")
    faults += [f"{name}: it was added" for name in sorted(files_below(folder) - set(named) - {"MANIFEST.json"})]
    if not faults:
        faults = [fault for fault in (check_file(folder, name, named[name]) for name in sorted(named)) if fault]
    if not faults:
        faults = list(check_journal(folder, manifest))
    left_out = len(manifest["left_out"])
    print(f"run {manifest['run']}: {len(named)} files, {manifest['journal']['lines']} lines, {left_out} left out")
    return faults


def main():
    if len(sys.argv) > 2 or (len(sys.argv) == 2 and not os.path.isdir(sys.argv[1])):
        print("usage: verify.py [FOLDER]: the folder of an unpacked evidence pack", file=sys.stderr)
        return 2
    folder = sys.argv[1] if len(sys.argv) == 2 else os.path.dirname(os.path.abspath(__file__))
    if blake3 is None:
        print("note: the module `blake3` is not installed, so the links between lines are not checked")
    try:
        faults = check(folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        faults = [f"the pack can't be read: {error!r}"]
    for fault in faults:
        print(ascii(fault)[1:-1])
    print("not whole" if faults else "whole, as far as was checked")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
