import { PlimsollError } from '../../core/errors.ts'
import { boundedText } from '../bounded-text.ts'
import { compactEntries } from './compact.ts'
import { writeEntry } from './entry.ts'
import { type LiteLlmData, readLiteLlm } from './litellm.ts'
import { readModelsDev } from './models-dev.ts'

export type CatalogueSource = 'litellm' | 'models.dev'

export interface UpdateOptions {
  /** @default 'litellm' */
  readonly source?: CatalogueSource
  /** Another place with the same form of data. */
  readonly url?: string
  /** @default the global fetch */
  readonly fetch?: (url: string, init: { signal: AbortSignal }) => Promise<Response>
  /** @default 20000 */
  readonly timeoutMs?: number
}

export interface CatalogueUpdate {
  /** For `bundledCatalogue({ lines })`; store them and hand them in at the next start. */
  readonly lines: string
  readonly models: number
  readonly url: string
}

const URLS: Record<CatalogueSource, string> = {
  litellm: 'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json',
  'models.dev': 'https://models.dev/api.json',
}

/** Public catalogues have a few megabytes. */
const MAX_BYTES = 64 * 1024 * 1024

/** Fewer models than this are an error page or another format, not a catalogue. */
const LEAST_MODELS = 100

/** Fetches current public data and builds the compact catalogue from it. Rejects with `upstream`; the bundled one then serves on. */
export async function fetchCatalogue(options: UpdateOptions = {}): Promise<CatalogueUpdate> {
  const { source = 'litellm', fetch: get = fetch, timeoutMs = 20_000 } = options
  const url = options.url ?? URLS[source]
  const data = await load(get, url, timeoutMs)
  const read = source === 'litellm' ? readLiteLlm(data as LiteLlmData) : readModelsDev(data)
  if (read.length < LEAST_MODELS) {
    throw new PlimsollError('upstream', `The answer of ${url} has only ${read.length} models.`, {
      advice: 'Use another --source or --url.',
      fields: { url },
    })
  }
  const entries = compactEntries(read)
  return { lines: entries.map(writeEntry).join('\n'), models: entries.length, url }
}

async function load(get: NonNullable<UpdateOptions['fetch']>, url: string, timeoutMs: number): Promise<unknown> {
  try {
    const response = await get(url, { signal: AbortSignal.timeout(timeoutMs) })
    if (!response.ok) throw new Error(`HTTP ${response.status}`)
    return JSON.parse(await boundedText(response, MAX_BYTES)) as unknown
  } catch (cause) {
    throw new PlimsollError('upstream', `Could not fetch the catalogue from ${url}.`, {
      advice: 'The bundled catalogue stays in use. Check the network and try again.',
      fields: { url },
      retryable: true,
      cause,
    })
  }
}
