/** Runs tasks one after the other, in the order they came; a failed one does not stop the next. One that has nobody before it begins at once. */
export function mutex(): <T>(task: () => Promise<T>) => Promise<T> {
  let open = 0
  let isBeginning = false
  /** Settled when everything so far is over. */
  let last: Promise<unknown> = Promise.resolve()
  const over = (): void => void open--

  function begin<T>(task: () => Promise<T>): Promise<T> {
    isBeginning = true
    try {
      return task()
    } catch (error) {
      return Promise.reject(error)
    } finally {
      isBeginning = false
    }
  }

  return function inOrder<T>(task: () => Promise<T>): Promise<T> {
    // Asked for by a task that has not come to its first wait: behind it, and nobody can wait for that one yet.
    if (isBeginning) return Promise.resolve().then(() => inOrder(task))
    const run = open++ === 0 ? begin(task) : last.then(task)
    last = run.then(over, over)
    return run
  }
}
