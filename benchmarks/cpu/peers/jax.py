"""jax, in a process of its own: its threads and libgomp's spin against each other in one.

    python peers/jax.py        # what `Process` starts: one JSON request per line, one answer per line

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import os
import pathlib
import subprocess
import sys
import time


class Process:
    """Runs named programs of `programs()` below on random arrays and answers with seconds per call."""

    def __init__(self, threads: int):
        self.threads = threads
        self.process = None

    def start(self):
        if self.process is None:
            environment = {**os.environ, "JAX_PLATFORMS": "cpu", "TESSERA_PEER_THREADS": str(self.threads)}
            self.process = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).resolve())], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True, env=environment)
        return self.process

    def ask(self, **request):
        from . import Missing

        process = self.start()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise Missing("its process ended")
        answer = json.loads(line)
        if "missing" in answer:
            raise Missing(answer["missing"])
        return answer

    def call(self, program: str, **arguments) -> "Call":
        return Call(self, self.ask(make=program, **arguments)["id"])

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait(10)


class Call:
    """Timed over there: `seconds(repeat)` is the time of one of `repeat` calls."""

    def __init__(self, process: Process, number: int):
        self.process, self.number = process, number

    def seconds(self, repeat: int) -> float:
        time.sleep(0.005)  # our own threads have stopped spinning by then
        return self.process.ask(run=self.number, repeat=repeat)["seconds"]

    def free(self):
        self.process.ask(free=self.number)


def programs():
    import jax
    import jax.numpy as jnp

    def attention(q, k, v, causal):
        group = q.shape[1] // k.shape[1]
        k, v = (jnp.repeat(t, group, axis=1) if group > 1 else t for t in (k, v))
        turn = lambda t: jnp.swapaxes(t, 1, 2)  # noqa: E731
        return turn(jax.nn.dot_product_attention(turn(q), turn(k), turn(v), is_causal=causal))

    def layer_norm(x, w, b):
        x32 = x.astype(jnp.float32)
        mean = x32.mean(-1, keepdims=True)
        return ((x32 - mean) * jax.lax.rsqrt(x32.var(-1, keepdims=True) + 1e-5) * w + b).astype(x.dtype)

    def rms_norm(x, w):
        x32 = x.astype(jnp.float32)
        return (x32 * jax.lax.rsqrt((x32 * x32).mean(-1, keepdims=True) + 1e-6) * w).astype(x.dtype)

    return {
        "matmul": lambda a, b: a @ b,
        "attention": lambda q, k, v: attention(q, k, v, False),
        "attention_causal": lambda q, k, v: attention(q, k, v, True),
        "softmax": lambda x: jax.nn.softmax(x, axis=-1),
        "layer_norm": layer_norm,
        "rms_norm": rms_norm,
        "mlp": lambda x, w, b, v, c: jax.nn.gelu(x @ w + b, approximate=False) @ v + c,
        "fft2": jnp.fft.fft2,
        "gelu_scale_add": lambda x, w, b, r: jax.nn.gelu(x * w + b, approximate=False) + r,
        "gate": lambda x, y: jax.nn.silu(x) * y,
        "mean_square": lambda x: (x * x).mean(-1),
        "log_sum_exp": lambda x: jax.scipy.special.logsumexp(x, axis=-1),
    }


def serve():
    threads = int(os.environ["TESSERA_PEER_THREADS"])
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:threads]))  # XLA has no other switch that holds for all its pools
    try:
        import jax
    except ImportError:
        for _ in sys.stdin:
            print(json.dumps({"missing": "pip install jax"}), flush=True)
        return
    import numpy as np

    known, calls = programs(), {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "make" in request:
                fn = jax.jit(known[request["make"]])
                random = np.random.default_rng(0)
                arrays = []
                for shape, dtype in request["arrays"]:
                    values = random.standard_normal(shape, np.float32)
                    if dtype == "complex64":
                        values = values + 1j * random.standard_normal(shape, np.float32)
                    arrays.append(jax.numpy.asarray(values).astype(dtype))
                fn(*arrays).block_until_ready()
                number = len(calls)
                calls[number] = (fn, arrays)
                answer = {"id": number}
            elif "free" in request:
                calls[request["free"]] = None
                answer = {}
            else:
                fn, arrays = calls[request["run"]]
                start = time.perf_counter()
                for _ in range(request["repeat"]):
                    result = fn(*arrays)
                    result.block_until_ready()
                answer = {"seconds": (time.perf_counter() - start) / request["repeat"]}
        except Exception as error:  # noqa: BLE001  whatever jax refuses is its answer
            answer = {"missing": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != pathlib.Path(__file__).resolve().parent]
    serve()
