"""Holds our wire formats against the official clients, in both directions and without a network.

Reads `tests/vectors/wire/FORMAT/`, the files that `crates/agents/tests/adapters/wire.rs` holds our own code to:

- `NAME.sse` is served on loopback to the official client, which must read the same out of it as `NAME.json` says
  that we do;
- `NAME.request.json` is what we send: it must fit the client's own types of a request, to the last field, go to the
  path that the client would ask, and carry the header that the client puts the key in. For Gemini, whose client
  builds the body itself, both bodies must be equal.

So that a check that can't fail is noticed, every object of every request is also tried with a field that does not
exist, and must then be refused.

A new format is a class here, in `FORMATS`. The last line has the form of `cargo test`, whose results are counted.
"""

import copy
import difflib
import functools
import json
import os
import re
import sys
import threading
import types as python_types
import typing
from collections.abc import Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anthropic
import openai
import pydantic
import typing_extensions
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from google import genai
from google.genai import types as gemini
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

VECTORS = Path(__file__).parent.parent / "vectors" / "wire"
KEY = "key-for-the-test"
UNKNOWN = "adjutant_no_such_field"
REQUIRED = (typing.Required, typing_extensions.Required)
NOT_REQUIRED = (typing.NotRequired, typing_extensions.NotRequired)


class Misfit(Exception):
    """A value that a type does not take: where, and why."""

    def __init__(self, where, why):
        super().__init__(f"{where or 'the body'}: {why}")
        self.depth = where.count(".") + where.count("[")


def fit(value, kind, where=""):
    """Fails unless `value` fits the annotation `kind` in every field. pydantic's own check of a `TypedDict` lets
    unknown fields pass and looks into an `Iterable` only when somebody reads it."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Annotated, *REQUIRED, *NOT_REQUIRED):
        fit(value, args[0], where)
    elif kind in (typing.Any, object):
        pass
    elif origin in (typing.Union, python_types.UnionType):
        fit_one_of(value, args, where)
    elif origin in (typing.Literal, typing_extensions.Literal):
        if not any(value == word and type(value) is type(word) for word in args):
            raise Misfit(where, f"{value!r} is none of {args}")
    elif typing_extensions.is_typeddict(kind):
        fit_fields(value, kind, where)
    elif origin in (list, Iterable, Sequence, typing.List) or kind is list:
        if not isinstance(value, list):
            raise Misfit(where, f"{value!r} is no list")
        for index, item in enumerate(value):
            fit(item, args[0], f"{where}[{index}]")
    elif origin in (dict, Mapping) or kind is dict:
        if not isinstance(value, dict):
            raise Misfit(where, f"{value!r} is no object")
        for name, item in value.items():
            fit(item, args[1] if args else object, f"{where}.{name}")
    elif kind is float:
        if type(value) not in (int, float):
            raise Misfit(where, f"{value!r} is no number")
    elif kind in (str, int, bool, type(None)):
        if type(value) is not kind:
            raise Misfit(where, f"{value!r} is no {kind.__name__}")
    else:
        # Types of replies, which the clients also take in a request; and files. We send neither.
        raise Misfit(where, f"not taken from us as {kind}")


def fit_one_of(value, kinds, where):
    misfits = []
    for kind in kinds:
        try:
            return fit(value, kind, where)
        except Misfit as misfit:
            misfits.append(misfit)
    raise max(misfits, key=lambda misfit: misfit.depth)


fields_of = functools.cache(lambda kind: typing_extensions.get_type_hints(kind, include_extras=True))


def fit_fields(value, kind, where):
    if not isinstance(value, dict):
        raise Misfit(where, f"{value!r} is no {kind.__name__}")
    fields = fields_of(kind)
    for name, item in value.items():
        if name not in fields:
            raise Misfit(f"{where}.{name}", f"{kind.__name__} has no such field")
        fit(item, fields[name], f"{where}.{name}")
    for name, field in fields.items():
        mark = typing.get_origin(field)
        is_required = mark in REQUIRED or (mark not in NOT_REQUIRED and name in kind.__required_keys__)
        if is_required and name not in value:
            raise Misfit(f"{where}.{name}", f"{kind.__name__} needs it")


class Anthropic:
    """The Messages API."""

    # What is ours to fill: whatever is in there is no field of the API.
    free = ("input", "input_schema")
    ends = {"end_turn": "end_turn", "tool_use": "tool_use", "max_tokens": "max_tokens", "refusal": "refusal"}

    def fits(self, request):
        fit(request["body"], MessageCreateParamsStreaming)

    def client(self, url):
        return anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)

    def ask(self, url, body):
        body = {name: value for name, value in body.items() if name != "stream"}
        with self.client(url).messages.stream(**body) as stream:
            message = stream.get_final_message()
        counts = message.usage
        of = lambda kind: [block for block in message.content if block.type == kind]
        return {
            "text": "".join(block.text for block in of("text")),
            "thinking": "".join(block.thinking for block in of("thinking")),
            "calls": [{"id": block.id, "name": block.name, "args": block.input} for block in of("tool_use")],
            "stop": self.ends[message.stop_reason],
            "usage": {
                "input_tokens": counts.input_tokens,
                "cache_read_tokens": counts.cache_read_input_tokens,
                "cache_write_tokens": counts.cache_creation_input_tokens,
                "output_tokens": counts.output_tokens,
            },
        }

    # The header of version 2023-06-01 of the API, which we speak. The client speaks the next one and sends a
    # bearer token; the types of what we send and read are the same in both.
    key_header = "x-api-key"
    failure = anthropic.APIStatusError
    any_body = {"model": "claude-test", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}]}


class Gemini:
    """The Gemini API."""

    free = ("args", "response", "parametersJsonSchema")
    ends = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens", "SAFETY": "refusal"}

    def fits(self, request):
        body = dict(request["body"])
        # Only the names that travel count, not those that the client has for them in Python.
        read = lambda kind, value: kind.model_validate(value, by_alias=True, by_name=False)
        config = gemini.GenerateContentConfig()
        for content in body.pop("contents"):
            read(gemini.Content, content)
        if "systemInstruction" in body:
            read(gemini.Content, body.pop("systemInstruction"))
        for tool in body.pop("tools", []):
            read(gemini.Tool, tool)
        if "toolConfig" in body:
            read(gemini.ToolConfig, body.pop("toolConfig"))
        read(gemini.GenerationConfig, body.pop("generationConfig"))
        if body:
            raise Misfit("", f"unknown fields {sorted(body)}")

    def client(self, url):
        # The version that we speak, of those that the API has.
        return genai.Client(api_key=KEY, http_options=gemini.HttpOptions(base_url=url, api_version="v1beta"))

    def ask(self, url, body):
        config = gemini.GenerateContentConfig(
            system_instruction=body.get("systemInstruction"),
            tools=[gemini.Tool.model_validate(tool) for tool in body.get("tools", [])] or None,
            tool_config=body.get("toolConfig"),
            automatic_function_calling=gemini.AutomaticFunctionCallingConfig(disable=True),
            max_output_tokens=body["generationConfig"]["maxOutputTokens"],
            thinking_config=body["generationConfig"].get("thinkingConfig"),
        )
        contents = [gemini.Content.model_validate(content) for content in body["contents"]]
        parts, reason, counts = [], None, None
        client = self.client(url)
        for chunk in client.models.generate_content_stream(model="gemini-test", contents=contents, config=config):
            counts = chunk.usage_metadata or counts
            for candidate in chunk.candidates or []:
                reason = candidate.finish_reason or reason
                parts.extend((candidate.content and candidate.content.parts) or [])
        calls = []
        for call in (part.function_call for part in parts if part.function_call):
            made = f"call_7_{len(calls) + 1}"
            calls.append({"id": call.id or made, "name": call.name, "args": call.args or {}})
        said = lambda is_thought: "".join(part.text for part in parts if part.text and bool(part.thought) == is_thought)
        end = self.ends[reason.value]
        cached, thoughts = counts.cached_content_token_count, counts.thoughts_token_count
        output = counts.candidates_token_count
        return {
            "text": said(False),
            "thinking": said(True),
            "calls": calls,
            "stop": "tool_use" if calls and end == "end_turn" else end,
            "usage": {
                "input_tokens": counts.prompt_token_count - (cached or 0),
                "cache_read_tokens": cached,
                "output_tokens": None if (output, thoughts) == (None, None) else (output or 0) + (thoughts or 0),
                "reasoning_tokens": thoughts,
            },
        }

    failure = genai.errors.APIError
    any_body = {"contents": [{"role": "user", "parts": [{"text": "go"}]}], "generationConfig": {"maxOutputTokens": 9}}
    has_same_body = True


class OpenaiResponses:
    """The Responses API."""

    free = ("parameters",)
    ends = {"completed": "end_turn", "max_output_tokens": "max_tokens", "content_filter": "refusal"}

    def fits(self, request):
        fit(request["body"], ResponseCreateParamsStreaming)

    def ask(self, url, body):
        text, thinking, calls, declined, response = "", "", [], "", None
        with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
            for event in client.responses.create(**body):
                if event.type == "error":
                    raise openai.OpenAIError(event.message)
                elif event.type == "response.output_text.delta":
                    text += event.delta
                elif event.type == "response.refusal.delta":
                    declined += event.delta
                elif event.type == "response.reasoning_summary_text.delta":
                    thinking += event.delta
                elif event.type == "response.output_item.done" and event.item.type == "function_call":
                    args = json.loads(event.item.arguments)
                    calls.append({"id": event.item.call_id, "name": event.item.name, "args": args})
                elif event.type in ("response.completed", "response.incomplete"):
                    response = event.response
        end = self.ends[response.incomplete_details.reason if response.incomplete_details else response.status]
        counts, taken_in = response.usage, response.usage.input_tokens_details
        return {
            "text": text or declined,
            "thinking": thinking,
            "calls": calls,
            "stop": "refusal" if declined else "tool_use" if calls and end == "end_turn" else end,
            "usage": {
                "input_tokens": counts.input_tokens - taken_in.cached_tokens - taken_in.cache_write_tokens,
                "cache_read_tokens": taken_in.cached_tokens,
                "cache_write_tokens": taken_in.cache_write_tokens,
                "output_tokens": counts.output_tokens,
                "reasoning_tokens": counts.output_tokens_details.reasoning_tokens,
            },
        }

    failure = openai.OpenAIError
    any_body = {"model": "gpt-test", "input": "go", "stream": True}


class OpenaiChat:
    """Chat Completions, as OpenAI speaks it."""

    free = ("parameters",)
    ends = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}

    def fits(self, request):
        fit(request["body"], CompletionCreateParamsStreaming)

    def ask(self, url, body):
        text, declined, calls, reason, counts = "", "", {}, None, None
        with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
            for chunk in client.chat.completions.create(**body):
                counts = chunk.usage or counts
                for choice in chunk.choices:
                    reason = choice.finish_reason or reason
                    text += choice.delta.content or ""
                    declined += choice.delta.refusal or ""
                    for piece in choice.delta.tool_calls or []:
                        call = calls.setdefault(piece.index, {"id": "", "name": "", "args": ""})
                        call["id"] += piece.id or ""
                        call["name"] += piece.function.name or ""
                        call["args"] += piece.function.arguments or ""
        prompt, completion = (getattr(counts, f"{kind}_tokens_details", None) for kind in ("prompt", "completion"))
        cached = prompt and prompt.cached_tokens
        return {
            "text": text or declined,
            "thinking": "",
            "calls": [{**call, "args": json.loads(call["args"] or "{}")} for call in calls.values()],
            "stop": "refusal" if declined else self.ends[reason],
            "usage": counts and {
                "input_tokens": counts.prompt_tokens - (cached or 0),
                "cache_read_tokens": cached,
                "output_tokens": counts.completion_tokens,
                "reasoning_tokens": completion and completion.reasoning_tokens,
            } or {},
        }

    failure = openai.OpenAIError
    any_body = {"model": "gpt-test", "messages": [{"role": "user", "content": "go"}], "stream": True}


FORMATS = {
    "anthropic": Anthropic(),
    "gemini": Gemini(),
    "openai-chat": OpenaiChat(),
    "openai-responses": OpenaiResponses(),
}


class Server:
    """Answers every request with one stream, and keeps what was asked."""

    def __init__(self, stream):
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers["content-length"])
                server.path, server.headers = self.path, self.headers
                server.body = json.loads(self.rfile.read(length))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                self.wfile.write(stream)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


def equal(what, ours, theirs):
    if ours != theirs:
        show = lambda value: json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True).splitlines()
        differing = list(difflib.unified_diff(show(theirs), show(ours), "theirs", "ours", lineterm="", n=2))
        raise AssertionError("\n".join([what, *differing[:40]]))


def camel(value, free):
    """The names of an object's fields as they are documented. The client sends some as it has them in Python, which
    the API takes as well."""
    if isinstance(value, list):
        return [camel(item, free) for item in value]
    if not isinstance(value, dict):
        return value
    named = {re.sub("_([a-z])", lambda found: found[1].upper(), name): item for name, item in value.items()}
    return {name: item if name in free else camel(item, free) for name, item in named.items()}


def check_stream(format, path):
    """The client reads of a stream what we do."""
    expected = json.loads(path.with_suffix(".json").read_text())
    with Server(path.read_bytes()) as server:
        try:
            read = format.ask(server.url, format.any_body)
        except format.failure as failure:
            assert "failed" in expected, f"the client took it for a failure: {failure}"
            return
    read["usage"] = {name: count for name, count in read["usage"].items() if count is not None}
    equal("the client reads something else", expected, read)


def check_request(format, path, stream):
    """What we send is what the client's types allow, and goes where the client would send it."""
    request = json.loads(path.read_text())
    format.fits(request)
    with Server(stream) as server:
        format.ask(server.url, request["body"])
    equal("the path", request["path"].split("?")[0], server.path.split("?")[0])
    queries = [set(filter(None, path.partition("?")[2].split("&"))) for path in (request["path"], server.path)]
    equal("the query", *map(sorted, queries))
    own = [name.lower() for name, value in server.headers.items() if value in (KEY, f"Bearer {KEY}")]
    assert getattr(format, "key_header", own[0]) in request["headers"], f"the client has its key in {own}"
    if getattr(format, "has_same_body", False):
        equal("the body", request["body"], camel(server.body, format.free))


def objects(value, free):
    """The objects in a body that have fields of the API's own."""
    if isinstance(value, dict):
        yield value
        for name, item in value.items():
            if name not in free:
                yield from objects(item, free)
    elif isinstance(value, list):
        for item in value:
            yield from objects(item, free)


def check_unknown_fields(format, path):
    """A field that does not exist is refused wherever it stands."""
    request = json.loads(path.read_text())
    for index in range(len(list(objects(request["body"], format.free)))):
        changed = copy.deepcopy(request)
        place = list(objects(changed["body"], format.free))[index]
        place[UNKNOWN] = 1
        try:
            format.fits(changed)
        except (Misfit, pydantic.ValidationError):
            continue
        raise AssertionError(f"an unknown field was let pass in {json.dumps(place, ensure_ascii=False)}")


def main():
    # The servers are on this machine, whatever the environment says about the way out.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    passed, failed = 0, 0

    def check(name, test, *args):
        nonlocal passed, failed
        try:
            test(*args)
        except Exception as error:
            failed += 1
            print(f"FAILED {name}: {type(error).__name__}: {error}")
        else:
            passed += 1

    for folder in sorted(VECTORS.iterdir()):
        if folder.name not in FORMATS:
            failed += 1
            print(f"FAILED {folder.name}: no class in FORMATS says how its official client is asked")
            continue
        format = FORMATS[folder.name]
        for path in sorted(folder.glob("*.sse")):
            check(f"{folder.name}/{path.name}", check_stream, format, path)
        stream = (folder / "text.sse").read_bytes()
        for path in sorted(folder.glob("*.request.json")):
            check(f"{folder.name}/{path.name}", check_request, format, path, stream)
            check(f"{folder.name}/{path.name} with unknown fields", check_unknown_fields, format, path)
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed; the official clients")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
