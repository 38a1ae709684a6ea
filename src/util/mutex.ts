/** Runs tasks one after the other, in order; a failed task does not stop the next. */
export function mutex(): <T>(task: () => Promise<T>) => Promise<T> {
  /** Settles when all tasks so far have ended. */
  let last: Promise<unknown> = Promise.resolve()
  return <T>(task: () => Promise<T>) => {
    const run = last.then(task)
    last = run.catch(() => undefined)
    return run
  }
}
