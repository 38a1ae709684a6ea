import { isRecord, parsedJson } from '../../core/values.ts'
import type { Item } from '../../core/item.ts'
import { stringsIn } from '../../core/quotes.ts'
import type { ItemSeen } from '../../core/records.ts'
import { type Candidate, type Entry, indexOf } from '../../util/search/rank.ts'

/** An item of a request, or of the archive, as `recall` searches and shows it. */
export interface Found extends Candidate {
  readonly identity: string
  readonly kind: string
  readonly callId: string | undefined
  readonly entry: Entry
  /** How it is named in an answer, and opened with: its number in the conversation. */
  readonly name: string
}

export type Said = Pick<Item, 'kind' | 'role' | 'text'> &
  Pick<ItemSeen, 'callId' | 'toolName'> & { readonly at?: number }

/** What a call was about: a result is found by it. */
export interface CallHead {
  readonly tool: string | undefined
  readonly about: string
}

const TELLING = /path|file|command|cmd|url|pattern|query/i
const LONGEST_ABOUT = 200

/** The file or the command among the arguments of a call. */
function aboutOf(text: string): string {
  const input = parsedJson(text)
  if (!isRecord(input)) return ''
  return Object.entries(input)
    .flatMap(([key, value]) => (TELLING.test(key) && typeof value === 'string' ? [value.split('\n', 1)[0]!] : []))
    .join(' ')
    .slice(0, LONGEST_ABOUT)
}

/** Answers of `recall` repeat what is found anyway, thoughts are no part of the archive, and the system prompt is always in view. */
const isSearched = ({ kind, text }: Said, tool: string | undefined): boolean =>
  text !== '' &&
  kind !== 'reasoning' &&
  kind !== 'instruction' &&
  !/(?:^|__)(?:recall|artifact_[a-z]+)$/.test(tool ?? '')

/** Undefined for what is not searched. `calls` takes the heads of calls, for their results. */
export function entryOf(
  said: Said,
  calls: Map<string, CallHead>,
  redact?: (text: string) => string,
): Entry | undefined {
  const { kind, role, callId, toolName, at } = said
  const isCall = kind === 'call'
  const text = redact?.(said.text) ?? said.text
  if (isCall && callId !== undefined) calls.set(callId, { tool: toolName, about: aboutOf(text) })
  const head = callId === undefined ? undefined : calls.get(callId)
  const tool = toolName ?? head?.tool
  if (!isSearched(said, tool)) return undefined
  return {
    // The strings of a call as they are meant: escaped, a line of code would not be found.
    text: isCall ? stringsIn(parsedJson(text) ?? text).join('\n') : text,
    role,
    tool,
    about: head?.about,
    at,
  }
}

/** What is kept of an item: its index, and what its results are found by. */
interface Kept extends Partial<Pick<Candidate, 'entry' | 'indexed'>> {
  readonly redact: Redact | undefined
  readonly head: CallHead | undefined
}

type Redact = (text: string) => string

const kept = new WeakMap<Item, Kept>()

/** An item is indexed when it is first searched, and costs nothing before; an item that is sent again is the same object. */
export function indexedItem(
  item: Item,
  calls: Map<string, CallHead>,
  redact?: Redact,
): Pick<Candidate, 'entry' | 'indexed'> | undefined {
  let known = kept.get(item)
  if (known === undefined || known.redact !== redact || !isSameCall(item, known, calls)) {
    const entry = entryOf(item, calls, redact)
    const head = item.callId === undefined ? undefined : calls.get(item.callId)
    known = { redact, head, entry, indexed: entry && indexOf(entry) }
    kept.set(item, known)
  }
  const { entry, indexed, head } = known
  if (item.kind === 'call' && item.callId !== undefined && head !== undefined) calls.set(item.callId, head)
  return entry === undefined || indexed === undefined ? undefined : { entry, indexed }
}

const isSameCall = ({ kind, callId }: Item, { head }: Kept, calls: ReadonlyMap<string, CallHead>): boolean =>
  kind === 'call' || callId === undefined || calls.get(callId) === head
