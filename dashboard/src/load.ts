import { useEffect, useState } from 'preact/hooks'
import { ApiError } from './api.ts'

export interface Loaded<T> {
  readonly value?: T
  readonly error?: ApiError
  readonly isLoading: boolean
}

/** What is written behind an answer may not be there yet, and a server may be starting: such questions are asked again, later each time. */
const FIRST_WAIT_MS = 500
const MOST_ATTEMPTS = 6
const mayPass = ({ status }: ApiError): boolean => status === 0 || status === 404 || status >= 500

/** Asks again when a dependency changes; what was there stays in view meanwhile. */
export function useLoad<T>(ask: (signal: AbortSignal) => Promise<T>, dependencies: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Loaded<T>>({ isLoading: true })
  useEffect(() => {
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const attempt = (number: number): void => {
      setState((before) => ({ ...before, isLoading: true }))
      ask(stop.signal).then(
        (value) => stop.signal.aborted || setState({ value, isLoading: false }),
        (thrown: unknown) => {
          if (stop.signal.aborted) return
          const error = thrown instanceof ApiError ? thrown : new ApiError(0, 'The server does not answer.')
          setState((before) => ({ ...before, isLoading: false, error }))
          if (number < MOST_ATTEMPTS && mayPass(error))
            timer = setTimeout(attempt, FIRST_WAIT_MS * 2 ** (number - 1), number + 1)
        },
      )
    }
    attempt(1)
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, dependencies)
  return state
}
