import type { Item } from './item.ts'
import { stringsIn } from './quotes.ts'
import type { ItemSeen } from './records.ts'
import { isRecord, parsedJson } from './values.ts'

/** What a search looks through: the same text of an item in a request, in an archive and in a store. */
export interface SearchedText {
  readonly text: string
  readonly role: string
  readonly tool?: string
  /** The file or the command that its tool was called with. */
  readonly about?: string
  readonly at?: number
}

/** What a call was about: a result is found by it. */
export interface CallHead {
  readonly tool: string | undefined
  readonly about: string
}

type Said = Pick<Item, 'text'> &
  Pick<ItemSeen, 'kind' | 'role' | 'callId' | 'toolName'> & { readonly at?: number | undefined }

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
const isSearched = ({ kind, text }: Pick<Said, 'kind' | 'text'>, tool: string | undefined): boolean =>
  text !== '' &&
  kind !== 'reasoning' &&
  kind !== 'instruction' &&
  !/(?:^|__)(?:recall|artifact_[a-z]+)$/.test(tool ?? '')

/** Undefined for what is not searched. `calls` takes the heads of calls, for their results. */
export function searchedText(
  said: Said,
  calls: Map<string, CallHead>,
  redact?: (text: string) => string,
): SearchedText | undefined {
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
