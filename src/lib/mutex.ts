/** Runs tasks one after the other, in the order they came; a failed one does not stop the next. */
export function mutex(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (task) => {
    const run = last.then(task)
    last = run.then(nothing, nothing)
    return run
  }
}

const nothing = (): undefined => undefined
