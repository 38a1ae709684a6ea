/** Settles with the work or with the signal, whichever is first: a summariser that ignores its signal holds nobody up. */
export function withDeadline<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    // What comes after the deadline is nobody's any more, a rejection included.
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
