import { type AskedWord, numberOf, queryWords } from './words.ts'

/** A parsed query: words, exact strings in quotes, and filters (`file:` `tool:` `role:` `since:`). */
export interface Query {
  readonly words: readonly AskedWord[]
  /** The words as numbers, and the index of the word that each form belongs to. */
  readonly places: ReadonlyMap<number, number>
  /** Exact strings in lower case. Entries with them come first; a query with exact strings alone finds nothing else. */
  readonly exact: readonly string[]
  readonly isOnlyExact: boolean
  /** Lower-cased, for files and commands that it names. */
  readonly text: string
  readonly files: readonly string[]
  readonly file?: string
  readonly tool?: string
  readonly role?: string
  /** Milliseconds since 1970. */
  readonly since?: number
  /** What was given for `since:` and is no time. */
  readonly noTime?: string
}

const FILTER = /(?:^|\s)(file|tool|role|since):(?:"([^"]+)"|(\S+))/gi
const QUOTED = /"([^"]{2,})"|“([^”]{2,})”/g
const BETWEEN_NAMES = /[\s"'`,;:()<>[\]{}]+/
/** With a folder or an ending. */
const FILE = /[/\\]|\.\p{L}/u
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
  const time = timeOf(since, now)
  return {
    // A file or a tool alone is asked by its own words.
    ...wordsQuery(`${rest} ${file ?? ''} ${tool ?? ''}`),
    exact: exact.filter((one) => one !== ''),
    isOnlyExact: exact.length > 0 && rest.replace(QUOTED, '').trim() === '',
    file,
    tool,
    role,
    since: time,
    noTime: time === undefined ? since : undefined,
  }
}

/** A message that was not meant as a query: its words. */
export function wordsQuery(text: string): Query {
  const words = queryWords(text)
  const places = new Map(words.flatMap((forms, i) => forms.map((form): [number, number] => [numberOf(form), i])))
  const lower = text.toLowerCase()
  return {
    words,
    places,
    exact: [],
    isOnlyExact: false,
    text: lower,
    files: lower.split(BETWEEN_NAMES).filter((name) => FILE.test(name)),
  }
}

/** Reads `2h`, `3d`, or a date. */
function timeOf(since: string | undefined, now: number): number | undefined {
  if (since === undefined) return undefined
  const [, count, unit] = AGO.exec(since) ?? []
  const time = count === undefined ? Date.parse(since) : now - Number(count) * UNIT_MS[unit!.toLowerCase()]!
  return Number.isNaN(time) ? undefined : time
}
