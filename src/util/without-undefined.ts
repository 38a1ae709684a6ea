/** The same data without keys that are undefined, so that spreading it over defaults changes nothing that was not given. */
export function withoutUndefined<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutUndefined) as T
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  const entries = Object.entries(value).filter(([, one]) => one !== undefined)
  return Object.fromEntries(entries.map(([key, one]) => [key, withoutUndefined(one)])) as T
}
