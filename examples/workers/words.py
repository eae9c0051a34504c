#!/usr/bin/env python3
"""A worker for pulley, in one file: two actions, several attempts at once, heartbeats, and attempts that can be cancelled."""
import json, os, sys, threading

# What anybody prints goes to the log: only send() knows where messages go.
messages, _ = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n"), os.dup2(2, 1)
writing = threading.Lock()
running = {}  # the attempts at work: id -> an event that is set when the attempt is cancelled


def shout(cancelled, text):
    return text.upper()


def nap(cancelled, seconds):
    if cancelled.wait(seconds):
        raise InterruptedError("the nap was cancelled")
    return seconds


ACTIONS = {"words.shout": (shout, ["text"]), "words.nap": (nap, ["seconds"])}


def send(kind, **fields):
    line = json.dumps({"pulley": kind, **fields}, ensure_ascii=False, allow_nan=False)
    with writing:
        messages.write(line + "\n")
        messages.flush()


def run(id, action, args, cancelled):
    try:
        if action not in ACTIONS:
            answer = {"kind": "error", "type": "UnknownAction", "message": f"this worker has no action {action}"}
        elif sorted(args) != sorted(ACTIONS[action][1]):
            answer = {"kind": "error", "type": "ArgumentError", "message": f"{action} takes {', '.join(ACTIONS[action][1])}"}
        else:
            answer = {"kind": "result", "value": ACTIONS[action][0](cancelled, **args)}
    except Exception as e:
        answer = {"kind": "error", "type": type(e).__name__, "message": str(e)}
    del running[id]
    send(id=id, **answer)


def beat(over):
    while not over.wait(1):
        send("heartbeat", ids=list(running))


def main():
    over = threading.Event()
    actions = [{"name": name, "args": args} for name, (_, args) in ACTIONS.items()]
    send("hello", version=1, name="words", language="python", slots=8, heartbeat_ms=1000, actions=actions)
    threading.Thread(target=beat, args=[over], daemon=True).start()
    threads = []
    for line in open(0, encoding="utf-8", newline="\n"):
        message = json.loads(line)
        kind = message.get("pulley")
        if kind == "run":
            running[message["id"]] = cancelled = threading.Event()
            threads = [t for t in threads if t.is_alive()]
            threads.append(threading.Thread(target=run, args=[message["id"], message["action"], message["args"], cancelled]))
            threads[-1].start()
        elif kind == "cancel" and message["id"] in running:
            running[message["id"]].set()
        elif kind == "bye":
            break
    for thread in threads:  # finish what runs, then end
        thread.join()
    over.set()


main()
