import { firstSendKey, type Link } from '../../core/chain.ts'
import type { Codec, ModelResponse } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { restore, type Restoration } from '../../core/edits.ts'
import type { Item } from '../../core/item.ts'
import type { Fields } from '../../core/values.ts'
import { sha256Text } from '../../drivers/crypto/sha256.ts'
import type { PreparedTurn } from '../../engine/prepare/prepare.ts'
import type { ArtifactReaders } from '../../engine/readers/artifact-readers.ts'
import type { ToolOffer } from '../../engine/readers/offered-tools.ts'
import {
  COMPACT_READER,
  COMPACT_READS,
  readersIn,
  readerTools,
  withDesignNames,
} from '../../engine/readers/reader-tools.ts'
import type { Asker, HistoryScope, ScopedHistory } from '../../engine/readers/scope.ts'
import { answerAsText } from '../../compose/api/reader-tools.ts'
import { readMessages } from '../../formats/kit/editing.ts'
import type { Wire } from '../../formats/registry.ts'
import type { HiddenStep, HiddenWire, IsOurs, VisibleStream } from '../../formats/wire/steps.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { BoundedMap } from '../../util/bounded-map.ts'

/** The most hidden steps for one request of the client. */
const MAX_HIDDEN_STEPS = 4

export interface HiddenDeps {
  readonly steps: HiddenSteps
  readonly reader: ReturnType<typeof stepReader>
  readonly tools: HiddenToolDeps
}

/** The next request to the upstream, with the results of our tools. */
export interface HiddenNext {
  readonly conversation: Conversation
  /** The tools that the engine may declare in it: none of ours after the last permitted step. */
  readonly offer: ToolOffer
}

/** A request that may declare our tools, and how its answers are processed. */
export interface HiddenSession {
  /** Called with what the engine declared, before the request is sent. */
  declared(turn: Pick<PreparedTurn, 'declared' | 'epoch'>): Promise<void>
  stream(): VisibleStream
  partsOf(body: Fields): readonly Fields[]
  assemble(bodies: readonly Fields[], visible: readonly Fields[]): Fields
  isHidden(part: Fields): boolean
  /**
   * Processes one answer of the upstream. Returns the next request, or undefined when the answer goes to the client: it has no calls of ours,
   * or calls of the client's own beside them.
   */
  take(parts: readonly Fields[]): Promise<HiddenNext | undefined>
  /** The visible answer is complete: steps become durable. */
  done(visible: ModelResponse | undefined): Promise<void>
}

/** The parts of an opened request that our tools need. */
interface AskingRequest {
  readonly route: { readonly stream?: unknown }
  readonly wire: Wire
  readonly conversation: Conversation
  readonly links: readonly Link[]
  readonly owner: StepOwner
  readonly session: { scope(history: ScopedHistory): Promise<HistoryScope> }
  readonly mode: 'apply' | 'observe'
  readonly settings: { readonly tools?: boolean }
}

/** Inserts the hidden steps into the request again, and lists our tools that it may declare. */
export async function withHiddenSteps<R extends AskingRequest>(
  deps: HiddenDeps,
  request: R,
  linksOf: (conversation: Conversation) => readonly Link[],
): Promise<R & { readonly hidden?: HiddenSession; readonly offer?: ToolOffer }> {
  const { conversation, links, owner, session, mode, settings, route } = request
  const { codec, steps: wire } = request.wire
  if (mode === 'observe' || settings.tools === false || route.stream === 'json-array') return request
  const admission = wire.admits(codec.fields(conversation))
  const names = withDesignNames(deps.tools.names(conversation.settings.model))
  const ours = ownedNames(names, conversation)
  const isOurs: IsOurs = (name) => ours.has(name)
  // The client may have our reader over MCP, or a tool of its own with that name; it then gets no second one.
  const mayDeclare = admission !== 'no' && isOurs(COMPACT_READER.name) && readersIn(conversation.tools).size === 0
  // Some providers refuse calls in the history of a request without tools.
  if (!mayDeclare && conversation.tools.length === 0) return request
  let scope: Promise<HistoryScope> | undefined
  const asker = async (): Promise<Asker> => ({
    scope: await (scope ??= session.scope({ items: conversation.items, links })),
    readers: await deps.tools.readers(owner),
  })
  const reader = deps.reader(codec, wire)
  const isHidden = (part: Fields): boolean => wire.callOf(part, isOurs) !== undefined
  const wanted = new Set(await deps.steps.chains(owner))
  const found: Restoration[] = []
  for (const link of links) {
    if (!wanted.has(link.chain)) continue
    const answer = await deps.steps.answer(owner, link.chain)
    const own = answerAfter(conversation.items, link)
    if (answer === undefined || own.length === 0 || signOf(own) !== answer.sign) continue
    const visible = { conversation, from: link.index + 1, length: own.length }
    found.push(...restorationsOf(reader, codec, wire, visible, answer.steps, isHidden))
  }
  const restored = restore(conversation, found)
  if (!mayDeclare && restored === conversation) return request
  // Identifies the client's list of tools by its content.
  const list = sha256Text(JSON.stringify(conversation.tools.map(({ text }) => text)), 'hex').slice(0, 32)
  let standing = mayDeclare ? await deps.steps.declared(owner, list) : undefined
  const offer = (): ToolOffer => ({
    tools: mayDeclare ? readerTools(names.filter(isOurs)) : [],
    declared: standing?.tools,
    declaredFirst: standing?.first,
    withEpoch: standing?.withEpoch,
    isClosed: admission === 'closed',
  })
  const taken: HiddenStep[] = []
  let transcript = restored
  const hidden: HiddenSession = {
    async declared({ declared, epoch }) {
      const isNew = standing === undefined || declared.some((name) => !standing!.tools.includes(name))
      if (!mayDeclare || !isNew || (admission === 'closed' && declared.length === 0)) return
      standing = {
        tools: declared,
        withEpoch: (epoch !== undefined && standing !== undefined) || undefined,
        first: standing?.first ?? standing?.tools,
      }
      await deps.steps.declare(owner, list, standing)
    },
    stream: () => wire.stream(mayDeclare ? isOurs : () => false),
    partsOf: (body) => wire.partsOf(body),
    assemble: (bodies, parts) => wire.assemble(bodies, parts),
    isHidden: (part) => mayDeclare && isHidden(part),
    async take(parts) {
      const own = mayDeclare ? parts.filter(isHidden) : []
      // Calls of tools that are no longer declared are not answered.
      if (own.length === 0 || taken.length >= MAX_HIDDEN_STEPS) return undefined
      const results: Fields[] = []
      for (const part of own) {
        const call = wire.callOf(part, isOurs)!
        results.push(wire.resultOf(call, await answerAsText(asker, call)))
      }
      const beside = parts.some((part) => wire.isCall(part) && !own.includes(part))
      const id = `h${conversation.items.length}.${taken.length}`
      taken.push({ parts, results, beside })
      if (beside) return undefined
      transcript = restore(transcript, [{ items: reader.read({ parts, results }, id), instead: [] }])
      return { conversation: transcript, offer: { ...offer(), withheld: taken.length >= MAX_HIDDEN_STEPS } }
    },
    async done(response) {
      const chain = links.at(-1)?.chain
      if (taken.length === 0 || chain === undefined || response === undefined) return
      await deps.steps.remember(owner, chain, { steps: taken, sign: signOf(response.items) })
    },
  }
  const chain = restored === conversation ? links : linksOf(restored)
  return { ...request, hidden, offer: offer(), conversation: restored, links: chain }
}

/**
 * The names of tools that we answer: readers, except those whose name the client declares or has called. A model may call one that it saw in
 * an earlier request and that this request does not declare; we answer that call too, because the client could not.
 */
function ownedNames(names: readonly string[], { tools, items }: Conversation): ReadonlySet<string> {
  const ours = new Set([...names, ...COMPACT_READS])
  for (const { name } of tools) ours.delete(name)
  for (const { kind, toolName } of items) if (kind === 'call' && toolName !== undefined) ours.delete(toolName)
  return ours
}

interface HiddenToolDeps {
  readonly readers: (owner: StepOwner) => Promise<ArtifactReaders>
  /** The tools that a request to this model may get. */
  readonly names: (model: string | undefined) => readonly string[]
}

/** Whose steps: tools and hidden steps belong to one agent of one session. */
export interface StepOwner {
  readonly tenant: string
  readonly session: string
  readonly agent: string
}

/**
 * The tools of ours in requests with one particular list of the client's tools. They are part of the cached prefix. When the client changes its
 * list, the prefix changes anyway, so it is decided again.
 */
interface Declared {
  /** Empty when it was decided to wait until something is taken out. */
  readonly tools: readonly string[]
  /** They were added by an epoch. */
  readonly withEpoch?: boolean
  /** What requests were sent with before anything was taken out; absent where that is `tools`. */
  readonly first?: readonly string[]
}

/** The hidden steps of one answer, and a hash of its visible part. */
interface HiddenAnswer {
  readonly steps: readonly HiddenStep[]
  /** Distinguishes this answer from other answers to the same request. */
  readonly sign: string
}

export type HiddenSteps = ReturnType<typeof hiddenSteps>

/** Stores hidden steps, so that another process, or this one after a restart, inserts the same bytes. */
export function hiddenSteps(store: Pick<SessionStore, 'getValue' | 'setValue'>) {
  const nameOf = ({ session, agent }: StepOwner): string => JSON.stringify([session, agent])
  const toolsKey = (owner: StepOwner, tools: string): string => `hidden-tools:${nameOf(owner)}:${tools}`
  const chainsKey = (owner: StepOwner): string => `hidden:${nameOf(owner)}`
  const answerKey = (owner: StepOwner, chain: string): string => `${chainsKey(owner)}:${chain}`
  return {
    /** Undefined if nothing was decided yet. `tools` identifies the client's list. */
    async declared(owner: StepOwner, tools: string): Promise<Declared | undefined> {
      const stored = await store.getValue(owner.tenant, toolsKey(owner, tools))
      return stored === undefined ? undefined : (JSON.parse(stored) as Declared)
    },
    async declare(owner: StepOwner, tools: string, declared: Declared): Promise<void> {
      const { tenant, session } = owner
      const text = JSON.stringify(declared)
      const writing = store.setValue(tenant, toolsKey(owner, tools), text, false, { durable: 'soon', session })
      // A process that loses the decision would decide the same again, except for tools that an epoch added.
      await (declared.withEpoch === true ? writing : writing.catch(() => undefined))
    },
    /** Chain hashes of the visible requests in whose answers steps are hidden. */
    async chains(owner: StepOwner): Promise<readonly string[]> {
      const stored = await store.getValue(owner.tenant, chainsKey(owner))
      return stored === undefined ? [] : (JSON.parse(stored) as { readonly chains: readonly string[] }).chains
    },
    async answer(owner: StepOwner, chain: string): Promise<HiddenAnswer | undefined> {
      const text = await store.getValue(owner.tenant, answerKey(owner, chain))
      return text === undefined ? undefined : (JSON.parse(text) as HiddenAnswer)
    },
    /** Durable when it resolves, since the client may come back at once. */
    async remember(owner: StepOwner, chain: string, answer: HiddenAnswer): Promise<void> {
      const { tenant, session } = owner
      await store.setValue(tenant, answerKey(owner, chain), JSON.stringify(answer), false, { session })
      const chains = [...new Set([...(await this.chains(owner)), chain])]
      await store.setValue(tenant, chainsKey(owner), JSON.stringify({ chains }), false, { session })
    },
  }
}

/** Identifies a visible answer by what a client resends unchanged: its calls, or its text if it has none. */
export function signOf(items: readonly Item[]): string {
  const calls = items
    .filter((item) => item.kind === 'call')
    .map((item) => firstSendKey(item.callId, item.toolName ?? ''))
  if (calls.length > 0) return JSON.stringify(calls)
  const text = items.flatMap((item) => (item.kind === 'assistant' ? [item.text] : [])).join('')
  // A hash, because the model's text is stored only in the archive, where secrets are redacted.
  return sha256Text(text.replace(/\s+/g, ''), 'hex')
}

/** The model's items after a link, up to the client's next item. */
function answerAfter(items: readonly Item[], { index }: Link): readonly Item[] {
  const answer: Item[] = []
  for (let i = index + 1; i < items.length && items[i]!.role === 'assistant'; i++) answer.push(items[i]!)
  return answer
}

const MAX_CHARACTERS = 20_000_000

/** Reads steps as items. A step always gives the same item objects, so that cached work for them is found. */
export function stepReader(characters = MAX_CHARACTERS) {
  const known = new BoundedMap<string, readonly Item[]>(characters)
  const rests = new WeakMap<Item, Item>()
  return (codec: Codec, wire: HiddenWire) => ({
    /** The step as it was sent to the upstream; `id` is unique in the conversation. */
    read({ parts, results }: Pick<HiddenStep, 'parts' | 'results'>, id: string): readonly Item[] {
      const messages = wire.continuation(parts, results)
      const key = `${codec.format}\n${id}\n${JSON.stringify(messages)}`
      const items = known.get(key) ?? readMessages(codec, wire.list, messages, id)
      known.set(key, items, key.length)
      return items
    },
    /** An item with the rest of its text. */
    rest(item: Item, text: string): Item {
      const found = rests.get(item)
      if (found?.text === text) return found
      const rest: Item = { ...item, text, edited: true }
      rests.set(item, rest)
      return rest
    },
  })
}

export type StepReader = ReturnType<ReturnType<typeof stepReader>>

/** The position of the visible answer in the client's history. */
interface VisibleAnswer {
  readonly conversation: Conversation
  readonly from: number
  readonly length: number
}

/**
 * Inserts steps into the answer that they were hidden in: each as it was sent to the upstream, with the text before our call, before the rest
 * of the client's items. A client may have merged texts, split them or omitted thinking.
 */
function restorationsOf(
  reader: StepReader,
  codec: Codec,
  wire: HiddenWire,
  { conversation, from, length }: VisibleAnswer,
  steps: readonly HiddenStep[],
  isOurs: (part: Fields) => boolean,
): readonly Restoration[] {
  const { items } = conversation
  let left = items.slice(from, from + length)
  const after = items[from + length]
  const out: Restoration[] = []
  for (const [k, step] of steps.entries()) {
    const id = `h${from}.${k}`
    if (step.beside) {
      const answered = wire.joinsResults ? items.filter((item) => item.message === after?.message) : []
      // Our results can only be added to a message with the client's results.
      if (wire.joinsResults && !answered.some(({ kind }) => kind === 'result')) continue
      const own = answered.map((item) => JSON.parse(codec.fragment(conversation, item)) as Fields)
      const behind = wire.joinsResults ? items[from + length + answered.length] : after
      out.push({
        items: reader.read({ parts: step.parts, results: [...step.results, ...own] }, id),
        instead: [...left, ...answered].map((item) => item.id),
        before: behind?.id,
      })
      left = []
      continue
    }
    const whole = reader.read(step, id)
    const covered = coveredBy(whole, left)
    const { gone, cut } = covered ?? { gone: [], cut: undefined }
    left = left
      .filter((item) => !gone.includes(item))
      .map((item) => (item.id === cut?.item.id ? reader.rest(cut.item, cut.text) : item))
    // If the client's text differs, only our calls and results are inserted.
    const shown =
      covered === undefined ? reader.read({ parts: step.parts.filter(isOurs), results: step.results }, id) : whole
    const before = left[0] ?? after
    out.push({
      items: shown,
      instead: gone.map((item) => item.id),
      before: before?.id,
      rest: cut && reader.rest(cut.item, cut.text),
    })
  }
  return out
}

interface Covered {
  readonly gone: readonly Item[]
  /** A text of the client that continues after the step. */
  readonly cut: { readonly item: Item; readonly text: string } | undefined
}

/** The client's items that a step already contains; undefined if its text does not begin like the step's. */
function coveredBy(step: readonly Item[], own: readonly Item[]): Covered | undefined {
  const thoughts = step.filter(({ kind }) => kind === 'reasoning')
  let text = step
    .filter(({ kind, role }) => kind === 'assistant' && role === 'assistant')
    .map((item) => item.text)
    .join('')
  const gone: Item[] = []
  let cut: Covered['cut']
  for (const item of own) {
    if (item.kind === 'reasoning') {
      if (!thoughts.some((thought) => isSame(thought, item))) break
      gone.push(item)
    } else if (item.kind !== 'assistant' || text === '') break
    else if (text.startsWith(item.text)) {
      text = text.slice(item.text.length)
      gone.push(item)
    } else if (item.text.startsWith(text)) {
      cut = { item, text: item.text.slice(text.length) }
      text = ''
      break
    } else return undefined
  }
  // Clients trim trailing white space.
  return text.trim() === '' ? { gone, cut } : undefined
}

/** Compares thinking by its seal, or by its text, of which a stream may have sent only a part. */
const isSame = (thought: Item, own: Item): boolean =>
  own.seal === undefined ? thought.text.includes(own.text) : thought.seal === own.seal
