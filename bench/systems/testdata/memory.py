"""An adapter of a system that keeps everything in memory, for tests: one process, and no store. The setting fault is what it does wrong."""

import itertools
import json
import sys
import time

MODULUS = 1_000_000_007


def send(kind, **fields):
    print(json.dumps({"pulley": kind, **fields}), flush=True)


def main():
    ends, workloads, settings, report, tokens = {}, {}, {}, "", itertools.count()
    for line in sys.stdin:
        m = json.loads(line)
        kind = m["pulley"]
        if kind == "hello":
            send("hello", version=1, name="memory", system="memory", system_version="1", shapes=["graph", "repeat"],
                 promises={"submit": "none", "resubmit": "none", "execution": "at-least-once", "results": "any"},
                 settings=[{"name": "pause_ms", "default": "60", "about": "for each instance", "try": ["0", "nonsense", "80"]},
                           {"name": "fault", "default": "", "about": "what it does wrong"},
                           {"name": "slots_most", "default": "100", "about": "that it can open with"}])
        elif kind == "setup":
            settings = m["settings"]
            if not settings["pause_ms"].isdigit():
                send("error", message="pause_ms is no number; write one")
                continue
            workloads = {w["name"]: w for w in m.get("workloads", [])}
            send("ready")
        elif kind == "open":
            report = m["report"]
            if m["slots"] > int(settings["slots_most"]):
                send("error", message="too many slots; open fewer")
                continue
            send("ready")
        elif kind == "submit":
            send("submitted", batch=m["batch"])
            for i in m["instances"]:
                run(i["id"], workloads[i["workload"]], settings, report, ends, tokens)
        elif kind == "look":
            send("states", batch=m["batch"], instances=[
                {"id": i, "status": "completed", "value": ends[i]} if i in ends else {"id": i, "status": "unknown"} for i in m["ids"]])
        elif kind == "stop":
            return


def run(instance, workload, settings, report, ends, tokens):
    time.sleep(int(settings["pause_ms"]) / 1000)
    fault, number, values = settings["fault"], len(ends), {}
    for round in range(1, workload.get("repeat", 1) + 1):
        last, values = values.get(workload["result"]), {}
        for task in workload["tasks"]:
            inputs = {n: values[n] for n in task.get("needs", [])}
            if not inputs and last:
                inputs = {"": last}
            total = (task.get("add", 0) + sum(int(v.split(":")[0]) for v in inputs.values())) % MODULUS
            values[task["name"]] = f"{total}:{next(tokens)}"
            if report == "tasks" and not (fault == "skip" and number == 2):
                about = {"instance": instance, "task": task["name"], "attempt": 1, "round": round}
                send("started", **about, inputs=inputs)
                send("finished", **about, value=values[task["name"]])
    value = values[workload["result"]]
    if fault == "sum" and number == 2:
        value = "5:0"
    ends[instance] = value
    if fault == "die" and number == 2:
        sys.exit("it dies")
    if fault == "silent" and number == 2 or fault == "mute":
        return
    if fault == "failed" and number == 2:
        send("ended", instance=instance, status="failed", message="it failed")
        return
    send("ended", instance=instance, status="completed", value=value)
    if fault == "twice" and number == 2:
        send("ended", instance=instance, status="completed", value=f"{int(value.split(':')[0]) + 1}:1")


main()
