/** Everything is asked relative to where the page stands, so that it works behind /t/<token>/ too. */
const base = new URL('./', document.baseURI)

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
  const url = new URL(`plimsoll/ui/${name}`, base)
  for (const [key, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(key, String(value))
  return answerOf<T>(await fetch(url, { headers: { 'x-plimsoll-page': '1' }, ...(signal !== undefined && { signal }) }))
}

export async function post<T>(name: string, body: object): Promise<T> {
  const response = await fetch(new URL(`plimsoll/ui/${name}`, base), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-plimsoll-page': '1' },
    body: JSON.stringify(body),
  })
  return answerOf<T>(response)
}

export const downloadUrl = (tenant: string, handle: string): string =>
  new URL(`plimsoll/download/${handle}?tenant=${encodeURIComponent(tenant)}`, base).href

export const eventsUrl = (): URL => new URL('plimsoll/events', base)

async function answerOf<T>(response: Response): Promise<T> {
  const body = (await response.json().catch(() => ({}))) as { error?: { message?: string; advice?: string } } & T
  if (response.ok) return body
  const { message = `The server answered ${response.status}.`, advice } = body.error ?? {}
  throw new ApiError(response.status, message, advice)
}
