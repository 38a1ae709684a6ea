/** Work that outlives the call that started it. Failures are swallowed; `close` waits for all of it. */
export interface BackgroundWork {
  run(work: (signal: AbortSignal) => Promise<void>): RunningWork
  /** Ends all work and resolves when it has ended. */
  close(): Promise<void>
}

export interface RunningWork {
  abort(): void
  /** Resolves when the work has ended, also when it failed. */
  readonly over: Promise<void>
}

export function backgroundWork(): BackgroundWork {
  const running = new Set<RunningWork>()
  let isClosed = false
  return {
    run(work) {
      const controller = new AbortController()
      if (isClosed) controller.abort()
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
