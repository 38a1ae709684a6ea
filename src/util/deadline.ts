/**
 * A signal that fires after a time, or with another signal. It has its own timer: in Node 20 a timeout that only `AbortSignal.any` refers to may be
 * collected before it fires.
 */
export function deadlineAfter(ms: number, other?: AbortSignal): AbortSignal {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(new DOMException(`No answer within ${ms} ms.`, 'TimeoutError')), ms)
  timer.unref()
  const follow = (): void => controller.abort(other?.reason)
  if (other?.aborted === true) follow()
  else other?.addEventListener('abort', follow, { once: true })
  return controller.signal
}

const LONG_MS = 2 ** 30

/** Settles with the work or the signal, whichever is first, also when the work ignores its signal. An interval keeps the process alive meanwhile. */
export async function withDeadline<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const alive = setInterval(() => {}, LONG_MS)
  try {
    return await firstOf(work, signal)
  } finally {
    clearInterval(alive)
  }
}

const firstOf = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    // Results after the deadline are ignored, rejections included.
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
