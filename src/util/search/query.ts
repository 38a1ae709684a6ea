import { type AskedWord, numberOf, queryWords } from './words.ts'

/** A parsed query: words, exact strings in quotes, and filters (`file:` `tool:` `role:` `since:`). */
export interface Query {
  readonly words: readonly AskedWord[]
  /** The words as numbers, and the index of the word that each form belongs to. */
  readonly places: ReadonlyMap<number, number>
  /** Exact strings in lower case. Entries with them come first; a query with exact strings alone finds nothing else. */
  readonly exact: readonly string[]
  readonly isOnlyExact: boolean
  readonly file?: string
  readonly tool?: string
  readonly role?: string
  /** Milliseconds since 1970. */
  readonly since?: number
}

const FILTER = /(?:^|\s)(file|tool|role|since):(?:"([^"]+)"|(\S+))/gi
const QUOTED = /"([^"]{2,})"|“([^”]{2,})”/g
const AGO = /^(\d+)\s*(m|h|d|w)$/i
const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

export function readQuery(text: string, now: number): Query {
  const filters: Record<string, string> = {}
  const rest = text.replace(FILTER, (_, name: string, quoted?: string, plain?: string) => {
    filters[name.toLowerCase()] = (quoted ?? plain ?? '').toLowerCase()
    return ' '
  })
  const exact = [...rest.matchAll(QUOTED)].map(([, one, other]) => (one ?? other ?? '').toLowerCase().trim())
  const { file, tool, role, since } = filters
  // For a file or tool alone, the words of its name are searched.
  const words = queryWords(`${rest} ${file ?? ''} ${tool ?? ''}`)
  const places = new Map(words.flatMap((forms, i) => forms.map((form): [number, number] => [numberOf(form), i])))
  return {
    words,
    places,
    exact: exact.filter((one) => one !== ''),
    isOnlyExact: exact.length > 0 && rest.replace(QUOTED, '').trim() === '',
    file,
    tool,
    role,
    since: timeOf(since, now),
  }
}

/** Reads `2h`, `3d`, or a date. */
function timeOf(since: string | undefined, now: number): number | undefined {
  if (since === undefined) return undefined
  const [, count, unit] = AGO.exec(since) ?? []
  const time = count === undefined ? Date.parse(since) : now - Number(count) * UNIT_MS[unit!.toLowerCase()]!
  return Number.isNaN(time) ? undefined : time
}
