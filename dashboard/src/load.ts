import { useEffect, useState } from 'preact/hooks'
import { ApiError } from './api.ts'

export interface Loaded<T> {
  readonly value?: T
  readonly error?: ApiError
  readonly isLoading: boolean
}

/** Asks again when a dependency changes; what was there stays in view meanwhile. */
export function useLoad<T>(ask: (signal: AbortSignal) => Promise<T>, dependencies: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Loaded<T>>({ isLoading: true })
  useEffect(() => {
    const stop = new AbortController()
    setState((before) => ({ ...before, isLoading: true }))
    ask(stop.signal).then(
      (value) => stop.signal.aborted || setState({ value, isLoading: false }),
      (error: unknown) =>
        stop.signal.aborted ||
        setState((before) => ({
          ...before,
          isLoading: false,
          error: error instanceof ApiError ? error : new ApiError(0, 'The server does not answer.'),
        })),
    )
    return () => stop.abort()
  }, dependencies)
  return state
}
