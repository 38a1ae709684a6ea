/** Runs at the first call and caches the result; after a failure, the next call tries again. */
export function once<T>(make: () => Promise<T>): (() => Promise<T>) & { started(): boolean } {
  let made: Promise<T> | undefined
  const get = (): Promise<T> => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
  return Object.assign(get, { started: () => made !== undefined })
}
