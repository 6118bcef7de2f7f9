"""Serves a GGUF file with llama.cpp's own HTTP server. Usage: serve-llama-cpp.py MODEL PORT SLOTS"""

import signal
import sys

import xllamacpp

# What one slot can hold: prompt and answer together.
TOKENS_PER_SLOT = 2048

model, port, slots = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
parameters = xllamacpp.CommonParams()
parameters.model.path = model
parameters.hostnames = ["127.0.0.1"]
parameters.port = port
parameters.n_parallel = slots
parameters.n_ctx = slots * TOKENS_PER_SLOT
parameters.cpuparams.n_threads = 1
parameters.endpoint_metrics = parameters.endpoint_slots = parameters.endpoint_props = True
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
signal.pause()
