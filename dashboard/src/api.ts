import { useEffect, useState } from 'preact/hooks'

/** All requests are relative to the page's address, so that they also work behind /t/<token>/. */
const base = (): URL => new URL('./', document.baseURI)

export class ApiError extends Error {
  readonly status: number
  readonly advice: string | undefined
  constructor(status: number, message: string, advice?: string) {
    super(message)
    this.status = status
    this.advice = advice
  }
}

export type Query = Readonly<Record<string, string | number | undefined>>

export async function get<T>(name: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const url = new URL(`plimsoll/ui/${name}`, base())
  for (const [key, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(key, String(value))
  return answerOf<T>(await fetch(url, { headers: { 'x-plimsoll-page': '1' }, signal }))
}

export async function post<T>(name: string, body: object): Promise<T> {
  const response = await fetch(new URL(`plimsoll/ui/${name}`, base()), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-plimsoll-page': '1' },
    body: JSON.stringify(body),
  })
  return answerOf<T>(response)
}

export const downloadUrl = (tenant: string, handle: string): string =>
  new URL(`plimsoll/download/${handle}?tenant=${encodeURIComponent(tenant)}`, base()).href

export const eventsUrl = (): URL => new URL('plimsoll/events', base())

async function answerOf<T>(response: Response): Promise<T> {
  const body = (await response.json().catch(() => ({}))) as { error?: { message?: string; advice?: string } } & T
  if (response.ok) return body
  const { message = `The server answered ${response.status}.`, advice } = body.error ?? {}
  throw new ApiError(response.status, message, advice)
}

export interface Loaded<T> {
  readonly value?: T
  readonly error?: ApiError
  readonly isLoading: boolean
}

/** Data may be written shortly after the answer, and a server may be starting, so some requests are repeated with growing pauses. */
const FIRST_WAIT_MS = 500
const MOST_ATTEMPTS = 6
const isTemporary = ({ status }: ApiError): boolean => status === 0 || status === 404 || status >= 500

const LOADING = { isLoading: true } as const

/**
 * Loads again when a dependency changes, and shows the previous data meanwhile; `of` names what is shown, and the data of another one is never
 * shown under its title.
 */
export function useLoad<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[],
  of = '',
): Loaded<T> {
  const [{ state, shown }, set] = useState<{ readonly state: Loaded<T>; readonly shown: string }>({
    state: LOADING,
    shown: of,
  })
  const setState = (next: Loaded<T> | ((before: Loaded<T>) => Loaded<T>)): void =>
    set((before) => {
      const own = before.shown === of ? before.state : LOADING
      return { state: typeof next === 'function' ? next(own) : next, shown: of }
    })
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
          // What does not exist has no figures.
          setState((before) => ({ value: error.status === 404 ? undefined : before.value, isLoading: false, error }))
          if (number < MOST_ATTEMPTS && isTemporary(error))
            timer = setTimeout(attempt, FIRST_WAIT_MS * 2 ** (number - 1), number + 1)
        },
      )
    }
    attempt(1)
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [of, ...dependencies])
  return shown === of ? state : LOADING
}
