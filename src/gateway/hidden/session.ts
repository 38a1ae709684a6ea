import type { Link } from '../../core/chain.ts'
import type { Codec, ModelResponse } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { restore, type Restoration } from '../../core/edits.ts'
import { sha256Text } from '../../drivers/crypto/sha256.ts'
import type { ToolOffer } from '../../engine/readers/offered-tools.ts'
import type { PreparedTurn } from '../../engine/prepare/prepare.ts'
import { COMPACT_READER, COMPACT_READS, readersIn, readerTools } from '../../engine/readers/reader-tools.ts'
import type { Wire } from '../../formats/registry.ts'
import { restorationsOf, type StepReader, answerAfter, signOf, type HiddenSteps, type StepOwner } from './steps.ts'
import type { Fields } from '../../core/values.ts'
import type { HiddenStep, HiddenWire, IsOurs, VisibleStream, HiddenCall } from '../../formats/wire/steps.ts'
import { isPlimsollError } from '../../core/errors.ts'
import { answerCall, type HistoryScope, type ScopedHistory } from '../../engine/readers/scope.ts'
import type { ArtifactReaders } from '../../engine/readers/artifact-readers.ts'

/** Most answers of ours to one request of the client. */
const MAX_HIDDEN_STEPS = 4

export interface HiddenDeps {
  readonly steps: HiddenSteps
  readonly reader: (codec: Codec, wire: HiddenWire) => StepReader
  readonly tools: HiddenToolDeps
}

interface HiddenRequest extends HiddenAsker {
  readonly codec: Codec
  readonly steps: HiddenWire
  readonly conversation: Conversation
  readonly links: readonly Link[]
}

/** The request that goes on after our tools were answered. */
export interface HiddenNext {
  readonly conversation: Conversation
  /** What the engine may declare in it: nothing of ours, once enough was read. */
  readonly offer: ToolOffer
}

/** A request into which our tools may come, and what happens to its answers. */
export interface HiddenSession {
  /** The client's request with earlier steps back in it: what the engine gets to see. */
  readonly conversation: Conversation
  /** Tools of ours that the engine may declare. */
  readonly offer: ToolOffer
  /** Told what the engine declared, before the request leaves. */
  declared(turn: Pick<PreparedTurn, 'declared' | 'epoch'>): Promise<void>
  stream(): VisibleStream
  partsOf(body: Fields): readonly Fields[]
  assemble(bodies: readonly Fields[], visible: readonly Fields[]): Fields
  isHidden(part: Fields): boolean
  /**
   * Takes one answer of the upstream. Gives the request that goes on from it, or undefined when the client's turn has come:
   * nothing of ours in it, or calls of the client's own beside it.
   */
  take(parts: readonly Fields[]): Promise<HiddenNext | undefined>
  /** The visible answer is complete: steps become durable. */
  done(visible: ModelResponse | undefined): Promise<void>
}

/** What of an opened request our tools have to do with. */
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

/** The request with the steps that its client never saw back in it, and the tools of ours that it may declare. */
export async function withHiddenSteps<R extends AskingRequest>(
  deps: HiddenDeps,
  request: R,
  linksOf: (conversation: Conversation) => readonly Link[],
): Promise<R & { readonly hidden?: HiddenSession; readonly offer?: ToolOffer }> {
  const { wire, conversation, links, owner, session, mode, settings, route } = request
  if (mode === 'observe' || settings.tools === false || route.stream === 'json-array') return request
  let scope: Promise<HistoryScope> | undefined
  const hidden = await openHidden(deps, {
    owner,
    codec: wire.codec,
    steps: wire.steps,
    conversation,
    links,
    scope: () => (scope ??= session.scope({ items: conversation.items, links })),
  })
  if (hidden === undefined) return request
  const { offer } = hidden
  if (hidden.conversation === conversation) return { ...request, hidden, offer }
  return { ...request, hidden, offer, conversation: hidden.conversation, links: linksOf(hidden.conversation) }
}

/** Undefined when nothing of ours is or was in this request. */
async function openHidden(deps: HiddenDeps, request: HiddenRequest): Promise<HiddenSession | undefined> {
  const { owner, codec, steps: wire, conversation, links } = request
  const admission = wire.admits(codec.fields(conversation))
  const isOurs = ownedNames(deps.tools.names(conversation.settings.model), conversation)
  // A client that has a reader of ours, over MCP, or a tool of its own with that name needs no other.
  const mayDeclare = admission !== 'no' && isOurs(COMPACT_READER.name) && readersIn(conversation.tools).size === 0
  // Without tools of the client's own some providers refuse calls in the history.
  if (!mayDeclare && conversation.tools.length === 0) return undefined

  const reader = deps.reader(codec, wire)
  const isHidden = (part: Fields): boolean => wire.callOf(part, isOurs) !== undefined
  const withSteps = async (): Promise<Conversation> => {
    const wanted = new Set(await deps.steps.chains(owner))
    const found: Restoration[] = []
    for (const link of wanted.size === 0 ? [] : links) {
      if (!wanted.has(link.chain)) continue
      const answer = await deps.steps.answer(owner, link.chain)
      const own = answerAfter(conversation.items, link)
      if (answer === undefined || own.length === 0 || signOf(own) !== answer.sign) continue
      const visible = { conversation, from: link.index + 1, length: own.length }
      found.push(...restorationsOf(reader, codec, wire, visible, answer.steps, isHidden))
    }
    return restore(conversation, found)
  }
  const restored = await withSteps()
  if (!mayDeclare && restored === conversation) return undefined
  const tools = readerTools(deps.tools.names(conversation.settings.model).filter(isOurs))
  const list = listOf(conversation)
  let standing = mayDeclare ? await deps.steps.declared(owner, list) : undefined
  const offer = (): ToolOffer => ({
    tools: mayDeclare ? tools : [],
    ...(standing !== undefined && { declared: standing.tools, withEpoch: standing.withEpoch ?? false }),
    isClosed: admission === 'closed',
  })
  const taken: HiddenStep[] = []
  let transcript = restored
  return {
    conversation: restored,
    offer: offer(),
    async declared({ declared, epoch }) {
      const isNew = standing === undefined || declared.some((name) => !standing!.tools.includes(name))
      if (!mayDeclare || !isNew || (admission === 'closed' && declared.length === 0)) return
      const withEpoch = epoch !== undefined && standing !== undefined
      standing = { tools: declared, ...(withEpoch && { withEpoch }) }
      await deps.steps.declare(owner, list, standing)
    },
    stream: () => wire.stream(mayDeclare ? isOurs : () => false),
    partsOf: (body) => wire.partsOf(body),
    assemble: (bodies, parts) => wire.assemble(bodies, parts),
    isHidden: (part) => mayDeclare && isHidden(part),
    async take(parts) {
      const own = mayDeclare ? parts.filter(isHidden) : []
      // Whoever calls a tool that is not declared any more has no answer to wait for.
      if (own.length === 0 || taken.length >= MAX_HIDDEN_STEPS) return undefined
      const results: Fields[] = []
      for (const part of own) {
        const call = wire.callOf(part, isOurs)!
        results.push(wire.resultOf(call, await runHiddenTool(deps.tools, request, call)))
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
}

/**
 * Names that are answered here: readers that the client has no tool of the same name for, declared or called before. A model that calls one
 * which this request does not declare, because it saw it earlier, is answered all the same: nobody else could.
 */
function ownedNames(names: readonly string[], { tools, items }: Conversation): IsOurs {
  const ours = new Set([...names, ...COMPACT_READS])
  for (const { name } of tools) ours.delete(name)
  for (const { kind, toolName } of items) if (kind === 'call' && toolName !== undefined) ours.delete(toolName)
  return (name) => ours.has(name)
}

const lists = new WeakMap<Conversation['tools'], string>()

/** The client's own list of tools, by content. Where it did not change, a conversation has the same list. */
function listOf({ tools }: Conversation): string {
  const known = lists.get(tools) ?? sha256Text(JSON.stringify(tools.map(({ text }) => text)), 'hex').slice(0, 32)
  lists.set(tools, known)
  return known
}

interface HiddenToolDeps {
  readonly readers: (owner: StepOwner) => Promise<ArtifactReaders>
  /** The tools that a request to this model may get. */
  readonly names: (model: string | undefined) => readonly string[]
}

/** Who asks, and what the request at hand lets it look up. */
interface HiddenAsker {
  readonly owner: StepOwner
  readonly scope: () => Promise<HistoryScope>
}

/** Answers one call of ours. What the model did wrong is part of the answer; it never fails the client's request. */
export async function runHiddenTool(
  deps: HiddenToolDeps,
  { owner, scope }: HiddenAsker,
  call: HiddenCall,
): Promise<string> {
  try {
    const asker = { scope: await scope(), readers: await deps.readers(owner) }
    return (await answerCall(asker, call))?.text ?? `There is no tool ${call.name}.`
  } catch (error) {
    const message = isPlimsollError(error) ? error.message : 'The stored data cannot be reached at the moment.'
    return `${call.name} failed: ${message}`
  }
}
