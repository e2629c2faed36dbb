"""Who ends a job, and what the compute thread survives."""

from __future__ import annotations

import threading
import time

import pytest

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.nodes.jobs import ComputeThread, Ending, Job, Verdict

SOON = 30.0


def later(seconds: float = SOON) -> float:
    return time.monotonic() + seconds


def test_work_is_done_in_the_order_it_came_and_in_one_thread() -> None:
    thread, order, threads = ComputeThread(print), [], set()

    def work(number: int) -> int:
        order.append(number)
        threads.add(threading.get_ident())
        return number

    jobs = [thread.submit(Job(lambda _, n=n: work(n), later())) for n in range(20)]
    assert [job.wait().value for job in jobs] == list(range(20)) == order
    assert len(threads) == 1
    assert threads != {threading.get_ident()}
    assert thread.close(SOON)


def test_whoever_ends_a_job_first_decides_and_nobody_after() -> None:
    """Many threads race to end one job: exactly one of them is told that it did."""
    for _ in range(200):
        job: Job[int] = Job(lambda _: 0, later())
        barrier, won = threading.Barrier(4), []

        def race(number: int, job: Job[int] = job, barrier: threading.Barrier = barrier, won: list[int] = won) -> None:
            barrier.wait()
            if job.end(Ending(Verdict.SUCCEEDED, value=number)):
                won.append(number)

        threads = [threading.Thread(target=race, args=(number,)) for number in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert [job.wait().value] == won


def test_work_is_told_to_stop_when_the_job_was_ended_and_its_answer_is_not_used() -> None:
    thread, started = ComputeThread(print), threading.Event()

    def work(should_stop: object) -> str:
        started.set()
        while not should_stop():  # type: ignore[operator]
            time.sleep(0.001)
        return "too late"

    job: Job[str] = thread.submit(Job(work, later()))
    started.wait(SOON)
    assert job.end(Ending(Verdict.CANCELED, ErrorCode.CANCELED))
    ending = job.wait()
    assert ending.verdict is Verdict.CANCELED
    assert ending.value is None
    assert thread.submit(Job(lambda _: 7, later())).wait().value == 7
    assert thread.close(SOON)
    assert job.wait() is ending


def test_a_job_that_ended_in_line_is_never_begun() -> None:
    thread, gate, begun = ComputeThread(print), threading.Event(), []
    first: Job[bool] = thread.submit(Job(lambda _: gate.wait(SOON), later()))
    second: Job[None] = thread.submit(Job(lambda _: begun.append(1), later()))
    second.end(Ending(Verdict.CANCELED, ErrorCode.CANCELED))
    gate.set()
    first.wait()
    assert thread.close(SOON)
    assert begun == []


def test_waiting_ends_at_the_deadline_even_if_the_work_does_not() -> None:
    thread, gate = ComputeThread(print), threading.Event()
    ending = thread.submit(Job(lambda _: gate.wait(SOON), later(0.05))).wait()
    assert ending.verdict is Verdict.ABORTED
    assert ending.code is ErrorCode.DEADLINE_EXCEEDED
    gate.set()
    assert thread.close(SOON)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NeurokError(ErrorCode.INVALID_PUSH, "push", "is bad", "Mend it"), ErrorCode.INVALID_PUSH),
        (MemoryError(), ErrorCode.OUT_OF_MEMORY),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"), ErrorCode.OUT_OF_MEMORY),
        (RuntimeError("mat1 and mat2 cannot be multiplied"), ErrorCode.INTERNAL),
        (ZeroDivisionError("oh"), ErrorCode.INTERNAL),
    ],
)
def test_failing_work_gives_a_code_and_the_thread_goes_on(error: Exception, code: ErrorCode) -> None:
    def fail(_: object) -> None:
        raise error

    log: list[str] = []
    thread = ComputeThread(log.append)
    ending = thread.submit(Job(fail, later())).wait()
    assert (ending.verdict, ending.code) == (Verdict.ABORTED, code)
    assert ending.message
    assert any(type(error).__name__ in line for line in log) == (code is ErrorCode.INTERNAL)
    assert thread.submit(Job(lambda _: 1, later())).wait().value == 1
    assert thread.close(SOON)
