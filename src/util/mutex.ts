/** Runs tasks one after the other, in the order they came; a failed one does not stop the next. */
export function mutex(): <T>(task: () => Promise<T>) => Promise<T> {
  /** Settled when everything so far is over. */
  let last: Promise<unknown> = Promise.resolve()
  return <T>(task: () => Promise<T>) => {
    const run = last.then(task)
    last = run.catch(() => undefined)
    return run
  }
}
