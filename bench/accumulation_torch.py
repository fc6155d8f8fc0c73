"""accrue_bench_accumulation's work, done by PyTorch: one optimizer step of an MLP (784-512-512-10,
ReLU, SGD with momentum) over 512 samples, cut into N micro-batches. Prints N and samples/s.

    python3 bench/accumulation_torch.py [cpu|cuda]
"""
import statistics
import sys
import time

import torch

SAMPLES, STEP, SECONDS = 4096, 512, 0.3
device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cpu")
torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = False
x = torch.rand(SAMPLES, 784, device=device)
y = torch.randint(0, 10, (SAMPLES,), device=device)


def measure(n):
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 512), torch.nn.ReLU(),
        torch.nn.Linear(512, 512), torch.nn.ReLU(),
        torch.nn.Linear(512, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    rows, at = STEP // n, 0
    times, end = [], time.perf_counter() + SECONDS
    while len(times) < 8 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(n):
            at = 0 if at + rows > SAMPLES else at
            logits = model(x[at:at + rows])
            loss = torch.nn.functional.cross_entropy(logits, y[at:at + rows]) / n
            at += rows
            loss.backward()
            loss.item()
        optimizer.step()
        optimizer.zero_grad()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return STEP / statistics.median(times[3:])


for n in (1, 2, 4, 8, 16, 32):
    print(n, round(measure(n)), flush=True)
