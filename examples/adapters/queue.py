#!/usr/bin/env python3
"""An adapter for pulley, in one file: a client of Postgres, a queue on a table with FOR UPDATE SKIP LOCKED, and the adapter.

Give a copy another name: a module queue.py hides the standard library's own.
"""
import base64, collections, hashlib, hmac, itertools, json, os, socket, struct, sys, threading, time
from urllib.parse import unquote, urlsplit

ANSWER_WITHIN = 10  # seconds that the server may take for an answer
LEASE_MS = 2000
POLL = 0.1  # seconds between an idle slot's looks for jobs that other processes made ready


class SQLError(Exception):
    """The server refused a statement, and nothing of it was done. args: the message, and the SQLSTATE."""


class Postgres:
    """A connection that opens when it is needed, and again after it broke. What breaks it is an OSError."""

    def __init__(self, dsn):
        self.url, self.socket = urlsplit(dsn), None
        self.user, self.password = (unquote(text or "").encode() for text in (self.url.username, self.url.password))

    def query(self, sql, *params):
        """Runs one statement, a transaction of its own, and returns its rows: lists of texts, and of None for null."""
        texts = [None if p is None else str(p).encode() for p in params]
        values = [b"\xff\xff\xff\xff" if t is None else struct.pack("!i", len(t)) + t for t in texts]
        bind = b"\0\0\0\0" + struct.pack("!h", len(values)) + b"".join(values) + b"\0\0"
        try:
            if not self.socket:
                self.connect()
            self.send((b"P", b"\0" + sql.encode() + b"\0\0\0"), (b"B", bind), (b"E", b"\0\0\0\0\0"), (b"S", b""))
            return self.receive()
        except OSError:
            self.close()
            raise

    def connect(self):
        self.socket = socket.create_connection((self.url.hostname, self.url.port or 5432), ANSWER_WITHIN)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")
        options = [b"user", self.user, b"database", unquote(self.url.path[1:]).encode(), b"client_encoding", b"UTF8", b"", b""]
        self.send((b"", struct.pack("!i", 3 << 16) + b"\0".join(options)))
        self.receive()

    def close(self):
        if self.socket:
            self.stream.close()
            self.socket = self.socket.close()

    def send(self, *messages):
        self.socket.sendall(b"".join(kind + struct.pack("!i", len(body) + 4) + body for kind, body in messages))

    def receive(self):
        rows, error = [], None
        while True:
            kind, size = struct.unpack("!ci", self.read(5))
            body = self.read(size - 4)
            if kind == b"R":
                self.authenticate(struct.unpack_from("!i", body)[0], body[4:])
            elif kind == b"D":
                rows.append(columns(body))
            elif kind == b"E":
                fields = {field[:1]: field[1:] for field in body.decode(errors="replace").split("\0")}
                if fields["V"] != "ERROR":
                    raise ConnectionError(f"{fields['M']} (SQLSTATE {fields['C']})")
                error = SQLError(fields["M"], fields["C"])
            elif kind == b"Z" and error:
                raise error
            elif kind == b"Z":
                return rows

    def read(self, size):
        data = self.stream.read(size)
        if len(data) < size:
            raise ConnectionError("the server closed the connection")
        return data

    def authenticate(self, code, data):
        if code == 5:
            inner = hashlib.md5(self.password + self.user).hexdigest().encode()
            self.send((b"p", b"md5" + hashlib.md5(inner + data).hexdigest().encode() + b"\0"))
        elif code == 10 and b"SCRAM-SHA-256" in data.split(b"\0"):
            self.first = b"n=,r=" + base64.b64encode(os.urandom(18))
            self.send((b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", 3 + len(self.first)) + b"n,," + self.first))
        elif code == 11:
            nonce, salt, rounds = (part[2:] for part in data.split(b","))
            salted = hashlib.pbkdf2_hmac("sha256", self.password, base64.b64decode(salt), int(rounds))
            last, key = b"c=biws,r=" + nonce, sign(salted, b"Client Key")
            signed = b",".join([self.first, data, last])
            proof = bytes(a ^ b for a, b in zip(key, sign(hashlib.sha256(key).digest(), signed)))
            self.expected = b"v=" + base64.b64encode(sign(sign(salted, b"Server Key"), signed))
            self.send((b"p", last + b",p=" + base64.b64encode(proof)))
        elif code != 0 and not (code == 12 and data == self.expected):
            raise ConnectionError(f"authentication {code} of the server is unknown, or wrong")


def sign(key, text):
    return hmac.new(key, text, "sha256").digest()


def columns(body):
    row, at = [], 2
    while at < len(body):
        size = struct.unpack_from("!i", body, at)[0]
        row.append(None if size < 0 else body[at + 4 : at + 4 + size].decode())
        at += 4 + max(size, 0)
    return row


Job = collections.namedtuple("Job", "seq attempt instance task workload inputs")


class Queue(Postgres):
    """The queue. Each method is one statement: no process can be killed, paused or cut off in the middle of a transaction."""

    def create(self):
        # todo counts tasks that are not done.
        self.query("CREATE TABLE IF NOT EXISTS instances (id text PRIMARY KEY, workload text, todo int, value text)")
        # missing counts needs that are not done; a job with a value is done. attempt counts leases, and is the token of the last.
        self.query("""CREATE TABLE IF NOT EXISTS jobs (
            seq bigserial PRIMARY KEY, instance text, task text, needs json, missing int, value text,
            attempt int DEFAULT 0, leased_until timestamptz DEFAULT '-infinity', UNIQUE (instance, task))""")
        self.query("CREATE INDEX IF NOT EXISTS jobs_ready ON jobs (seq) WHERE missing = 0 AND value IS NULL")

    def submit(self, instances, tasks):
        """Stores those instances that are not there, with their jobs. tasks are those of all their workloads."""
        self.query("""
            WITH t AS (SELECT workload, name, coalesce(needs, '[]') AS needs
                FROM json_to_recordset($2) AS t(workload text, name text, needs json)),
            new AS (INSERT INTO instances (id, workload, todo)
                SELECT id, workload, (SELECT count(*) FROM t WHERE t.workload = i.workload)
                FROM json_to_recordset($1) AS i(id text, workload text) ON CONFLICT DO NOTHING RETURNING id, workload)
            INSERT INTO jobs (instance, task, needs, missing)
            SELECT id, name, needs, json_array_length(needs) FROM new JOIN t USING (workload)
            """, json.dumps(instances), json.dumps(tasks))

    def take(self, lease_ms):
        """Leases the oldest job that is ready and that nobody has a lease of; None: there is none."""
        for row in self.query("""
            UPDATE jobs SET attempt = attempt + 1, leased_until = now() + $1 * interval '1 ms' WHERE seq = (
                SELECT seq FROM jobs WHERE missing = 0 AND value IS NULL AND leased_until < now()
                ORDER BY seq LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING seq, attempt, instance, task, (SELECT workload FROM instances WHERE id = instance),
                (SELECT json_object_agg(n.task, n.value) FROM jobs AS n
                    WHERE n.instance = jobs.instance AND n.task IN (SELECT json_array_elements_text(jobs.needs)))
            """, lease_ms):
            return Job(int(row[0]), int(row[1]), *row[2:5], json.loads(row[5] or "{}"))

    def renew(self, seq, attempt, lease_ms):
        self.query("""UPDATE jobs SET leased_until = now() + $3 * interval '1 ms'
            WHERE seq = $1 AND attempt = $2 AND leased_until > '-infinity'""", seq, attempt, lease_ms)

    def release(self, job):
        self.query("UPDATE jobs SET leased_until = '-infinity' WHERE seq = $1 AND attempt = $2", job.seq, job.attempt)

    def complete(self, job, value, of_instance, followers):
        """Stores a value and what follows, if no other attempt has begun. Returns the instance's value if that was its end."""
        # The instance is locked before its jobs, which two completions would lock in different orders.
        rows = self.query("""
            WITH job AS (UPDATE jobs SET value = $3 WHERE seq = $1 AND attempt = $2 AND value IS NULL RETURNING instance),
            i AS (UPDATE instances SET todo = todo - 1, value = coalesce($4, value) FROM job WHERE id = instance
                RETURNING id, todo, value),
            ready AS (UPDATE jobs SET missing = missing - 1 FROM i
                WHERE instance = id AND task IN (SELECT json_array_elements_text($5)))
            SELECT value FROM i WHERE todo = 0
            """, job.seq, job.attempt, value, of_instance, json.dumps(followers))
        return rows[0][0] if rows else None

    def look(self, ids):
        rows = self.query("""SELECT id, CASE todo WHEN 0 THEN value END FROM instances
            WHERE id IN (SELECT json_array_elements_text($1))""", json.dumps(ids))
        found = {id: {"status": "completed", "value": value} if value else {"status": "open"} for id, value in rows}
        return [{"id": id, **found.get(id, {"status": "unknown"})} for id in ids]


# What anybody prints goes to the log: only send() knows where messages go.
messages, _ = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n"), os.dup2(2, 1)
writing = threading.Lock()


def send(kind, **fields):
    with writing:
        messages.write(json.dumps({"pulley": kind, **fields}) + "\n")
        messages.flush()


def promises(lease_ms):
    # The leases of a dead process end. Soon after that a slot polls, or ends its pause after an error.
    kept = {"submit": "durable", "resubmit": "once", "execution": "at-least-once", "results": "once"}
    return {**kept, "recovers_ms": lease_ms + 3000}


class Adapter:
    def __init__(self, setup):
        self.dsn, self.workloads = setup["store"]["dsn"], {w["name"]: w for w in setup.get("workloads", [])}
        self.lease_ms = int(setup.get("settings", {}).get("lease_ms", LEASE_MS))
        self.requests, self.news = collections.deque(), threading.Condition()  # news: of requests, and of jobs
        self.leases, self.stopping, self.stopped = set(), threading.Event(), threading.Event()
        self.threads, self.counter, self.began = [], itertools.count(), time.time_ns()
        if setup.get("create"):
            Queue(self.dsn).create()
        send("ready", promises=promises(self.lease_ms))

    def open(self, message):
        self.process = message.get("process", 0)
        self.report = send if message.get("report") == "tasks" else lambda kind, **fields: None
        send("ready")
        steps = [self.work] * message["slots"] + [self.answer, self.heartbeat]
        self.threads = [threading.Thread(target=self.repeat, args=[step], daemon=True) for step in steps]
        for thread in self.threads:
            thread.start()

    def repeat(self, step):
        """Repeats a step on a connection until it returns False. A pause follows each error; pauses grow to a second."""
        queue, pause, going = Queue(self.dsn), 0.02, True
        while going:
            try:
                going, pause = step(queue) is not False, 0.02
            except Exception as e:
                send("problem", message=f"{step.__name__}: {e!r}")
                going, pause = not self.stopping.wait(pause), min(2 * pause, 1)
        queue.close()

    def tell(self, *requests):
        with self.news:
            self.requests.extend(requests)
            self.news.notify_all()

    def close(self):
        self.stopping.set()
        self.tell(None)
        for thread in self.threads[:-1]:
            thread.join()
        self.stopped.set()  # now no job needs the heartbeat
        for thread in self.threads:
            thread.join()

    def answer(self, queue):
        with self.news:
            self.news.wait_for(lambda: self.requests)
        request = self.requests[0]  # it stays there if the connection breaks: nobody knows whether it was committed
        if request is None:
            return False
        try:
            if request["pulley"] == "look":
                send("states", batch=request["batch"], instances=queue.look(request["ids"]))
            else:
                names = {i["workload"] for i in request["instances"]}
                queue.submit(request["instances"], [{**t, "workload": w} for w in names for t in self.workloads[w]["tasks"]])
                send("submitted", batch=request["batch"])
        except (SQLError, LookupError, ValueError) as e:
            send("error", batch=request["batch"], message=repr(e))
        self.requests.popleft()

    def heartbeat(self, queue):
        for seq, attempt in list(self.leases):
            queue.renew(seq, attempt, self.lease_ms)
        return not self.stopped.wait(self.lease_ms / 4000)

    def work(self, queue):
        job = None if self.stopping.is_set() else queue.take(self.lease_ms)
        if job:
            self.leases.add(job[:2])
            try:
                self.execute(queue, job)
            finally:  # after an error the job is taken again when its lease ends
                self.leases.discard(job[:2])
        else:
            with self.news:
                self.news.wait(POLL)
        return not self.stopping.is_set()

    def execute(self, queue, job):
        workload = self.workloads[job.workload]
        task = next(t for t in workload["tasks"] if t["name"] == job.task)
        about = {"instance": job.instance, "task": job.task, "attempt": job.attempt}
        self.report("started", **about, inputs=job.inputs)
        time.sleep(task.get("ms", 0) / 1000)
        if job.attempt <= task.get("fails", 0):
            self.report("failed", **about, message="it was to fail")
            queue.release(job)
            return
        total = task.get("add", 0) + sum(int(value.split(":")[0]) for value in job.inputs.values())
        token = f"{self.process}.{self.began}.{next(self.counter)}"
        value = f"{total % 1_000_000_007}:{token}".ljust(task.get("bytes", 0))
        self.report("finished", **about, value=value)
        followers = [t["name"] for t in workload["tasks"] if job.task in t.get("needs", [])]
        end = queue.complete(job, value, value if job.task == workload["result"] else None, followers)
        if end:
            send("ended", instance=job.instance, status="completed", value=end)
        self.tell()


def main():
    adapter = None
    for line in open(0, encoding="utf-8", newline="\n"):
        message = json.loads(line, object_hook=lambda o: {name: value for name, value in o.items() if value is not None})
        kind = message.get("pulley")
        if kind == "hello" and message["version"] != 1:
            print("this adapter speaks version 1 of the protocol", file=sys.stderr)
            return 2
        elif kind == "hello":
            setting = {"name": "lease_ms", "default": str(LEASE_MS), "about": "how long a job is leased, in milliseconds"}
            send("hello", version=1, name="queue.py", system="a table with SKIP LOCKED", system_version="1",
                promises=promises(LEASE_MS), shapes=["single", "graph", "retries"], settings=[setting])
        elif kind == "setup":
            try:
                adapter = Adapter(message)
            except (OSError, SQLError, LookupError, ValueError) as e:
                send("error", message=repr(e))
                return 2
        elif kind == "open":
            adapter.open(message)
        elif kind in ("submit", "look"):
            adapter.tell(message)
        elif kind == "stop":
            break
    if adapter:
        adapter.close()


if __name__ == "__main__":
    sys.exit(main())
