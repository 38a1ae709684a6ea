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
