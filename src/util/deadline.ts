/**
 * A signal that fires after a time, or with another one. Held by its own timer: in Node 20 a timeout that only `AbortSignal.any` knows of may be
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

/**
 * Settles with the work or with the signal, whichever is first: a summarizer that ignores its signal holds nobody up. The process stays
 * alive for as long as somebody waits, also where the work itself has nothing that would keep it.
 */
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
    // What comes after the deadline is nobody's any more, a rejection included.
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
