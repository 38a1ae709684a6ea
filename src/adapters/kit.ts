import type { LearnedLimit } from '../core/target.ts'
import { isRecord, numberOf, recordOf, stringOf, textOf, type Fields } from '../core/values.ts'
import { lessonOf, type SizeRefusal, within } from '../engine/learning/learned-limits.ts'
import type { PreparedTurn } from '../engine/prepare/prepare.ts'
import { classifyProviderError } from '../formats/registry.ts'
import type { NewTool } from '../core/conversation.ts'
import { PlimsollError } from '../core/errors.ts'
import type { Usage } from '../core/usage.ts'
import type { Session } from '../engine/session/session.ts'
import {
  MIRROR_FORMAT,
  readMessage,
  readMirror,
  writeMessage,
  writeMirror,
  type MirrorMessage,
} from '../formats/mirror.ts'
import { checkArguments, type Argument } from '../settings/check.ts'
import { code, driver, group, on, text, tokens, type Schema } from '../settings/values.ts'

/** Limits learned from refusals, by session and model. Kept apart because sessions may have different owners. */
const LEARNED = new WeakMap<object, Map<string, LearnedLimit>>()

function learnedBy(session: object): Map<string, LearnedLimit> {
  const known = LEARNED.get(session) ?? new Map<string, LearnedLimit>()
  LEARNED.set(session, known)
  return known
}

/** The most nested causes that are searched. */
const MOST_CAUSES = 5

/** A provider's refusal because of size, if a framework's error contains one. */
function sizeRefusalIn(error: unknown): SizeRefusal | undefined {
  let one = typeof error === 'string' ? { message: error } : error
  for (let depth = 0; depth < MOST_CAUSES && isRecord(one); depth++) {
    const status = numberOf(one['statusCode']) ?? numberOf(one['status'])
    const body = stringOf(one['responseBody']) ?? one['error'] ?? stringOf(one['message'])
    const { kind, limit, input } = classifyProviderError({ status, body })
    if (kind === 'overflow' || kind === 'body-size') return { kind, limit, input }
    one = one['cause'] ?? one['lastError']
  }
  return undefined
}

/** The framework's messages that correspond to one message; `own` are its own objects with all metadata. */
export interface Piece<M> {
  readonly message: MirrorMessage
  readonly own: readonly M[]
}

/** A model call that a framework is about to make. */
export interface FrameworkCall<M> {
  readonly model: string
  /** Instructions that the framework stores apart from the messages. */
  readonly system?: string
  readonly pieces: readonly Piece<M>[]
  readonly tools: readonly NewTool[]
  readonly maxOutputTokens?: number
}

/** What to change in the call. Undefined members stay unchanged. */
export interface ManagedTurn<M> extends Pick<OpenTurn, 'answered' | 'failed'> {
  readonly messages: readonly M[] | undefined
  readonly system: string | undefined
  readonly maxOutputTokens: number | undefined
  /** Tools stay declared but must not be called this time. */
  readonly forbidsTools: boolean
}

interface ManagedTurns<M> {
  open(call: FrameworkCall<M>): Promise<ManagedTurn<M>>
  /** Opens a turn and sends it. After a refusal because of size, reduces it further and sends it once more. */
  send<A>(
    call: FrameworkCall<M>,
    send: (turn: ManagedTurn<M>) => PromiseLike<A>,
  ): Promise<{ readonly turn: ManagedTurn<M>; readonly answer: A }>
}

export interface TurnOptions {
  /** The model's window in tokens, for models that are not in the catalogue. */
  readonly window?: number
}

export interface HistoryOptions {
  /**
   * Also shortens large results in the framework's own history, not only in what the model gets. The exact bytes are in the artifact store.
   * @default false
   */
  readonly shortenHistory?: boolean
}

/** Options of adapters that add tools to an agent. */
export interface AgentOptions extends TurnOptions, HistoryOptions {
  /** Adds `recall` and the artifact readers to the agent. @default true */
  readonly readers?: boolean
}

/** The names of these options. */
export const AGENT_OPTIONS = ['window', 'readers', 'shortenHistory'] as const

/**
 * Passes a framework's messages to the engine as a request, and returns which of them to send. Unchanged messages are the framework's own objects,
 * so signatures, ids and metadata survive; the others are created by `write`.
 */
export function managedTurns<M>(
  session: Pick<Session, 'prepare' | 'record'>,
  write: (message: MirrorMessage, calls: KnownCalls) => readonly M[],
  { window }: TurnOptions = {},
): ManagedTurns<M> {
  async function open(call: FrameworkCall<M>): Promise<ManagedTurn<M>> {
    const { model, system, pieces, tools, maxOutputTokens } = call
    const head: readonly MirrorMessage[] = system === undefined ? [] : [{ role: 'system', parts: [system] }]
    const messages = [...head, ...pieces.map(({ message }) => message)]
    const body = writeMirror({ model, messages, tools, maxOutputTokens })
    const { turn, ...close } = await openTurn(session, window, MIRROR_FORMAT, body, model)
    if (turn.report.untouched)
      return { ...close, messages: undefined, system: undefined, maxOutputTokens: undefined, forbidsTools: false }
    const view = readMirror(turn.body as Fields)
    const hasHead = system !== undefined && view.messages[0]?.['role'] === 'system'
    const first = hasHead ? view.messages[0] : undefined
    return {
      ...close,
      messages: matched(pieces, view.messages.slice(hasHead ? 1 : 0), write),
      system: first === undefined ? undefined : wordsOf(readMessage(first)),
      maxOutputTokens: view.maxOutputTokens,
      forbidsTools: view.forbidsTools,
    }
  }

  return {
    open,
    async send(call, send) {
      const turn = await open(call)
      try {
        return { turn, answer: await send(turn) }
      } catch (error) {
        if (!(await turn.failed(error))) throw error
      }
      const second = await open(call)
      try {
        return { turn: second, answer: await send(second) }
      } catch (error) {
        await second.failed(error)
        throw error
      }
    },
  }
}

/** A prepared request that has not been answered yet. */
export interface OpenTurn {
  readonly turn: PreparedTurn
  /** The model has answered. Without usage, nothing is recorded. */
  answered(usage: Usage | undefined): Promise<void>
  /** The call failed. True if it was refused because of its size; the next turn is then smaller. */
  failed(error?: unknown): Promise<boolean>
}

/** Prepares a body for a model. @throws PlimsollError `budget-exceeded` when a budget stops the call. */
export async function openTurn(
  session: Pick<Session, 'prepare' | 'record'>,
  window: number | undefined,
  format: string,
  body: Fields,
  model: string,
  onHalt?: () => void,
): Promise<OpenTurn> {
  const limits = learnedBy(session)
  const turn = await session.prepare({ format, body, targets: [within({ model, window }, limits.get(model) ?? {})] })
  if (turn.verdict.kind === 'halt') {
    onHalt?.()
    throw new PlimsollError('budget-exceeded', `No model call was made: ${turn.verdict.reason}.`, {
      advice: 'Raise the budget, or start another session.',
    })
  }
  return {
    turn,
    answered: async (usage) => void (await session.record({ turn: turn.id, usage })),
    async failed(error) {
      await session.record({ turn: turn.id, refused: true })
      const refusal = sizeRefusalIn(error)
      if (refusal === undefined) return false
      const { load, limit, text } = turn
      const sent = { tokens: load.count.high, outputReserve: limit.outputReserve, bytes: Buffer.byteLength(text) }
      const { retry } = lessonOf(refusal, sent)
      if (retry !== undefined) limits.set(model, retry)
      return retry !== undefined
    },
  }
}

const wordsOf = ({ parts }: MirrorMessage): string => parts.filter((part) => typeof part === 'string').join('\n\n')

/** Tool names by call id, for results that are written anew. */
export type KnownCalls = ReadonlyMap<string, string>

function matched<M>(
  pieces: readonly Piece<M>[],
  view: readonly Fields[],
  write: (message: MirrorMessage, calls: KnownCalls) => readonly M[],
): readonly M[] {
  const own = new Map<string, Piece<M>[]>()
  const calls = new Map<string, string>()
  for (const piece of pieces) {
    const key = JSON.stringify(writeMessage(piece.message))
    own.set(key, [...(own.get(key) ?? []), piece])
    if (piece.message.role === 'assistant') for (const { id, name } of piece.message.calls) calls.set(id, name)
  }
  // Searched from the end: of two equal messages, the older one was removed.
  const found = view
    .toReversed()
    .map((message) => own.get(JSON.stringify(message))?.pop()?.own ?? write(readMessage(message), calls))
  return found.toReversed().flat()
}

const PLIMSOLL: Argument = {
  name: 'plimsoll',
  schema: driver('the result of createPlimsoll()', 'session'),
}

const SESSION: Argument = {
  name: 'session',
  schema: driver('the result of plimsoll.session({ id })', 'prepare', 'record'),
}

/** All options of adapters; each adapter names those that it takes. */
const OPTIONS = {
  window: tokens(),
  maxOutputTokens: tokens(),
  session: text(),
  agent: text(),
  readers: on(),
  shortenHistory: on(),
} satisfies Record<string, Schema>

/** An object of the framework that is passed to the adapter. */
export const part = (name: string, words: string, ...methods: string[]): Argument => ({
  name,
  schema: methods.length === 0 ? code() : driver(words, ...methods),
})

/**
 * Checks arguments when an adapter is created, so that programs without TypeScript do not fail in the middle of a run. `first`: the arguments
 * before the options, in order. `needed`: options without a default.
 */
export function checkAdapter(
  what: string,
  given: readonly unknown[],
  first: readonly ('plimsoll' | 'session' | Argument)[],
  names: readonly (keyof typeof OPTIONS)[],
  { needed = {}, more = {} }: { readonly needed?: Shapes; readonly more?: Shapes } = {},
): void {
  const own = first.map((one) => (one === 'plimsoll' ? PLIMSOLL : one === 'session' ? SESSION : one))
  const known = Object.fromEntries(names.map((name) => [name, OPTIONS[name]]))
  const required = Object.keys(needed)
  const schema = group<Shapes, string>('', { ...known, ...needed, ...more }, { required })
  checkArguments(given, [...own, { name: 'the options', schema, optional: required.length === 0 }], `${what}()`)
}

type Shapes = Readonly<Record<string, Schema>>

/** The tool as it is counted; empty for a tool without a name. */
export const declaredTool = (name: unknown, description: unknown, parameters: unknown): NewTool[] =>
  typeof name === 'string' ? [{ name, description: textOf(description), parameters: recordOf(parameters) ?? {} }] : []

/** A tool's output as a model reads it: text unchanged, other values as JSON. */
export const outputText = (output: unknown): string =>
  typeof output === 'string' ? output : (JSON.stringify(output) ?? '')

/** The text that replaces a result in the history: unchanged, or a view with the handle of the exact bytes. */
export async function shortened(
  session: Pick<Session, 'toolResult'>,
  result: { readonly tool: string; readonly callId?: string; readonly output: unknown },
): Promise<string | undefined> {
  const shown = await session.toolResult({ ...result, output: outputText(result.output) })
  return shown.truncated ? shown.text : undefined
}
