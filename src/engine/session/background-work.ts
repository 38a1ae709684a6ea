/** Work that goes on after the call that started it. Nothing of it ever rejects, and `close` leaves none behind. */
export interface BackgroundWork {
  /** Undefined when everything is being closed. */
  run(work: (signal: AbortSignal) => Promise<void>): RunningWork | undefined
  /** Ends all work and resolves when it has ended. */
  close(): Promise<void>
}

export interface RunningWork {
  abort(): void
  /** Resolves when it is over, however it went. */
  readonly over: Promise<void>
}

export function backgroundWork(): BackgroundWork {
  const running = new Set<RunningWork>()
  let isClosed = false
  return {
    run(work) {
      if (isClosed) return undefined
      const controller = new AbortController()
      const over = work(controller.signal)
        .catch(() => undefined)
        .finally(() => running.delete(one))
      const one: RunningWork = { over, abort: () => controller.abort(new Error('no longer needed')) }
      running.add(one)
      return one
    },
    async close() {
      isClosed = true
      for (const { abort } of running) abort()
      await Promise.all([...running].map(({ over }) => over))
    },
  }
}
